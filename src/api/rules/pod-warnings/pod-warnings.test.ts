// Proves that pods and all templates of pods get the warnings of Kubernetes, each with the path of its field.
import { describe, expect, test } from 'vitest';
import type { Pod } from '../../generated/types.ts';
import type { Kind } from '../../kind/kind.ts';
import { daemonSet } from '../../kinds/apps/daemon-set.ts';
import { deployment } from '../../kinds/apps/deployment.ts';
import { replicaSet } from '../../kinds/apps/replica-set.ts';
import { statefulSet } from '../../kinds/apps/stateful-set.ts';
import { batchJob } from '../../kinds/batch/batch-job.ts';
import { cronJob } from '../../kinds/batch/cron-job.ts';
import { container, made } from '../../kinds/core/pod.fixture.ts';
import { pod } from '../../kinds/core/pod.ts';
import { podTemplate } from '../../kinds/core/pod-template.ts';
import { replicationController } from '../../kinds/core/replication-controller.ts';
import { job } from '../../kinds/extensions/job.ts';
import type { ApiObject } from '../../text/object.ts';

type Holder = readonly [name: string, kind: Kind, path: string, hold: (template: object) => object];

const inSpec = (template: object): object => ({ spec: { template } });

/** Every kind with a pod or a template of pods. */
const holders: readonly Holder[] = [
  ['Pod', pod, '', (template) => template],
  ['PodTemplate', podTemplate, 'template.', (template) => ({ template })],
  ['ReplicationController', replicationController, 'spec.template.', inSpec],
  ['ReplicaSet', replicaSet, 'spec.template.', inSpec],
  ['Deployment', deployment, 'spec.template.', inSpec],
  ['DaemonSet', daemonSet, 'spec.template.', inSpec],
  ['StatefulSet', statefulSet, 'spec.template.', inSpec],
  ['Job', batchJob, 'spec.template.', inSpec],
  ['Job of extensions', job, 'spec.template.', inSpec],
  [
    'CronJob',
    cronJob,
    'spec.jobTemplate.spec.template.',
    (template) => ({ spec: { jobTemplate: { spec: { template } } } }),
  ],
];

const oldZone = 'failure-domain.beta.kubernetes.io/zone';
const useZone = 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead';
const noPod = 'a null labelSelector results in matching no pod';
const terms = [{ matchExpressions: [{ key: oldZone, operator: 'In', values: ['-'] }] }];
const required = 'requiredDuringSchedulingIgnoredDuringExecution';
const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';
const badValue =
  "- is invalid, a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const appArmor = 'container.apparmor.security.beta.kubernetes.io/c';
const seccomp = 'seccomp.security.alpha.kubernetes.io/pod';
const seccompC = 'container.seccomp.security.alpha.kubernetes.io/c';
const unread = 'non-functional in v1.27+; use the "seccompProfile" field instead';
const fraction = '"100m" is invalid, must be an integer';

interface Case {
  readonly name: string;
  readonly spec?: object;
  readonly annotations?: object;
  /** `@` stands for the path of the template. */
  readonly warnings: readonly string[];
}

const withContainer = (fields: object): object => ({ containers: [container({ name: 'c', ...fields })] });

const cases: readonly Case[] = [
  { name: 'nothing', warnings: [] },
  {
    name: 'labels of nodes',
    spec: {
      nodeSelector: { 'beta.kubernetes.io/os': 'linux' },
      affinity: {
        nodeAffinity: {
          [required]: { nodeSelectorTerms: terms },
          [preferred]: [{ weight: 1, preference: terms[0] }],
        },
      },
      topologySpreadConstraints: [{ maxSkew: 1, whenUnsatisfiable: 'DoNotSchedule', topologyKey: oldZone }],
    },
    warnings: [
      '@spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
      `@spec.affinity.nodeAffinity.${required}.nodeSelectorTerms[0].matchExpressions[0].key: ${oldZone} is ${useZone}`,
      `@spec.affinity.nodeAffinity.${preferred}[0].preference.matchExpressions[0].key: ${oldZone} is ${useZone}`,
      `@spec.affinity.nodeAffinity.${preferred}[0].preference.matchExpressions[0].values[0]: ${badValue}`,
      `@spec.topologySpreadConstraints[0].topologyKey: ${oldZone} is ${useZone}`,
      `@spec.topologySpreadConstraints[0].labelSelector: ${noPod}`,
    ],
  },
  {
    name: 'selectors of pods that match none',
    spec: {
      affinity: {
        podAffinity: { [required]: [{ topologyKey: 'a' }] },
        podAntiAffinity: { [preferred]: [{ weight: 1, podAffinityTerm: { topologyKey: 'a' } }] },
      },
    },
    warnings: [
      `@spec.affinity.podAffinity.${required}[0].labelSelector: ${noPod}`,
      `@spec.affinity.podAntiAffinity.${preferred}[0].podAffinityTerm.labelSelector: ${noPod}`,
    ],
  },
  {
    name: 'annotations that nothing reads',
    annotations: {
      'scheduler.alpha.kubernetes.io/critical-pod': '',
      'security.alpha.kubernetes.io/sysctls': 'a=1',
      'security.alpha.kubernetes.io/unsafe-sysctls': 'a=1',
    },
    warnings: [
      '@metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: non-functional in v1.16+; use the "priorityClassName" field instead',
      '@metadata.annotations[security.alpha.kubernetes.io/sysctls]: non-functional in v1.11+; use the "sysctls" field instead',
      '@metadata.annotations[security.alpha.kubernetes.io/unsafe-sysctls]: non-functional in v1.11+; use the "sysctls" field instead',
    ],
  },
  {
    name: 'profiles in annotations',
    annotations: { [appArmor]: 'runtime/default', [seccomp]: 'unconfined', [seccompC]: 'unconfined' },
    warnings: [
      `@metadata.annotations[${seccomp}]: ${unread}`,
      `@metadata.annotations[${seccompC}]: ${unread}`,
      `@metadata.annotations[${appArmor}]: deprecated since v1.30; use the "appArmorProfile" field instead`,
    ],
  },
  {
    name: 'profiles in annotations that fields repeat',
    spec: {
      securityContext: {
        appArmorProfile: { type: 'Localhost', localhostProfile: 'a' },
        seccompProfile: { type: 'RuntimeDefault' },
      },
      ...withContainer({ securityContext: { seccompProfile: { type: 'RuntimeDefault' } } }),
    },
    annotations: { [appArmor]: 'localhost/a', [seccomp]: 'runtime/default', [seccompC]: 'runtime/default' },
    warnings: [],
  },
  {
    name: 'kinds of volumes that are gone',
    spec: {
      volumes: [
        { name: 'a', photonPersistentDisk: { pdID: 'x' } },
        { name: 'b', gitRepo: { repository: 'x' } },
        { name: 'c', scaleIO: { gateway: 'x', system: 'x', secretRef: {}, volumeName: 'x' } },
        { name: 'd', flocker: { datasetName: 'x' } },
        { name: 'e', storageos: { volumeName: 'x' } },
        { name: 'f', quobyte: { registry: 'a:1', volume: 'x' } },
        { name: 'g', glusterfs: { endpoints: 'x', path: 'x' } },
        { name: 'h', cephfs: { monitors: ['x'] } },
        { name: 'i', rbd: { monitors: ['x'], image: 'x' } },
        {
          name: 'j',
          ephemeral: {
            volumeClaimTemplate: {
              spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '100m' } } },
            },
          },
        },
      ],
    },
    warnings: [
      '@spec.volumes[0].photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+',
      '@spec.volumes[1].gitRepo: deprecated in v1.11, and disabled by default in v1.33+',
      '@spec.volumes[2].scaleIO: deprecated in v1.16, non-functional in v1.22+',
      '@spec.volumes[3].flocker: deprecated in v1.22, non-functional in v1.25+',
      '@spec.volumes[4].storageOS: deprecated in v1.22, non-functional in v1.25+',
      '@spec.volumes[5].quobyte: deprecated in v1.22, non-functional in v1.25+',
      '@spec.volumes[6].glusterfs: deprecated in v1.25, non-functional in v1.26+',
      '@spec.volumes[7].cephfs: deprecated in v1.28, non-functional in v1.31+',
      '@spec.volumes[8].rbd: deprecated in v1.28, non-functional in v1.31+',
      `@spec.volumes[9].ephemeral.volumeClaimTemplate.spec.resources.requests[storage]: fractional byte value ${fraction}`,
    ],
  },
  {
    name: 'files in the way of each other',
    spec: {
      volumes: [
        { name: 'a', configMap: { name: 'm', items: items('x', 'x/y', 'z', 'x/') } },
        { name: 'b', secret: { secretName: 's', items: items('p/q/r', 'p') } },
        {
          name: 'c',
          downwardAPI: {
            items: ['l', 'l'].map((path) => ({ path, fieldRef: { fieldPath: 'metadata.labels' } })),
          },
        },
        {
          name: 'd',
          projected: {
            sources: [
              { secret: { name: 's', items: items('t') } },
              { configMap: { name: 'm', items: items('t/u') } },
              { serviceAccountToken: { path: 't' } },
              {},
            ],
          },
        },
      ],
    },
    warnings: [
      'volume "a" (ConfigMap "m"): overlapping paths: "x/y" with "x"',
      'volume "a" (ConfigMap "m"): overlapping paths: "x" with "x"',
      'volume "a" (ConfigMap "m"): overlapping paths: "x" with "x/y"',
      'volume "b" (Secret "s"): overlapping paths: "p" with "p/q/r"',
      'volume "c" (DownwardAPI): overlapping paths: "l" with "l"',
      'volume "d" (Projected): overlapping paths: "t/u" (ConfigMap "m") with "t" (Secret "s")',
      'volume "d" (Projected): overlapping paths: "t" (ServiceAccountToken) with "t" (Secret "s")',
      'volume "d" (Projected): overlapping paths: "t" (ServiceAccountToken) with "t/u" (ConfigMap "m")',
      'volume "d" (Projected) has no sources provided',
    ],
  },
  {
    name: 'entries that are there twice',
    spec: {
      hostAliases: [{ ip: '1.2.3.4' }, { ip: '1.2.3.4' }, { ip: 'FD00::1' }],
      imagePullSecrets: [{ name: 'a' }, { name: 'a' }, {}],
      dnsConfig: { nameservers: ['fd00::0:2'] },
    },
    warnings: [
      '@spec.hostAliases[1].ip: duplicate ip "1.2.3.4"',
      '@spec.imagePullSecrets[1].name: duplicate name "a"',
      '@spec.imagePullSecrets[2].name: invalid empty name ""',
      '@spec.dnsConfig.nameservers[0]: IPv6 address "fd00::0:2" should be in RFC 5952 canonical format ("fd00::2")',
      '@spec.hostAliases[2].ip: IPv6 address "FD00::1" should be in RFC 5952 canonical format ("fd00::1")',
    ],
  },
  {
    name: 'amounts and times',
    spec: {
      overhead: { memory: '100m' },
      terminationGracePeriodSeconds: -1,
      initContainers: [container({ name: 'i', resources: { requests: { 'ephemeral-storage': '100m' } } })],
      ...withContainer({ resources: { limits: { memory: '100m' }, requests: { memory: '100m' } } }),
    },
    warnings: [
      `@spec.overhead[memory]: fractional byte value ${fraction}`,
      `@spec.initContainers[0].resources.requests[ephemeral-storage]: fractional byte value ${fraction}`,
      `@spec.containers[0].resources.limits[memory]: fractional byte value ${fraction}`,
      `@spec.containers[0].resources.requests[memory]: fractional byte value ${fraction}`,
      '@spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1',
    ],
  },
  {
    name: 'variables',
    spec: withContainer({
      env: [
        { name: 'a', value: '1' },
        { name: 'a', value: 'x$(a)' },
        { name: 'a', value: '$(a)' },
      ],
    }),
    warnings: [
      '@spec.containers[0].env[2]: hides previous definition of "a", which may be dropped when using apply',
    ],
  },
  {
    name: 'ports',
    spec: {
      initContainers: [container({ name: 'i', ports: [{ name: 'web', containerPort: 80 }] })],
      ...withContainer({
        ports: [
          { name: 'web', containerPort: 80 },
          { containerPort: 80, hostPort: 8080 },
          { containerPort: 80, hostPort: 8080, hostIP: '1.2.3.4' },
          { containerPort: 81, hostIP: '1.2.3.4' },
        ],
      }),
    },
    warnings: [
      '@spec.containers[0].ports[0]: duplicate port definition with @spec.initContainers[0].ports[0]',
      '@spec.containers[0].ports[1]: overlapping port definition with @spec.initContainers[0].ports[0]',
      '@spec.containers[0].ports[1]: overlapping port definition with @spec.containers[0].ports[0]',
      '@spec.containers[0].ports[2]: overlapping port definition with @spec.initContainers[0].ports[0]',
      '@spec.containers[0].ports[2]: overlapping port definition with @spec.containers[0].ports[0]',
      '@spec.containers[0].ports[2]: dangerously ambiguous port definition with @spec.containers[0].ports[1]',
      '@spec.containers[0].ports[3]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:81 Protocol:TCP HostIP:1.2.3.4}',
      '@spec.containers[0].ports[0]: duplicate port name "web" with @spec.initContainers[0].ports[0], services and probes that select ports by name will use @spec.initContainers[0].ports[0]',
    ],
  },
];

function items(...paths: readonly string[]): object[] {
  return paths.map((path, i) => ({ key: `k${i}`, path }));
}

const templateOf = ({ spec, annotations }: Pick<Case, 'spec' | 'annotations'>): object => ({
  metadata: { annotations },
  spec: { ...withContainer({}), ...spec },
});

describe.each(holders)('%s', (_name, kind, path, hold) => {
  const object = (one: Pick<Case, 'spec' | 'annotations'>, generation = 1) => {
    const annotations = kind === pod ? one.annotations : undefined;
    const metadata = { name: 'x', namespace: 'ns1', annotations };
    const result = made<ApiObject>(kind, { ...hold(templateOf(one)), metadata });
    result.metadata.generation = generation;
    return result;
  };

  test.each(cases)('$name', (one) => {
    const expected = one.warnings.map((text) => text.replaceAll('@', path));
    expect(kind.warnings!(object(one), undefined)).toEqual(expected);
  });

  test('an update is warned of when it brings another template, for pods never', () => {
    const before = object({});
    const after = object({ spec: { terminationGracePeriodSeconds: -1 } }, 2);
    // Daemon sets count their templates.
    after.metadata.annotations = { 'deprecated.daemonset.template.generation': '2' };
    expect(kind.warnings!(after, before)).toEqual(
      kind === pod
        ? []
        : [
            `${path}spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`,
          ],
    );
    expect(kind.warnings!(after, after)).toEqual([]);
  });
});

test('long lists of ports and paths cost no more than their length', () => {
  const ports = Array.from({ length: 40_000 }, (_, i) => ({
    containerPort: 80,
    hostPort: (i % 65_535) + 1,
    hostIP: '1.2.3.4',
  }));
  const paths = Array.from({ length: 40_000 }, (_, i) => `a/${i}`);
  const one = {
    spec: { ...withContainer({ ports }), volumes: [{ name: 'v', secret: { items: items(...paths) } }] },
  };
  expect(pod.warnings!(made<Pod>(pod, { ...templateOf(one), metadata: { name: 'x' } }), undefined)).toEqual(
    [],
  );
});
