/** Proves the special rules of namespaces: label, finalizers, phases, table row. */
import { expect, test } from 'vitest';
import {
  cells,
  created,
  createdAge,
  createErrors,
  error,
  read,
  statusErrors,
  statusUpdated,
  texts,
  updated,
  written,
} from '../kind.fixture.ts';
import { namespace } from './namespace.ts';

const label = 'kubernetes.io/metadata.name';
const neither = 'name is neither a standard finalizer name nor is it fully qualified';

test('the label with the name is forced on every write', () => {
  const stale = { metadata: { labels: { [label]: 'other', x: 'y' } } };
  const labels = { [label]: 'a', x: 'y' };
  const old = written(namespace, stale);
  expect(old.metadata.labels).toEqual(labels);
  expect(updated(namespace, stale, old).metadata.labels).toEqual(labels);
  expect(statusUpdated(namespace, stale, old).metadata.labels).toEqual(labels);
  // The finalize subresource has no hook but defaulting.
  expect(read(namespace, {}).metadata.labels).toEqual({ [label]: 'a' });
});

test('a generated name gets its label, a bad one does not', () => {
  const object = read(namespace, { metadata: { name: '' } });
  expect(object.metadata.labels).toBeUndefined();
  object.metadata.name = 'x-abcde';
  namespace.prepareForCreate!(object, { now: '' });
  expect(object.metadata.labels).toEqual({ [label]: 'x-abcde' });
  expect(read(namespace, { metadata: { name: 'A b' } }).metadata.labels).toBeUndefined();
});

test.each<[finalizers: string[] | undefined, after: string[]]>([
  [undefined, ['kubernetes']],
  [['a.b/c'], ['a.b/c', 'kubernetes']],
  [
    ['kubernetes', 'a.b/c'],
    ['kubernetes', 'a.b/c'],
  ],
])('finalizers %o on create', (finalizers, after) => {
  const made = created(namespace, { spec: { finalizers }, status: { phase: 'Terminating' } });
  expect(made).toMatchObject({ spec: { finalizers: after }, status: { phase: 'Active' } });
});

test('an update changes neither finalizers nor status', () => {
  const old = written(namespace, { spec: { finalizers: ['a.b/c'] } });
  expect(
    updated(namespace, { spec: { finalizers: ['x.y/z'] }, status: { phase: 'Terminating' } }, old),
  ).toMatchObject({ spec: { finalizers: ['a.b/c', 'kubernetes'] }, status: { phase: 'Active' } });
});

test.each([
  ['a.b/c', []],
  ['orphan', []],
  ['foo', [neither]],
  ['a_', [texts.qualified, neither]],
])('finalizer %s', (finalizer, problems) => {
  expect(createErrors(namespace, { spec: { finalizers: [finalizer] } })).toEqual(
    problems.map((problem) => error('I', 'spec.finalizers', `Invalid value: "${finalizer}": ${problem}`)),
  );
});

test.each<[phase: string | undefined, marked: boolean, shown: string | undefined]>([
  ['Active', false, undefined],
  [undefined, false, undefined],
  ['Terminating', false, 'Terminating'],
  ['Foo', false, 'Foo'],
  ['Terminating', true, undefined],
  ['Active', true, 'Active'],
  [undefined, true, 'Active'],
])('phase %s, marked %s', (phase, marked, shown) => {
  const old = { metadata: marked ? { deletionTimestamp: '2024-05-01T00:00:00Z' } : {} };
  const detail = marked
    ? "may only be 'Terminating' if `deletionTimestamp` is not empty"
    : "may only be 'Active' if `deletionTimestamp` is empty";
  expect(statusErrors(namespace, { status: { phase } }, old)).toEqual(
    shown ? [error('I', 'status.Phase', `Invalid value: "${shown}": ${detail}`)] : [],
  );
});

test('cells', () => {
  expect(cells(namespace, { status: { phase: 'Terminating' } })).toEqual({
    Name: 'a',
    Status: 'Terminating',
    Age: createdAge,
  });
});

test('finalize names the position of a bad finalizer', () => {
  const object = { metadata: { name: 'x' }, spec: { finalizers: ['kubernetes', 'bad'] } };
  expect(namespace.changes.finalize?.validate?.(object, object)).toEqual([
    {
      field: 'spec.finalizers[1]',
      reason: 'FieldValueInvalid',
      message: 'Invalid value: "bad": name is neither a standard finalizer name nor is it fully qualified',
    },
  ]);
});
