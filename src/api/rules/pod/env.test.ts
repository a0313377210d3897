// Proves the rules for the environment of containers (kinds.md 9.2): path, reason and text of every line.
import { describe, expect, test } from 'vitest';
import { container, podErrors, testContainers } from '../../kinds/core/pod.fixture.ts';
import { envFields, fieldRefErrors } from './env.ts';

const subdomainText =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const envText =
  "a valid environment variable name must consist only of printable ASCII characters other than '='";
const configKeyText =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const c = 'spec.containers[0]';

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
    [
      'a key of something else',
      variable({ valueFrom: { fieldRef: { fieldPath: "spec.x['a']" } } }),
      [
        `${from}.fieldRef.fieldPath`,
        'I',
        `Invalid value: "spec.x['a']": error converting fieldPath: field label does not support subscript: spec.x['a']`,
      ],
    ],
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

  test('an empty apiVersion is missing, when defaulting did not fill it', () => {
    expect([...fieldRefErrors({ fieldPath: 'metadata.name' }, 'x', envFields)]).toEqual([
      { field: 'x.apiVersion', reason: 'FieldValueRequired', message: 'Required value' },
    ]);
  });

  test('an apiVersion other than v1 is refused', () => {
    const errors = podErrors({
      containers: [
        container(variable({ valueFrom: { fieldRef: { apiVersion: 'v2', fieldPath: 'metadata.name' } } })),
      ],
    });
    expect(errors[0]?.[2]).toContain('error converting fieldPath: unsupported pod version: v2');
  });
});
