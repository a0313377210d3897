// Proves the rules for mounts and devices (kinds.md 9.2): path, reason and text of every line.
import { describe } from 'vitest';
import { type Case, container, testSpecs } from '../../kinds/core/pod.fixture.ts';

const c = 'spec.containers[0]';

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
    [
      'recursiveReadOnly',
      mounts({ recursiveReadOnly: 'X' }),
      [
        `${m}.recursiveReadOnly`,
        'N',
        'Unsupported value: "X": supported values: "Disabled", "Enabled", "IfPossible"',
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
