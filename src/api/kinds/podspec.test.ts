// Proves the rules for a pod as a whole: each line of kinds.md 9.4 with its path, reason and text.
import { describe, expect, test } from 'vitest';
import type { PodTemplateSpec } from '../generated/types.ts';
import { brief, type Case, container, type Expected, makePod, podErrors, testSpecs } from './pod.case.ts';
import { pod } from './pod.ts';
import { defaultPodTemplate, validatePodTemplate } from './template.ts';

const subdomainText =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const qualifiedText =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const labelValueText =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const ipText = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';

describe('policies, names and numbers', () => {
  testSpecs([
    [
      'restartPolicy',
      { restartPolicy: 'X' },
      ['spec.restartPolicy', 'N', 'Unsupported value: "X": supported values: "Always", "OnFailure", "Never"'],
    ],
    [
      'dnsPolicy',
      { dnsPolicy: 'X' },
      [
        'spec.dnsPolicy',
        'N',
        'Unsupported value: "X": supported values: "ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"',
      ],
    ],
    [
      'nodeSelector',
      { nodeSelector: { 'a b': '-' } },
      ['spec.nodeSelector', 'I', `Invalid value: "a b": ${qualifiedText}`],
      ['spec.nodeSelector', 'I', `Invalid value: "-": ${labelValueText}`],
    ],
    ...['serviceAccountName', 'nodeName', 'priorityClassName', 'runtimeClassName'].map(
      (name): Case => [name, { [name]: 'A' }, [`spec.${name}`, 'I', `Invalid value: "A": ${subdomainText}`]],
    ),
    ...['hostname', 'subdomain'].map(
      (name): Case => [
        name,
        { [name]: 'a.b' },
        [`spec.${name}`, 'I', 'Invalid value: "a.b": must not contain dots'],
      ],
    ),
    ...[0, 2 ** 31].map(
      (seconds): Case => [
        `activeDeadlineSeconds ${seconds}`,
        { activeDeadlineSeconds: seconds },
        [
          'spec.activeDeadlineSeconds',
          'I',
          `Invalid value: ${seconds}: must be between 1 and 2147483647, inclusive`,
        ],
      ],
    ),
    ['negative terminationGracePeriodSeconds', { terminationGracePeriodSeconds: -1 }],
    [
      'preemptionPolicy',
      { preemptionPolicy: 'X' },
      [
        'spec.preemptionPolicy',
        'N',
        'Unsupported value: "X": supported values: "PreemptLowerPriority", "Never"',
      ],
    ],
    ['os without a name', { os: {} }, ['spec.os.name', 'R', 'Required value']],
    [
      'os',
      { os: { name: 'x' } },
      ['spec.os', 'N', 'Unsupported value: "x": supported values: "linux", "windows"'],
    ],
    [
      'overhead',
      { overhead: { cpu: '-1' } },
      ['spec.overhead.limits[cpu]', 'I', 'Invalid value: "-1": must be greater than or equal to 0'],
    ],
    [
      'nodeName before the gates are open',
      { nodeName: 'n', schedulingGates: [{ name: 'a' }] },
      ['spec.nodeName', 'F', 'Forbidden: cannot be set until all schedulingGates have been cleared'],
    ],
    [
      'hostAliases',
      { hostAliases: [{ ip: 'x', hostnames: ['a', 'B'] }] },
      ['spec.hostAliases[0].ip', 'I', `Invalid value: "x": ${ipText}`],
      ['spec.hostAliases[0].hostnames[1]', 'I', `Invalid value: "B": ${subdomainText}`],
    ],
    [
      'readinessGates',
      { readinessGates: [{ conditionType: 'a b' }] },
      ['spec.readinessGates[0].conditionType', 'I', `Invalid value: "a b": ${qualifiedText}`],
    ],
    [
      'schedulingGates',
      { schedulingGates: [{ name: 'a b' }, { name: 'a' }, { name: 'a' }] },
      ['spec.schedulingGates[0]', 'I', `Invalid value: "a b": ${qualifiedText}`],
      ['spec.schedulingGates[2]', 'D', 'Duplicate value: "a"'],
    ],
  ]);

  test('a pull secret has a name and nothing else', () => {
    const object = makePod({ imagePullSecrets: [{ name: 's' }] });
    Object.assign(object.spec!.imagePullSecrets![0]!, { key: 'k' });
    expect(brief(pod.validate!(object))).toEqual([
      ['spec.imagePullSecrets[0]', 'I', 'Invalid value: {"name":"s","key":"k"}: only name may be set'],
    ]);
  });
});

describe('dnsConfig', () => {
  const d = 'spec.dnsConfig';
  const searches = Array.from({ length: 33 }, () => 'a');
  testSpecs([
    [
      'None without a config',
      { dnsPolicy: 'None' },
      [d, 'R', 'Required value: must provide `dnsConfig` when `dnsPolicy` is None'],
    ],
    [
      'None without nameservers',
      { dnsPolicy: 'None', dnsConfig: {} },
      [
        `${d}.nameservers`,
        'R',
        'Required value: must provide at least one DNS nameserver when `dnsPolicy` is None',
      ],
    ],
    [
      'four nameservers',
      { dnsConfig: { nameservers: ['1.1.1.1', '1.1.1.2', '1.1.1.3', '1.1.1.4'] } },
      [
        `${d}.nameservers`,
        'I',
        'Invalid value: ["1.1.1.1","1.1.1.2","1.1.1.3","1.1.1.4"]: must not have more than 3 nameservers',
      ],
    ],
    [
      'bad nameserver',
      { dnsConfig: { nameservers: ['x'] } },
      [`${d}.nameservers[0]`, 'I', `Invalid value: "x": ${ipText}`],
    ],
    [
      'many searches',
      { dnsConfig: { searches } },
      [
        `${d}.searches`,
        'I',
        `Invalid value: ${JSON.stringify(searches)}: must not have more than 32 search paths`,
      ],
    ],
    [
      'long searches',
      { dnsConfig: { searches: Array.from({ length: 9 }, () => 'a'.repeat(240)) } },
      [
        `${d}.searches`,
        'I',
        expect.stringMatching(
          /: must not have more than 2048 characters \(including spaces\) in the search list$/,
        ),
      ],
    ],
    [
      'bad search',
      { dnsConfig: { searches: ['a b'] } },
      [`${d}.searches[0]`, 'I', `Invalid value: "a b": ${subdomainText}`],
    ],
    ['good searches', { dnsConfig: { searches: ['.', 'a.', '_tcp.a'] } }],
  ]);
});

describe('tolerations', () => {
  const t = 'spec.tolerations[0]';
  const toleration = (fields: object) => ({ tolerations: [fields] });
  testSpecs([
    [
      'key',
      toleration({ key: 'a b', operator: 'Exists' }),
      [`${t}.key`, 'I', `Invalid value: "a b": ${qualifiedText}`],
    ],
    [
      'no key',
      toleration({ operator: 'Equal' }),
      [
        `${t}.operator`,
        'I',
        'Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys"',
      ],
    ],
    [
      'operator',
      toleration({ key: 'a', operator: 'Gt' }),
      [`${t}.operator`, 'N', 'Unsupported value: "Gt": supported values: "Equal", "Exists"'],
    ],
    [
      'Exists with a value',
      toleration({ key: 'a', operator: 'Exists', value: 'x' }),
      [`${t}.operator`, 'I', `Invalid value: "x": value must be empty when \`operator\` is 'Exists'`],
    ],
    [
      'Equal with a bad value',
      toleration({ key: 'a', value: '-' }),
      [`${t}.operator`, 'I', `Invalid value: "-": ${labelValueText}`],
    ],
    [
      'tolerationSeconds',
      toleration({ key: 'a', tolerationSeconds: 1, effect: 'NoSchedule' }),
      [
        `${t}.effect`,
        'I',
        `Invalid value: "NoSchedule": effect must be 'NoExecute' when \`tolerationSeconds\` is set`,
      ],
    ],
    [
      'effect',
      toleration({ key: 'a', effect: 'X' }),
      [
        `${t}.effect`,
        'N',
        'Unsupported value: "X": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
      ],
    ],
    ['everything', toleration({ operator: 'Exists' })],
  ]);
});

describe('affinity', () => {
  const required = 'requiredDuringSchedulingIgnoredDuringExecution';
  const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';
  const n = `spec.affinity.nodeAffinity.${required}.nodeSelectorTerms`;
  const e = `${n}[0].matchExpressions[0]`;
  const nodes = (requirement: object) => ({
    affinity: { nodeAffinity: { [required]: { nodeSelectorTerms: [{ matchExpressions: [requirement] }] } } },
  });
  const pods = (term: object) => ({ affinity: { podAntiAffinity: { [required]: [term] } } });
  testSpecs([
    [
      'no terms',
      { affinity: { nodeAffinity: { [required]: {} } } },
      [n, 'R', 'Required value: must have at least one node selector term'],
    ],
    [
      'operator',
      nodes({ key: 'a', operator: 'X' }),
      [`${e}.operator`, 'I', 'Invalid value: "X": not a valid selector operator'],
    ],
    [
      'In without values',
      nodes({ key: 'a', operator: 'In' }),
      [`${e}.values`, 'R', "Required value: must be specified when `operator` is 'In' or 'NotIn'"],
    ],
    [
      'Exists with values',
      nodes({ key: 'a', operator: 'Exists', values: ['b'] }),
      [`${e}.values`, 'F', "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'"],
    ],
    [
      'Gt with two values',
      nodes({ key: 'a', operator: 'Gt', values: ['1', '2'] }),
      [`${e}.values`, 'R', "Required value: must be specified single value when `operator` is 'Lt' or 'Gt'"],
    ],
    [
      'key',
      nodes({ key: 'a b', operator: 'Exists' }),
      [`${e}.key`, 'I', `Invalid value: "a b": ${qualifiedText}`],
    ],
    ...[0, 101].map(
      (weight): Case => [
        `weight ${weight}`,
        { affinity: { nodeAffinity: { [preferred]: [{ weight, preference: {} }] } } },
        [
          `spec.affinity.nodeAffinity.${preferred}[0].weight`,
          'I',
          `Invalid value: ${weight}: must be in the range 1-100`,
        ],
      ],
    ),
    [
      'field that nodes cannot be chosen by',
      {
        affinity: {
          nodeAffinity: {
            [required]: {
              nodeSelectorTerms: [{ matchFields: [{ key: 'x', operator: 'In', values: ['a'] }] }],
            },
          },
        },
      },
      [`${n}[0].matchFields[0].key`, 'I', 'Invalid value: "x": not a valid field selector key'],
    ],
    [
      'topologyKey',
      pods({ topologyKey: 'a b' }),
      [
        `spec.affinity.podAntiAffinity.${required}[0].topologyKey`,
        'I',
        `Invalid value: "a b": ${qualifiedText}`,
      ],
    ],
    [
      'weight of a pod term',
      { affinity: { podAffinity: { [preferred]: [{ weight: 0, podAffinityTerm: { topologyKey: 'a' } }] } } },
      [
        `spec.affinity.podAffinity.${preferred}[0].weight`,
        'I',
        'Invalid value: 0: must be in the range 1-100',
      ],
    ],
  ]);

  test('an empty topologyKey is missing', () => {
    expect(podErrors(pods({}))).toContainEqual([
      `spec.affinity.podAntiAffinity.${required}[0].topologyKey`,
      'R',
      'Required value: can not be empty',
    ]);
  });
});

describe('topologySpreadConstraints', () => {
  const t = 'spec.topologySpreadConstraints[0]';
  const good = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' };
  const spread = (...list: object[]) => ({
    topologySpreadConstraints: list.map((fields) => ({ ...good, ...fields })),
  });
  testSpecs([
    ['maxSkew', spread({ maxSkew: 0 }), [`${t}.maxSkew`, 'I', 'Invalid value: 0: must be greater than zero']],
    [
      'topologyKey',
      spread({ topologyKey: '' }),
      [`${t}.topologyKey`, 'R', 'Required value: can not be empty'],
    ],
    [
      'whenUnsatisfiable',
      spread({ whenUnsatisfiable: 'X' }),
      [
        `${t}.whenUnsatisfiable`,
        'N',
        'Unsupported value: "X": supported values: "DoNotSchedule", "ScheduleAnyway"',
      ],
    ],
    [
      'repeated pair',
      spread({}, {}),
      [`${t}.{topologyKey, whenUnsatisfiable}`, 'D', 'Duplicate value: "{zone, DoNotSchedule}"'],
    ],
    [
      'minDomains with ScheduleAnyway',
      spread({ minDomains: 1, whenUnsatisfiable: 'ScheduleAnyway' }),
      [
        `${t}.minDomains`,
        'I',
        'Invalid value: 1: can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway',
      ],
    ],
    ['two pairs', spread({}, { whenUnsatisfiable: 'ScheduleAnyway' })],
  ]);
});

describe('resources of the pod', () => {
  const spec = (requests: object, limits: object = {}) => ({
    containers: [
      container({ resources: { requests: { cpu: '1' } } }),
      container({ name: 'd', resources: { requests: { cpu: '500m' } } }),
    ],
    resources: { requests, limits },
  });
  testSpecs([
    [
      'below the sum of the containers',
      spec({ cpu: '1' }),
      [
        'spec.resources.requests[cpu]',
        'I',
        'Invalid value: "1": must be greater than or equal to aggregate container requests of 1500m',
      ],
    ],
    ['enough', spec({ cpu: '1500m' })],
    [
      'request above limit',
      spec({ cpu: '3' }, { cpu: '2' }),
      ['spec.resources.requests', 'I', 'Invalid value: "3": must be less than or equal to cpu limit of 2'],
    ],
  ]);
});

describe('annotations', () => {
  const a = 'metadata.annotations';
  test.each([
    [
      'controller.kubernetes.io/pod-deletion-cost',
      '+1',
      [
        [
          `${a}[controller.kubernetes.io/pod-deletion-cost]`,
          'I',
          'Invalid value: "+1": must be a 32bit integer',
        ],
      ],
    ],
    ['controller.kubernetes.io/pod-deletion-cost', '-2147483648', []],
    [
      'kubernetes.io/config.mirror',
      'x',
      [
        [
          `${a}[kubernetes.io/config.mirror]`,
          'I',
          'Invalid value: "x": must set spec.nodeName if mirror pod annotation is set',
        ],
      ],
    ],
    [
      'scheduler.alpha.kubernetes.io/tolerations',
      '[{"key":"a","operator":"X"}]',
      [
        [
          `${a}.scheduler.alpha.kubernetes.io/tolerations[0].operator`,
          'N',
          'Unsupported value: "X": supported values: "Equal", "Exists"',
        ],
      ],
    ],
    [
      'seccomp.security.alpha.kubernetes.io/pod',
      'x',
      [
        [
          `${a}.seccomp.security.alpha.kubernetes.io/pod`,
          'I',
          'Invalid value: "x": must be a valid seccomp profile',
        ],
      ],
    ],
    [
      'container.apparmor.security.beta.kubernetes.io/c',
      'x',
      [
        [
          `${a}[container.apparmor.security.beta.kubernetes.io/c]`,
          'I',
          'Invalid value: "x": invalid AppArmor profile name: "x"',
        ],
      ],
    ],
  ])('%s: %s', (name, value, errors) => {
    expect(podErrors({}, { annotations: { [name]: value } })).toEqual(errors);
  });

  test.each(['{', 'null', '[1]', '[{"key":1}]', '{"a":1}'])('unreadable tolerations: %s', (text) => {
    const errors = podErrors({}, { annotations: { 'scheduler.alpha.kubernetes.io/tolerations': text } });
    expect(errors).toHaveLength(1);
  });
});

describe('templates', () => {
  const errorsOf = (template: PodTemplateSpec) => {
    defaultPodTemplate(template);
    return brief(validatePodTemplate(template, 'spec.template'));
  };
  const good = () => [{ name: 'c', image: 'i' }];
  const cases: [string, PodTemplateSpec, ...Expected[]][] = [
    [
      'labels and annotations leave metadata out of the path',
      { metadata: { labels: { 'a b': '' }, annotations: { 'a b': '' } }, spec: { containers: good() } },
      ['spec.template.labels', 'I', `Invalid value: "a b": ${qualifiedText}`],
      ['spec.template.annotations', 'I', `Invalid value: "a b": ${qualifiedText}`],
    ],
    [
      'ephemeral containers',
      { spec: { containers: good(), ephemeralContainers: [{ name: 'e', image: 'i' }] } },
      [
        'spec.template.spec.ephemeralContainers',
        'F',
        'Forbidden: ephemeral containers not allowed in pod template',
      ],
    ],
    ['images may have blanks', { spec: { containers: [{ name: 'c', image: ' i ' }] } }],
    [
      'ports on the node may be left open',
      { spec: { hostNetwork: true, containers: [{ ...good()[0], ports: [{ containerPort: 80 }] }] } },
    ],
    [
      'but not be others',
      {
        spec: {
          hostNetwork: true,
          containers: [{ ...good()[0], ports: [{ containerPort: 80, hostPort: 81 }] }],
        },
      },
      [
        'spec.template.spec.containers[0].ports[0].hostPort',
        'I',
        'Invalid value: 81: must match `containerPort` when `hostNetwork` is true',
      ],
    ],
    [
      'a token needs no account yet',
      {
        spec: {
          containers: good(),
          volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }],
        },
      },
    ],
  ];
  test.each(cases.map(([name, template, ...errors]) => ({ name, template, errors })))('$name', (one) => {
    expect(errorsOf(one.template)).toEqual(one.errors);
  });
});

describe('hostile specs', () => {
  test('nothing but emptiness is refused and not tripped over', () => {
    for (const spec of [
      { containers: [{}], initContainers: [{}], volumes: [{}], affinity: {}, securityContext: {} },
      { containers: [{ env: [{}], envFrom: [{}], ports: [{}], volumeMounts: [{}], volumeDevices: [{}] }] },
      { containers: [{ lifecycle: {}, livenessProbe: {}, securityContext: {}, resizePolicy: [{}] }] },
      { tolerations: [{}], hostAliases: [{}], readinessGates: [{}], topologySpreadConstraints: [{}] },
    ])
      expect(podErrors(spec).length).toBeGreaterThan(0);
  });

  test('errors have a bound, and long lists take no more than their length', () => {
    const many = <T>(item: (i: number) => T) => Array.from({ length: 50_000 }, (_, i) => item(i));
    expect(podErrors({ containers: many(() => ({ name: 'c' })) })).toHaveLength(1000);
    expect(podErrors({ volumes: many((i) => ({ name: `v${i}` })) })).toEqual([]);
    const mounts = many((i) => ({ name: 'v', mountPath: `/${i}` }));
    expect(
      podErrors({ volumes: [{ name: 'v' }], containers: [container({ volumeMounts: mounts })] }),
    ).toEqual([]);
    expect(podErrors({ schedulingGates: many((i) => ({ name: `g${i}` })) })).toEqual([]);
  });

  test('labels and resources may have the names of properties of objects', () => {
    expect(podErrors({ nodeSelector: { constructor: 'a' } })).toEqual([]);
    expect(
      podErrors({ containers: [container({ resources: { limits: { constructor: '1' } } })] })[0]?.[2],
    ).toBe('Invalid value: "constructor": must be a standard resource type or fully qualified');
  });
});
