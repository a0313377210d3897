/** Proves the rules of leases, their times, and the cells of their table. */
import { expect, test } from 'vitest';
import { cells, createdAge, createErrors, error, updateErrors, written } from '../kind.fixture.ts';
import { lease } from './lease.ts';

const spec = {
  holderIdentity: 'a-1',
  leaseDurationSeconds: 15,
  acquireTime: '2024-05-01T12:00:00.123456Z',
  renewTime: '2024-05-01T14:00:10.500000+02:00',
  leaseTransitions: 0,
};

test('times have microseconds, and zero is not nothing', () => {
  expect(written(lease, { spec }).spec).toEqual({ ...spec, renewTime: '2024-05-01T12:00:10.500000Z' });
});

test('what a stock server drops is dropped', () => {
  expect(written(lease, { spec: { strategy: 'X', preferredHolder: 'y' } }).spec).toEqual({});
});

test.each<[spec: object, ...errors: ReturnType<typeof error>[]]>([
  [{}],
  [spec],
  [
    { leaseDurationSeconds: 0 },
    error('I', 'spec.leaseDurationSeconds', 'Invalid value: 0: must be greater than 0'),
  ],
  [
    { leaseDurationSeconds: -1, leaseTransitions: -1 },
    error('I', 'spec.leaseDurationSeconds', 'Invalid value: -1: must be greater than 0'),
    error('I', 'spec.leaseTransitions', 'Invalid value: -1: must be greater than or equal to 0'),
  ],
])('%j', (spec, ...errors) => {
  expect(createErrors(lease, { spec })).toEqual(errors);
});

test('an update says what it has seen', () => {
  const update = (resourceVersion?: string) =>
    updateErrors(lease, { metadata: { resourceVersion }, spec }, { spec });
  expect(update('7')).toEqual([]);
  for (const version of [undefined, '', '0'])
    expect(update(version)).toEqual([
      error('I', 'metadata.resourceVersion', 'Invalid value: 0: must be specified for an update'),
    ]);
});

test('cells', () => {
  expect(cells(lease, { spec })).toEqual({ Name: 'a', Holder: 'a-1', Age: createdAge });
  expect(cells(lease, {})).toMatchObject({ Holder: '' });
});
