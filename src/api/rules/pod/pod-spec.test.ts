// Proves the rules for a pod as a whole (kinds.md 9.4), and that hostile specs are refused at a bounded cost.
import { describe, expect, test } from 'vitest';
import { brief, type Case, container, makePod, podErrors, testSpecs } from '../../kinds/core/pod.fixture.ts';
import { pod } from '../../kinds/core/pod.ts';

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
    [
      'option without a name',
      { dnsConfig: { options: [{ value: 'x' }] } },
      [`${d}.options[0]`, 'R', 'Required value: must not be empty'],
    ],
    ['good searches', { dnsConfig: { searches: ['.', 'a.', '_tcp.a'] } }],
  ]);
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
    const many = <T>(item: (i: number) => T) => Array.from({ length: 20_000 }, (_, i) => item(i));
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
