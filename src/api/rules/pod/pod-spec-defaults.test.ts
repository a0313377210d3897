// Proves the defaults of pod specs: each line of kinds.md 9.1, in pods and in templates.
import { describe, expect, test } from 'vitest';
import type { PodSpec, PodTemplate } from '../../generated/types.ts';
import { container, makePod } from '../../kinds/core/pod.fixture.ts';
import { podTemplate } from '../../kinds/core/pod-template.ts';
import { decodeObject } from '../../model/decode.ts';
import { pullPolicyOf } from './container.ts';

const podSpec = (spec: object): PodSpec => makePod(spec).spec!;

function templateSpec(spec: object): PodSpec {
  const body = { metadata: { name: 'x' }, template: { spec: { containers: [container()], ...spec } } };
  const object = decodeObject(podTemplate.model, body) as unknown as PodTemplate;
  podTemplate.defaults!(object);
  return object.template!.spec!;
}

describe.each([
  ['pod', podSpec],
  ['template', templateSpec],
])('%s', (_kind, specOf) => {
  test('the least there can be', () => {
    expect(specOf({})).toMatchObject({
      restartPolicy: 'Always',
      dnsPolicy: 'ClusterFirst',
      terminationGracePeriodSeconds: 30,
      securityContext: {},
      schedulerName: 'default-scheduler',
      containers: [
        {
          imagePullPolicy: 'IfNotPresent',
          terminationMessagePath: '/dev/termination-log',
          terminationMessagePolicy: 'File',
        },
      ],
    });
  });

  test('what is given stays', () => {
    const given = {
      restartPolicy: 'Never',
      dnsPolicy: 'Default',
      terminationGracePeriodSeconds: 0,
      schedulerName: 's',
      containers: [
        container({
          image: 'i',
          imagePullPolicy: 'Never',
          terminationMessagePath: '/t',
          terminationMessagePolicy: 'FallbackToLogsOnError',
        }),
      ],
    };
    expect(specOf(given)).toMatchObject(given);
  });

  test.each([
    [{ serviceAccount: 'old' }, 'old'],
    [{ serviceAccountName: 'new' }, 'new'],
    [{ serviceAccount: 'old', serviceAccountName: 'new' }, 'new'],
    [{}, undefined],
  ])('account %j', (given, name) => {
    const spec = specOf(given);
    expect([spec.serviceAccountName, spec.serviceAccount]).toEqual([name, name]);
  });

  test('containers of all kinds', () => {
    const fields = { name: 'a', image: 'i', ports: [{ containerPort: 1 }] };
    const spec = specOf({ initContainers: [fields], ephemeralContainers: [{ ...fields, name: 'e' }] });
    for (const one of [spec.initContainers![0]!, spec.ephemeralContainers![0]!])
      expect(one).toMatchObject({
        imagePullPolicy: 'Always',
        terminationMessagePolicy: 'File',
        ports: [{ protocol: 'TCP' }],
      });
  });

  test('resource lists are rounded up to milli', () => {
    const spec = specOf({
      overhead: { cpu: '0.1m' },
      containers: [
        container({ resources: { limits: { cpu: '1.0005' }, requests: { cpu: '1n', memory: '1Gi' } } }),
      ],
      resources: { limits: { cpu: '2.0001' } },
    });
    expect(spec.overhead).toEqual({ cpu: '1m' });
    expect(spec.containers![0]!.resources).toEqual({
      limits: { cpu: '1001m' },
      requests: { cpu: '1m', memory: '1Gi' },
    });
    expect(spec.resources!.limits).toEqual({ cpu: '2001m' });
  });

  test('environment', () => {
    const spec = specOf({
      containers: [
        container({
          env: [
            { name: 'a', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
            { name: 'b', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'p', key: 'k' } } },
          ],
        }),
      ],
    });
    const [field, file] = spec.containers![0]!.env!;
    expect(field!.valueFrom!.fieldRef!.apiVersion).toBe('v1');
    expect(file!.valueFrom!.fileKeyRef!.optional).toBe(false);
  });

  test('probes and hooks', () => {
    const { livenessProbe, readinessProbe, startupProbe, lifecycle } = specOf({
      containers: [
        container({
          livenessProbe: { httpGet: { port: 1 } },
          readinessProbe: { tcpSocket: { port: 1 }, timeoutSeconds: 5, failureThreshold: 9 },
          startupProbe: { grpc: { port: 1 } },
          lifecycle: { preStop: { httpGet: { port: 1 } } },
        }),
      ],
    }).containers![0]!;
    expect(livenessProbe).toEqual({
      httpGet: { port: 1, path: '/', scheme: 'HTTP' },
      timeoutSeconds: 1,
      periodSeconds: 10,
      successThreshold: 1,
      failureThreshold: 3,
    });
    expect(readinessProbe).toMatchObject({ timeoutSeconds: 5, failureThreshold: 9 });
    expect(startupProbe!.grpc!.service).toBe('');
    expect(lifecycle!.preStop!.httpGet).toMatchObject({ path: '/', scheme: 'HTTP' });
  });

  test.each([
    [{}, { emptyDir: {} }],
    [{ hostPath: { path: '/a' } }, { hostPath: { path: '/a', type: '' } }],
    [{ secret: { secretName: 's' } }, { secret: { secretName: 's', defaultMode: 420 } }],
    [{ configMap: { name: 'm', defaultMode: 0 } }, { configMap: { name: 'm', defaultMode: 0 } }],
    [
      { downwardAPI: { items: [{ path: 'p', fieldRef: { fieldPath: 'metadata.name' } }] } },
      {
        downwardAPI: {
          defaultMode: 420,
          items: [{ path: 'p', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } }],
        },
      },
    ],
    [
      { projected: { sources: [{ serviceAccountToken: { path: 't' } }] } },
      {
        projected: {
          defaultMode: 420,
          sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 3600 } }],
        },
      },
    ],
    [{ iscsi: { iqn: 'q' } }, { iscsi: { iqn: 'q', iscsiInterface: 'default' } }],
    [
      { rbd: { image: 'i' } },
      { rbd: { image: 'i', pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' } },
    ],
    [
      { azureDisk: { diskName: 'd' } },
      {
        azureDisk: {
          diskName: 'd',
          cachingMode: 'ReadWrite',
          fsType: 'ext4',
          readOnly: false,
          kind: 'Shared',
        },
      },
    ],
    [
      { scaleIO: { system: 's' } },
      { scaleIO: { system: 's', storageMode: 'ThinProvisioned', fsType: 'xfs' } },
    ],
    [{ image: { reference: 'r' } }, { image: { reference: 'r', pullPolicy: 'Always' } }],
    [
      { ephemeral: { volumeClaimTemplate: { spec: { resources: { requests: { storage: '0.1m' } } } } } },
      {
        ephemeral: {
          volumeClaimTemplate: {
            spec: { volumeMode: 'Filesystem', resources: { requests: { storage: '1m' } } },
          },
        },
      },
    ],
  ])('volume %j', (source, expected) => {
    expect(specOf({ volumes: [{ name: 'v', ...source }] }).volumes![0]).toMatchObject({
      name: 'v',
      ...expected,
    });
  });
});

test.each([
  ['i', 'Always'],
  ['i:latest', 'Always'],
  ['i:1', 'IfNotPresent'],
  ['reg:5000/x', 'Always'],
  ['reg:5000/x:1', 'IfNotPresent'],
  ['reg:5000/x:latest', 'Always'],
  [`i@sha256:${'a'.repeat(64)}`, 'IfNotPresent'],
  [`reg:5000/i@sha256:${'a'.repeat(64)}`, 'IfNotPresent'],
  [`i:latest@sha256:${'a'.repeat(64)}`, 'Always'],
])('image %s is pulled %s', (image, policy) => {
  expect(pullPolicyOf(image)).toBe(policy);
});

describe('what only pods get', () => {
  const spec = {
    hostNetwork: true,
    initContainers: [{ name: 'i', image: 'i', resources: { limits: { memory: '1Gi' } } }],
    containers: [
      container({
        ports: [{ containerPort: 80 }],
        resources: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '500m' } },
      }),
    ],
  };

  test('a pod', () => {
    const { enableServiceLinks, containers, initContainers } = podSpec(spec);
    expect(enableServiceLinks).toBe(true);
    expect(containers![0]!.ports![0]!.hostPort).toBe(80);
    expect(containers![0]!.resources!.requests).toEqual({ cpu: '500m', memory: '1Gi' });
    expect(initContainers![0]!.resources!.requests).toEqual({ memory: '1Gi' });
  });

  test('a template', () => {
    const { enableServiceLinks, containers, initContainers } = templateSpec(spec);
    expect(enableServiceLinks).toBeUndefined();
    expect(containers![0]!.ports![0]!.hostPort).toBeUndefined();
    expect(containers![0]!.resources!.requests).toEqual({ cpu: '500m' });
    expect(initContainers![0]!.resources!.requests).toBeUndefined();
  });

  test('no port of the node without its network', () => {
    expect(podSpec({ ...spec, hostNetwork: false }).containers![0]!.ports![0]!.hostPort).toBeUndefined();
  });

  test('a pod with limits of its own requests what its containers do, else what it is limited to', () => {
    const { resources } = podSpec({
      containers: [container({ resources: { requests: { cpu: '100m' } } })],
      initContainers: [
        { name: 's', image: 'i', restartPolicy: 'Always', resources: { requests: { cpu: '50m' } } },
        { name: 'i', image: 'i', resources: { requests: { cpu: '200m' } } },
      ],
      resources: { limits: { cpu: '1', memory: '1Gi' } },
    });
    expect(resources!.requests).toEqual({ cpu: '250m', memory: '1Gi' });
  });
});
