// Proves the rules for probes and hooks of kinds.md 9.2: path, reason and text of every line.
import { describe, expect, test } from 'vitest';
import {
  brief,
  type Case,
  container,
  makePod,
  testContainers,
  testSpecs,
} from '../../kinds/core/pod.fixture.ts';
import { pod } from '../../kinds/core/pod.ts';

const c = 'spec.containers[0]';
const exec = { exec: { command: ['true'] } };

describe.each(['livenessProbe', 'readinessProbe', 'startupProbe'])('%s', (name) => {
  const p = `${c}.${name}`;
  const probe = (fields: object) => ({ [name]: fields });
  const counts = ['initialDelaySeconds', 'timeoutSeconds', 'periodSeconds', 'failureThreshold'];
  testContainers([
    ['no handler', probe({}), [p, 'R', 'Required value: must specify a handler type']],
    [
      'two handlers',
      probe({ ...exec, tcpSocket: { port: 1 } }),
      [`${p}.tcpSocket`, 'F', 'Forbidden: may not specify more than 1 handler type'],
    ],
    ['empty command', probe({ exec: {} }), [`${p}.exec.command`, 'R', 'Required value']],
    [
      'httpGet: port number',
      probe({ httpGet: { port: 0 } }),
      [`${p}.httpGet.port`, 'I', 'Invalid value: 0: must be between 1 and 65535, inclusive'],
    ],
    [
      'httpGet: port name',
      probe({ httpGet: { port: '8--0a' } }),
      [`${p}.httpGet.port`, 'I', 'Invalid value: "8--0a": must not contain consecutive hyphens'],
    ],
    [
      'httpGet: scheme',
      probe({ httpGet: { port: 1, scheme: 'X' } }),
      [`${p}.httpGet.scheme`, 'N', 'Unsupported value: "X": supported values: "HTTP", "HTTPS"'],
    ],
    [
      'httpGet: header',
      probe({ httpGet: { port: 1, httpHeaders: [{ name: 'a b', value: '' }] } }),
      [
        `${p}.httpGet.httpHeaders`,
        'I',
        `Invalid value: "a b": a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')`,
      ],
    ],
    [
      'tcpSocket: port',
      probe({ tcpSocket: { port: 65536 } }),
      [`${p}.tcpSocket.port`, 'I', 'Invalid value: 65536: must be between 1 and 65535, inclusive'],
    ],
    [
      'grpc: port',
      probe({ grpc: { port: -1 } }),
      [`${p}.grpc.port`, 'I', 'Invalid value: -1: must be between 1 and 65535, inclusive'],
    ],
    ...counts.map(
      (count): Case => [
        `negative ${count}`,
        probe({ ...exec, [count]: -1 }),
        [`${p}.${count}`, 'I', 'Invalid value: -1: must be greater than or equal to 0'],
      ],
    ),
    [
      'terminationGracePeriodSeconds 0',
      probe({ ...exec, terminationGracePeriodSeconds: 0 }),
      [`${p}.terminationGracePeriodSeconds`, 'I', 'Invalid value: 0: must be greater than 0'],
      ...(name === 'readinessProbe'
        ? ([
            [
              `${p}.terminationGracePeriodSeconds`,
              'I',
              'Invalid value: 0: must not be set for readinessProbes',
            ],
          ] as const)
        : []),
    ],
    [
      'terminationGracePeriodSeconds',
      probe({ ...exec, terminationGracePeriodSeconds: 5 }),
      ...(name === 'readinessProbe'
        ? ([
            [
              `${p}.terminationGracePeriodSeconds`,
              'I',
              'Invalid value: 5: must not be set for readinessProbes',
            ],
          ] as const)
        : []),
    ],
    [
      'successThreshold 2',
      probe({ ...exec, successThreshold: 2 }),
      ...(name === 'readinessProbe'
        ? []
        : ([[`${p}.successThreshold`, 'I', 'Invalid value: 2: must be 1']] as const)),
    ],
    ['all as it should be', probe({ httpGet: { port: 'http' } })],
  ]);
});

testContainers([
  [
    'negative successThreshold',
    { readinessProbe: { ...exec, successThreshold: -1 } },
    [`${c}.readinessProbe.successThreshold`, 'I', 'Invalid value: -1: must be greater than or equal to 0'],
  ],
]);

describe('hooks', () => {
  const l = `${c}.lifecycle`;
  testContainers([
    [
      'no handler',
      { lifecycle: { postStart: {} } },
      [`${l}.postStart`, 'R', 'Required value: must specify a handler type'],
    ],
    [
      'empty command',
      { lifecycle: { preStop: { exec: {} } } },
      [`${l}.preStop.exec.command`, 'R', 'Required value'],
    ],
    [
      'stopSignal without a system',
      { lifecycle: { stopSignal: 'SIGTERM' } },
      [`${l}.stopSignal`, 'F', 'Forbidden: may not be set for containers with empty `spec.os.name`'],
    ],
  ]);
  const sleep = (seconds: number) => ({
    terminationGracePeriodSeconds: 5,
    containers: [container({ lifecycle: { preStop: { sleep: { seconds } } } })],
  });
  const sleepText = 'must be non-negative and less than terminationGracePeriodSeconds (5)';
  testSpecs([
    ['sleep of no time', sleep(0)],
    ['negative sleep', sleep(-1), [`${l}.preStop.sleep.seconds`, 'I', `Invalid value: -1: ${sleepText}`]],
    [
      'sleep beyond the grace period',
      sleep(6),
      [`${l}.preStop.sleep.seconds`, 'I', `Invalid value: 6: ${sleepText}`],
    ],
    [
      'stopSignal with a system',
      { os: { name: 'linux' }, containers: [container({ lifecycle: { stopSignal: 'SIGTERM' } })] },
    ],
  ]);
});

test('an empty path is missing, when defaulting did not fill it', () => {
  const object = makePod({ containers: [container({ livenessProbe: { httpGet: { port: 1 } } })] });
  delete object.spec!.containers![0]!.livenessProbe!.httpGet!.path;
  expect(brief(pod.validate!(object))).toEqual([[`${c}.livenessProbe.httpGet.path`, 'R', 'Required value']]);
});
