// Proves the rules for tolerations (kinds.md 9.4): path, reason and text of every line.
import { describe } from 'vitest';
import { testSpecs } from '../../kinds/core/pod.fixture.ts';

const qualifiedText =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const labelValueText =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

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
      toleration({ key: 'a', operator: 'In' }),
      [`${t}.operator`, 'N', 'Unsupported value: "In": supported values: "Equal", "Exists"'],
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
