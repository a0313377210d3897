// Proves the rules for containers and their ports (kinds.md 9.2): path, reason and text of every line.
import { describe, expect, test } from 'vitest';
import { brief, container, makePod, testContainers, testSpecs } from '../../kinds/core/pod.fixture.ts';
import { pod } from '../../kinds/core/pod.ts';

const labelText =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
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

test('a pod on the network of the node has no port open, when defaulting did not fill it', () => {
  const object = makePod({ hostNetwork: true, containers: [container({ ports: [{ containerPort: 80 }] })] });
  delete object.spec!.containers![0]!.ports![0]!.hostPort;
  expect(brief(pod.validate!(object))).toEqual([
    [
      `${c}.ports[0].hostPort`,
      'I',
      'Invalid value: 0: must match `containerPort` when `hostNetwork` is true',
    ],
  ]);
});
