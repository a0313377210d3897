// Proves PriorityClass: defaults, values users may choose, the names of the system, what never changes, table.
import { expect, test } from 'vitest';
import { cells, createdAge, createErrors, error, updateErrors, written } from '../kind.fixture.ts';
import { priorityClass as kind } from './priority-class.ts';

test('has a policy, a generation and a value', () => {
  expect(written(kind, {})).toMatchObject({
    metadata: { generation: 1 },
    value: 0,
    preemptionPolicy: 'PreemptLowerPriority',
  });
});

const reserved = (why: string) =>
  error(
    'F',
    'metadata.name',
    `Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: ${why}`,
  );

test.each([
  ['the highest there is for users', 'a', { value: 1_000_000_000, preemptionPolicy: 'Never' }, []],
  ['any that is low', 'a', { value: -2_147_483_648 }, []],
  [
    'one too high',
    'a',
    { value: 1_000_000_001 },
    [error('F', 'value', 'Forbidden: maximum allowed value of a user defined priority is 1000000000')],
  ],
  [
    'another policy',
    'a',
    { preemptionPolicy: 'Always' },
    [
      error(
        'N',
        'preemptionPolicy',
        'Unsupported value: "Always": supported values: "Never", "PreemptLowerPriority"',
      ),
    ],
  ],
  ['what the system has', 'system-node-critical', { value: 2_000_001_000 }, []],
  [
    'another value of the system',
    'system-node-critical',
    { value: 5 },
    [reserved('value of system-node-critical PriorityClass must be 2000001000')],
  ],
  [
    'the default of the system',
    'system-cluster-critical',
    { value: 2_000_000_000, globalDefault: true },
    [reserved('globalDefault of system-cluster-critical PriorityClass must be false')],
  ],
  ['a name of the system', 'system-x', {}, [reserved('system-x is not a known system priority class')]],
])('%s', (_what, name, body, errors) => {
  expect(createErrors(kind, { metadata: { name }, ...body })).toEqual(errors);
});

test('keeps its value and its policy', () => {
  const old = { value: 1 };
  expect(updateErrors(kind, { value: 1, description: 'new', globalDefault: true }, old)).toEqual([]);
  expect(updateErrors(kind, { value: 2 }, old)).toEqual([
    error('F', 'value', 'Forbidden: may not be changed in an update.'),
  ]);
  expect(updateErrors(kind, { value: 1, preemptionPolicy: 'Never' }, old)).toEqual([
    error('I', 'preemptionPolicy', 'Invalid value: "Never": field is immutable'),
  ]);
});

test('is shown with what it gives', () => {
  expect(cells(kind, { value: 5, globalDefault: true })).toEqual({
    Name: 'a',
    Value: 5,
    'Global-Default': true,
    Age: createdAge,
    PreemptionPolicy: 'PreemptLowerPriority',
  });
});
