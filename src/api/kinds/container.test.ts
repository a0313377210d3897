// Proves the rules for containers: each line of kinds.md 9.2 is refused at its path, with its reason and text.
import { describe, expect, test } from 'vitest';
import { type Case, container, podErrors, testContainers, testSpecs } from './pod.case.ts';

const labelText =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const subdomainText =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const envText =
  "a valid environment variable name must consist only of printable ASCII characters other than '='";
const configKeyText =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const c = 'spec.containers[0]';

describe('names, images and policies', () => {
  testSpecs([
    ['no containers', { containers: [] }, ['spec.containers', 'R', 'Required value']],
    ['no name', { containers: [{ image: 'i' }] }, [`${c}.name`, 'R', 'Required value']],
    [
      'bad name',
      { containers: [{ name: 'A', image: 'i' }] },
      [`${c}.name`, 'I', `Invalid value: "A": ${labelText}`],
    ],
    [
      'repeated name',
      { containers: [container(), container()] },
      ['spec.containers[1].name', 'D', 'Duplicate value: "c"'],
    ],
    [
      'init container with the name of a container',
      { initContainers: [container()] },
      ['spec.initContainers[0].name', 'D', 'Duplicate value: "c"'],
    ],
    ['no image', { containers: [{ name: 'c' }] }, [`${c}.image`, 'R', 'Required value']],
    [
      'image with blanks',
      { containers: [container({ image: ' i ' })] },
      [`${c}.image`, 'I', 'Invalid value: " i ": must not have leading or trailing whitespace'],
    ],
    [
      'terminationMessagePolicy',
      { containers: [container({ terminationMessagePolicy: 'X' })] },
      [
        `${c}.terminationMessagePolicy`,
        'N',
        'Unsupported value: "X": supported values: "File", "FallbackToLogsOnError"',
      ],
    ],
    [
      'imagePullPolicy',
      { containers: [container({ imagePullPolicy: 'X' })] },
      [
        `${c}.imagePullPolicy`,
        'N',
        'Unsupported value: "X": supported values: "Always", "IfNotPresent", "Never"',
      ],
    ],
    [
      'restartPolicy',
      { containers: [container({ restartPolicy: 'X' })] },
      [`${c}.restartPolicy`, 'N', 'Unsupported value: "X": supported values: "Always", "Never", "OnFailure"'],
    ],
    [
      'probe and hook of an init container',
      {
        initContainers: [
          {
            name: 'i',
            image: 'i',
            livenessProbe: { exec: { command: ['a'] } },
            lifecycle: { preStop: { exec: { command: ['a'] } } },
          },
        ],
      },
      [
        'spec.initContainers[0].lifecycle',
        'F',
        'Forbidden: may not be set for init containers without restartPolicy=Always',
      ],
      [
        'spec.initContainers[0].livenessProbe',
        'F',
        'Forbidden: may not be set for init containers without restartPolicy=Always',
      ],
    ],
    [
      'probe of a sidecar',
      {
        initContainers: [
          { name: 'i', image: 'i', restartPolicy: 'Always', livenessProbe: { exec: { command: ['a'] } } },
        ],
      },
    ],
    [
      'ephemeral containers of a new pod, with blanks in the image',
      { ephemeralContainers: [{ name: 'e', image: 'i ' }] },
      [
        'spec.ephemeralContainers[0].image',
        'I',
        'Invalid value: "i ": must not have leading or trailing whitespace',
      ],
      ['spec.ephemeralContainers', 'F', 'Forbidden: cannot be set on create'],
    ],
  ]);
});

describe('ports', () => {
  const ports = (...list: object[]) => ({ ports: list });
  testContainers([
    [
      'name breaks several rules',
      ports({ containerPort: 1, name: '-A--' }),
      [
        `${c}.ports[0].name`,
        'I',
        'Invalid value: "-A--": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
      ],
      [`${c}.ports[0].name`, 'I', 'Invalid value: "-A--": must contain at least one letter (a-z)'],
      [`${c}.ports[0].name`, 'I', 'Invalid value: "-A--": must not contain consecutive hyphens'],
      [`${c}.ports[0].name`, 'I', 'Invalid value: "-A--": must not begin or end with a hyphen'],
    ],
    [
      'repeated name',
      ports({ containerPort: 1, name: 'a' }, { containerPort: 2, name: 'a' }),
      [`${c}.ports[1].name`, 'D', 'Duplicate value: "a"'],
    ],
    ['containerPort 0', ports({}), [`${c}.ports[0].containerPort`, 'R', 'Required value']],
    [
      'containerPort out of range',
      ports({ containerPort: 65536 }),
      [`${c}.ports[0].containerPort`, 'I', 'Invalid value: 65536: must be between 1 and 65535, inclusive'],
    ],
    [
      'hostPort out of range',
      ports({ containerPort: 1, hostPort: -1 }),
      [`${c}.ports[0].hostPort`, 'I', 'Invalid value: -1: must be between 1 and 65535, inclusive'],
    ],
    [
      'protocol',
      ports({ containerPort: 1, protocol: 'X' }),
      [`${c}.ports[0].protocol`, 'N', 'Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"'],
    ],
    [
      'hostPort twice',
      ports({ containerPort: 1, hostPort: 81 }, { containerPort: 2, hostPort: 81 }),
      [`${c}.ports[1].hostPort`, 'D', 'Duplicate value: "TCP//81"'],
    ],
    [
      'hostPort twice, but for other addresses and protocols',
      ports(
        { containerPort: 1, hostPort: 81 },
        { containerPort: 2, hostPort: 81, hostIP: '1.2.3.4' },
        { containerPort: 2, hostPort: 81, protocol: 'UDP' },
      ),
    ],
  ]);
  testSpecs([
    [
      'hostPort twice among containers',
      {
        containers: [
          container({ ports: [{ containerPort: 1, hostPort: 81 }] }),
          container({ name: 'd', ports: [{ containerPort: 2, hostPort: 81 }] }),
        ],
      },
      ['spec.containers[1].ports[0].hostPort', 'D', 'Duplicate value: "TCP//81"'],
    ],
    [
      'hostNetwork and another hostPort',
      { hostNetwork: true, containers: [container({ ports: [{ containerPort: 80, hostPort: 81 }] })] },
      [
        `${c}.ports[0].hostPort`,
        'I',
        'Invalid value: 81: must match `containerPort` when `hostNetwork` is true',
      ],
    ],
  ]);
});

describe('environment', () => {
  const variable = (fields: object) => ({ env: [{ name: 'a', ...fields }] });
  const from = `${c}.env[0].valueFrom`;
  const key = { configMapKeyRef: { name: 'm', key: 'k' } };
  const divisor = (resource: string, value: string) =>
    variable({ valueFrom: { resourceFieldRef: { resource, divisor: value } } });
  testContainers([
    ['no name', { env: [{ value: 'x' }] }, [`${c}.env[0].name`, 'R', 'Required value']],
    ['bad name', { env: [{ name: 'a=b' }] }, [`${c}.env[0].name`, 'I', `Invalid value: "a=b": ${envText}`]],
    [
      'no source',
      variable({ valueFrom: {} }),
      [
        from,
        'I',
        'Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
      ],
    ],
    [
      'value and source',
      variable({ value: 'x', valueFrom: key }),
      [from, 'I', 'Invalid value: "": may not be specified when `value` is not empty'],
    ],
    [
      'two sources',
      variable({ valueFrom: { ...key, secretKeyRef: { name: 'm', key: 'k' } } }),
      [from, 'I', 'Invalid value: "": may not have more than one field specified at a time'],
    ],
    [
      'no fieldPath',
      variable({ valueFrom: { fieldRef: {} } }),
      [`${from}.fieldRef.fieldPath`, 'R', 'Required value'],
    ],
    [
      'unknown field',
      variable({ valueFrom: { fieldRef: { fieldPath: 'metadata.foo' } } }),
      [
        `${from}.fieldRef.fieldPath`,
        'I',
        'Invalid value: "metadata.foo": error converting fieldPath: field label not supported: metadata.foo',
      ],
    ],
    [
      'known field that no variable can hold',
      variable({ valueFrom: { fieldRef: { fieldPath: 'status.phase' } } }),
      [
        `${from}.fieldRef.fieldPath`,
        'N',
        'Unsupported value: "status.phase": supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"',
      ],
    ],
    ['a label', variable({ valueFrom: { fieldRef: { fieldPath: "metadata.labels['a']" } } })],
    ['an annotation', variable({ valueFrom: { fieldRef: { fieldPath: "metadata.annotations['A/B']" } } })],
    ['the old name of a field', variable({ valueFrom: { fieldRef: { fieldPath: 'spec.host' } } })],
    [
      'no resource',
      variable({ valueFrom: { resourceFieldRef: {} } }),
      [`${from}.resourceFieldRef.resource`, 'R', 'Required value'],
    ],
    [
      'other resource',
      variable({ valueFrom: { resourceFieldRef: { resource: 'limits.x' } } }),
      [
        `${from}.resourceFieldRef.resource`,
        'N',
        'Unsupported value: "limits.x": supported values: "limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"',
      ],
    ],
    ['huge pages', variable({ valueFrom: { resourceFieldRef: { resource: 'limits.hugepages-2Mi' } } })],
    [
      'divisor of cpu',
      divisor('limits.cpu', '2'),
      [
        `${from}.resourceFieldRef.divisor`,
        'I',
        'Invalid value: "limits.cpu": only divisor\'s values 1m and 1 are supported with the cpu resource',
      ],
    ],
    [
      'divisor of memory',
      divisor('requests.memory', '1m'),
      [
        `${from}.resourceFieldRef.divisor`,
        'I',
        'Invalid value: "requests.memory": only divisor\'s values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the memory resource',
      ],
    ],
    ['divisors that are allowed', divisor('limits.cpu', '1m')],
    [
      'bad references to a config map',
      variable({ valueFrom: { configMapKeyRef: { name: 'A', key: 'a b' } } }),
      [`${from}.configMapKeyRef.name`, 'I', `Invalid value: "A": ${subdomainText}`],
      [`${from}.configMapKeyRef.key`, 'I', `Invalid value: "a b": ${configKeyText}`],
    ],
    [
      'empty references to a secret',
      variable({ valueFrom: { secretKeyRef: { name: 's' } } }),
      [`${from}.secretKeyRef.key`, 'R', 'Required value'],
    ],
    [
      'envFrom: prefix',
      { envFrom: [{ prefix: 'a=', configMapRef: { name: 'm' } }] },
      [`${c}.envFrom[0].prefix`, 'I', `Invalid value: "a=": ${envText}`],
    ],
    [
      'envFrom: no source',
      { envFrom: [{}] },
      [`${c}.envFrom`, 'I', 'Invalid value: "": must specify one of: `configMapRef` or `secretRef`'],
    ],
    [
      'envFrom: two sources',
      { envFrom: [{ configMapRef: { name: 'm' }, secretRef: { name: 's' } }] },
      [`${c}.envFrom`, 'I', 'Invalid value: "": may not have more than one field specified at a time'],
    ],
    [
      'envFrom: no name',
      { envFrom: [{ configMapRef: {} }] },
      [`${c}.envFrom[0].configMapRef.name`, 'R', 'Required value'],
    ],
    [
      'envFrom: bad name',
      { envFrom: [{ secretRef: { name: 'A' } }] },
      [`${c}.envFrom[0].secretRef.name`, 'I', `Invalid value: "A": ${subdomainText}`],
    ],
  ]);

  test('an apiVersion other than v1 is refused', () => {
    const errors = podErrors({
      containers: [
        container(variable({ valueFrom: { fieldRef: { apiVersion: 'v2', fieldPath: 'metadata.name' } } })),
      ],
    });
    expect(errors[0]?.[2]).toContain('error converting fieldPath: unsupported pod version: v2');
  });
});

describe('mounts', () => {
  const volumes = [
    { name: 'v', emptyDir: {} },
    { name: 'p', persistentVolumeClaim: { claimName: 'x' } },
  ];
  const mounts = (...list: object[]) => ({
    volumes,
    containers: [
      container({ volumeMounts: list.map((mount) => ({ name: 'v', mountPath: '/a', ...mount })) }),
    ],
  });
  const devices = (...list: object[]) => ({
    volumes,
    containers: [
      container({ volumeDevices: list.map((device) => ({ name: 'p', devicePath: '/d', ...device })) }),
    ],
  });
  const m = `${c}.volumeMounts`;
  const d = `${c}.volumeDevices`;
  const cases: Case[] = [
    [
      'no name',
      mounts({ name: '' }),
      [`${m}[0].name`, 'R', 'Required value'],
      [`${m}[0].name`, 'NF', 'Not found: ""'],
    ],
    ['no such volume', mounts({ name: 'z' }), [`${m}[0].name`, 'NF', 'Not found: "z"']],
    ['no path', mounts({ mountPath: '' }), [`${m}[0].mountPath`, 'R', 'Required value']],
    ['same path', mounts({}, {}), [`${m}[1].mountPath`, 'I', 'Invalid value: "/a": must be unique']],
    [
      'absolute subPath',
      mounts({ subPath: '/x' }),
      [`${m}.subPath`, 'I', 'Invalid value: "/x": must be a relative path'],
    ],
    [
      'subPath that climbs',
      mounts({ subPath: 'a/..' }),
      [`${m}.subPath`, 'I', `Invalid value: "a/..": must not contain '..'`],
    ],
    [
      'subPathExpr and subPath',
      mounts({ subPath: 'a', subPathExpr: 'b' }),
      [`${m}[0].subPathExpr`, 'I', 'Invalid value: "b": subPathExpr and subPath are mutually exclusive'],
    ],
    [
      'mountPropagation',
      mounts({ mountPropagation: 'X' }),
      [
        `${m}.mountPropagation`,
        'N',
        'Unsupported value: "X": supported values: "Bidirectional", "HostToContainer", "None"',
      ],
    ],
    [
      'Bidirectional without privileged',
      mounts({ mountPropagation: 'Bidirectional' }),
      [
        `${m}.mountPropagation`,
        'F',
        'Forbidden: Bidirectional mount propagation is available only to privileged containers',
      ],
    ],
    [
      'recursiveReadOnly without readOnly',
      mounts({ recursiveReadOnly: 'Enabled' }),
      [`${m}.recursiveReadOnly`, 'F', 'Forbidden: may only be specified when readOnly is true'],
    ],
    [
      'recursiveReadOnly with propagation',
      mounts({ recursiveReadOnly: 'IfPossible', readOnly: true, mountPropagation: 'HostToContainer' }),
      [
        `${m}.recursiveReadOnly`,
        'F',
        'Forbidden: may only be specified when mountPropagation is None or not specified',
      ],
    ],
    ['recursiveReadOnly as it should be', mounts({ recursiveReadOnly: 'Enabled', readOnly: true })],
    [
      'device: no name',
      devices({ name: '' }),
      [`${d}[0].name`, 'R', 'Required value'],
      [`${d}[0].name`, 'NF', 'Not found: ""'],
    ],
    ['device: no such volume', devices({ name: 'z' }), [`${d}[0].name`, 'NF', 'Not found: "z"']],
    [
      'device: same name',
      devices({}, { devicePath: '/e' }),
      [`${d}[1].name`, 'I', 'Invalid value: "p": must be unique'],
    ],
    [
      'device: not a claim',
      devices({ name: 'v' }),
      [
        `${d}[0].name`,
        'I',
        'Invalid value: "v": can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode',
      ],
    ],
    ['device: no path', devices({ devicePath: '' }), [`${d}[0].devicePath`, 'R', 'Required value']],
    [
      'device: same path',
      devices({}, {}),
      [`${d}[1].name`, 'I', 'Invalid value: "p": must be unique'],
      [`${d}[1].devicePath`, 'I', 'Invalid value: "/d": must be unique'],
    ],
    [
      'device: path that climbs',
      devices({ devicePath: '/a/../b' }),
      [`${d}[0].devicePath`, 'I', `Invalid value: "/a/../b": can not contain backsteps ('..')`],
    ],
    [
      'device and mount of one volume',
      {
        volumes,
        containers: [
          container({
            volumeMounts: [{ name: 'p', mountPath: '/d' }],
            volumeDevices: [{ name: 'p', devicePath: '/d' }],
          }),
        ],
      },
      [`${m}[0].name`, 'I', 'Invalid value: "p": must not already exist in volumeDevices'],
      [`${m}[0].mountPath`, 'I', 'Invalid value: "/d": must not already exist as a path in volumeDevices'],
      [`${d}[0].name`, 'I', 'Invalid value: "p": must not already exist in volumeMounts'],
      [`${d}[0].devicePath`, 'I', 'Invalid value: "/d": must not already exist as a path in volumeMounts'],
    ],
  ];
  testSpecs(cases);
});

describe('resources', () => {
  const resources = (requests: object, limits: object = {}) => ({ resources: { requests, limits } });
  const r = `${c}.resources`;
  testContainers([
    [
      'bad name',
      resources({ 'a b': '1' }),
      [
        `${r}.requests[a b]`,
        'I',
        `Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
      ],
      [`${r}.requests[a b]`, 'I', 'Invalid value: "a b": must be a standard resource for containers'],
    ],
    [
      'name without a prefix',
      resources({ gpu: '1' }),
      [
        `${r}.requests[gpu]`,
        'I',
        'Invalid value: "gpu": must be a standard resource type or fully qualified',
      ],
      [`${r}.requests[gpu]`, 'I', 'Invalid value: "gpu": must be a standard resource for containers'],
    ],
    [
      'standard name that is not for containers',
      resources({ pods: '1' }),
      [`${r}.requests[pods]`, 'I', 'Invalid value: "pods": must be a standard resource for containers'],
    ],
    [
      'negative',
      resources({ cpu: '-1' }),
      [`${r}.requests[cpu]`, 'I', 'Invalid value: "-1": must be greater than or equal to 0'],
    ],
    [
      'half of an extended resource',
      resources({ 'a.b/c': '500m' }, { 'a.b/c': '500m' }),
      [`${r}.limits[a.b/c]`, 'I', 'Invalid value: "500m": must be an integer'],
      [`${r}.requests[a.b/c]`, 'I', 'Invalid value: "500m": must be an integer'],
    ],
    [
      'request above limit',
      resources({ cpu: '2' }, { cpu: '1' }),
      [`${r}.requests`, 'I', 'Invalid value: "2": must be less than or equal to cpu limit of 1'],
    ],
    [
      'extended resource: request below limit',
      resources({ 'a.b/c': '1' }, { 'a.b/c': '2' }),
      [`${r}.requests`, 'I', 'Invalid value: "1": must be equal to a.b/c limit of 2'],
    ],
    [
      'extended resource: no limit',
      resources({ 'a.b/c': '1' }),
      [`${r}.limits`, 'R', 'Required value: Limit must be set for non overcommitable resources'],
    ],
    [
      'huge pages without cpu or memory',
      resources({}, { 'hugepages-2Mi': '2Mi' }),
      [r, 'F', 'Forbidden: HugePages require cpu or memory'],
    ],
    [
      'half of a huge page',
      resources({ cpu: '1' }, { 'hugepages-2Mi': '1Mi' }),
      [
        `${r}.limits[hugepages-2Mi]`,
        'I',
        'Invalid value: "1Mi": 1Mi is not positive integer multiple of hugepages-2Mi',
      ],
      [
        `${r}.requests[hugepages-2Mi]`,
        'I',
        'Invalid value: "1Mi": 1Mi is not positive integer multiple of hugepages-2Mi',
      ],
    ],
    ['request below limit', resources({ cpu: '1', memory: '1Gi' }, { cpu: '2', memory: '1Gi' })],
    [
      'resizePolicy: resource',
      { resizePolicy: [{ resourceName: 'x', restartPolicy: 'NotRequired' }] },
      [`${c}.resizePolicy`, 'N', 'Unsupported value: "x": supported values: "cpu", "memory"'],
    ],
    [
      'resizePolicy: policy',
      { resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'x' }] },
      [
        `${c}.resizePolicy`,
        'N',
        'Unsupported value: "x": supported values: "NotRequired", "RestartContainer"',
      ],
    ],
    [
      'resizePolicy: repeated',
      {
        resizePolicy: [
          { resourceName: 'cpu', restartPolicy: 'NotRequired' },
          { resourceName: 'cpu', restartPolicy: 'NotRequired' },
        ],
      },
      [`${c}.resizePolicy[1]`, 'D', 'Duplicate value: "cpu"'],
    ],
  ]);
});
