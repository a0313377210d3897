/** Proves that the quick reader of YAML reads what kubectl writes, and never reads a text otherwise than the full reader. */
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import * as yaml from 'yaml';
import { anyText } from '../../../test/support/any-text.ts';
import { readYaml } from '../../api/text/yaml.ts';
import { writeYaml } from '../../api/text/yaml-writing.ts';
import { readQuickly } from './quick-yaml.ts';

const pod = `apiVersion: v1
kind: Pod
metadata:
  annotations:
    note: |
      first
        indented

      last
  creationTimestamp: "2026-01-01T00:00:00Z"
  labels: {}
  managedFields:
  - apiVersion: v1
    fieldsV1:
      f:spec:
        f:containers:
          k:{"name":"web"}:
            .: {}
            f:image: {}
    manager: kubectl
  name: web
  ownerReferences: []
spec:
  containers:
  - args:
    - -c
    - 'it''s: a # text'
    - "tab\\tend"
    env:
    - name: SIZE
      value: "10"
    image: registry.example:5000/web:1.2
    resources:
      limits:
        cpu: 500m
        memory: 10Gi
    securityContext:
      privileged: false
      runAsUser: 0
  nodeName: null
  tolerationSeconds: 300
status:
  message: |-
    a
    b
`;

/** Both readers, where the quick one does not give up. */
function compare(text: string): boolean {
  const quick = readQuickly(text);
  if (quick) expect(quick.value, text).toEqual(readYaml(text).value);
  return quick !== undefined;
}

it('reads what kubectl writes', () => {
  expect(compare(pod)).toBe(true);
  expect(readQuickly(pod)!.value).toMatchObject({
    metadata: { annotations: { note: 'first\n  indented\n\nlast\n' } },
    spec: { containers: [{ args: ['-c', "it's: a # text", 'tab\tend'] }], tolerationSeconds: 300 },
    status: { message: 'a\nb' },
  });
});

describe('scalars and lines', () => {
  const lines = [
    'a: yes',
    'a: No',
    'a: ~',
    'a:',
    'a: 010',
    'a: 0x1F',
    'a: 1e3',
    'a: 1_000',
    'a: 12:30',
    'a: .5',
    'a: -3',
    'a: - b',
    'a: *x',
    'a: &x b',
    'a: !!str 3',
    'a: {b: 1}',
    'a: [1, 2]',
    'a: b # c',
    'a: b: c',
    'a: "b',
    "a: 'b''c'",
    'a: "\\x41"',
    'yes: 1',
    '1: a',
    '~: a',
    '"a b": c',
    "'a': c",
    '? a',
    'a: |2\n   b',
    'a: >\n  b\n  c',
    'a: |+\n  b\n\n',
    'a: b\n  c',
    'a:\n  b\n',
    '- a\n- b: 1\n  c: 2\n-  d: 3',
    'a:\n- b\n- c\nd: 1',
    'a:\n  - b\n  - c',
    '- - a',
    '-',
    'a: b\n b: c',
    '%YAML 1.2\n---\na: 1',
    'a: 2001-12-14',
    'a: 123456789012345678',
    'a: @b',
    'a: "x" y',
    '# c\na: 1\n# d\n',
    'a: |\n\n  b\n',
    'a: |\n  b\n c: d',
    '__proto__: 1',
    'a: -',
    'a: :b',
    'k:{"a":"b: c"}: 1',
    'a: b:\n',
    'a: 1\na: 2',
    'null: 1',
    'a: b\u00a0',
    'a: b  ',
    'a: |\n  \u00a0b\n',
    'a: 1\n\u00a0\nb: 2',
    'a: 0b12',
    'a: 1e400',
    'a: 0o17',
    'a: 8a1c0b7e-0b0e-4c3a-9d0a-1b2c3d4e5f60',
    'a: 10.1.0.1',
    'a: 1__0',
    'a: 09',
    'a: 1.',
    'a: 123456789012345678901234567890',
    'a: 0.12345678901234567890',
  ];
  test.each(lines)('%j', (text) => {
    let expected: unknown;
    try {
      expected = readYaml(text).value;
    } catch {
      expect(readQuickly(text)).toBeUndefined();
      return;
    }
    const quick = readQuickly(text);
    if (quick) expect(quick.value).toEqual(expected);
    else expect(quick).toBeUndefined();
  });
});

it('agrees with the full reader on scalars that begin like numbers', () => {
  const units = [...'0123456789abefoxXEinfTZ._+-/'];
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...units), minLength: 1 }), (rest) => {
      expect(compare(`a: 1${rest}\n`)).toBe(true);
    }),
    { numRuns: 500 },
  );
});

it('agrees with the full reader on generated values and on lines that are cut and mixed', () => {
  const scalar = fc.oneof(
    fc.string(),
    anyText(),
    fc.uuid(),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.constantFrom(
      'a\nb',
      'a\nb\n\n',
      ' x',
      '- a',
      'a: b',
      '#',
      "it's",
      '10Gi',
      'y',
      '0777',
      '1.50',
      '{"a":1}',
      '|',
      'a:',
    ),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      scalar,
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(
        fc.oneof(fc.string({ minLength: 1 }), fc.constantFrom('name', 'f:spec', 'yes', '.')),
        tie('value'),
        {
          maxKeys: 4,
        },
      ),
    ),
  }));
  let read = 0;
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom('a', 'spec', 'items'), value, { minKeys: 1 }), (object) => {
      for (const text of [writeYaml(object), yaml.stringify(object, { lineWidth: 0 })])
        if (compare(text)) read++;
    }),
    { numRuns: 300 },
  );
  expect(read).toBeGreaterThan(50);
  const lines = pod.split('\n');
  fc.assert(
    fc.property(fc.subarray(lines, { minLength: 1 }), (some) => {
      const text = some.join('\n');
      try {
        readYaml(text);
      } catch {
        expect(readQuickly(text), text).toBeUndefined();
        return;
      }
      compare(text);
    }),
    { numRuns: 500 },
  );
});
