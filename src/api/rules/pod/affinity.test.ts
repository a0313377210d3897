// Proves the rules for affinity and the spreading of pods (kinds.md 9.4): path, reason and text of every line.
import { describe, expect, test } from 'vitest';
import { type Case, podErrors, testSpecs } from '../../kinds/core/pod.fixture.ts';

const qualifiedText =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

describe('affinity', () => {
  const required = 'requiredDuringSchedulingIgnoredDuringExecution';
  const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';
  const n = `spec.affinity.nodeAffinity.${required}.nodeSelectorTerms`;
  const e = `${n}[0].matchExpressions[0]`;
  const nodes = (requirement: object) => ({
    affinity: { nodeAffinity: { [required]: { nodeSelectorTerms: [{ matchExpressions: [requirement] }] } } },
  });
  const fields = (requirement: object) => ({
    affinity: { nodeAffinity: { [required]: { nodeSelectorTerms: [{ matchFields: [requirement] }] } } },
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
      'operator for a field',
      fields({ key: 'metadata.name', operator: 'Exists' }),
      [`${n}[0].matchFields[0].operator`, 'I', 'Invalid value: "Exists": not a valid selector operator'],
    ],
    [
      'two values for a field',
      fields({ key: 'metadata.name', operator: 'In', values: ['a', 'b'] }),
      [
        `${n}[0].matchFields[0].values`,
        'R',
        "Required value: must be only one value when `operator` is 'In' or 'NotIn' for node field selector",
      ],
    ],
    [
      'field that nodes cannot be chosen by',
      fields({ key: 'x', operator: 'In', values: ['a'] }),
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
    [
      'minDomains 0',
      spread({ minDomains: 0 }),
      [`${t}.minDomains`, 'I', 'Invalid value: 0: must be greater than zero'],
    ],
    ['two pairs', spread({}, { whenUnsatisfiable: 'ScheduleAnyway' })],
  ]);
});
