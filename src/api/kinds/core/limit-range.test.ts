/** Proves the defaults and rules of limit ranges. */
import { expect, test } from 'vitest';
import { createErrors, error, read, written } from '../kind.fixture.ts';
import { limitRange } from './limit-range.ts';

const limits = (...items: object[]) => ({ spec: { limits: items } });
const path = (rest: string) => `spec.limits[0].${rest}`;

test('defaults of containers come from max, then from each other, then from min', () => {
  const item = {
    type: 'Container',
    max: { cpu: '2', memory: '1Gi' },
    min: { cpu: '100m', 'example.com/gpu': '1' },
    default: { cpu: '500m' },
  };
  expect(written(limitRange, limits(item))).toMatchObject(
    limits({
      ...item,
      default: { cpu: '500m', memory: '1Gi' },
      defaultRequest: { cpu: '500m', memory: '1Gi', 'example.com/gpu': '1' },
    }),
  );
});

test('other types get no defaults, and amounts are rounded up', () => {
  const made = written(limitRange, limits({ type: 'Pod', max: { cpu: '1n' } }, { type: 'Container' }));
  expect(made.spec).toEqual(limits({ type: 'Pod', max: { cpu: '1m' } }, { type: 'Container' }).spec);
});

test('a range without a name gets a unique one', () => {
  const object = read(limitRange, { metadata: { name: '', uid: '0b4c' } });
  limitRange.prepareForCreate!(object, { now: '' });
  expect(object.metadata.name).toBe('0b4c');
  expect(written(limitRange, { metadata: { name: 'x' } }).metadata.name).toBe('x');
});

test('types', () => {
  expect(createErrors(limitRange, limits({ type: 'example.com/thing' }))).toEqual([]);
  expect(createErrors(limitRange, limits({ type: 'Foo' }))).toEqual([
    error('I', path('type'), 'Invalid value: "Foo": must be a standard limit type or fully qualified'),
  ]);
  expect(createErrors(limitRange, limits({}))[0]).toMatchObject({
    field: path('type'),
    message: 'Invalid value: "": name part must be non-empty',
  });
  expect(createErrors(limitRange, limits({ type: 'Pod' }, { type: 'Container' }, { type: 'Pod' }))).toEqual([
    error('D', 'spec.limits[2].type', 'Duplicate value: "Pod"'),
  ]);
});

test.each(['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio'])('names in %s', (list) => {
  const storage = { type: 'Container', [list]: { storage: '1' } };
  expect(createErrors(limitRange, limits(storage))).toContainEqual(
    error(
      'I',
      path(`${list}[storage]`),
      'Invalid value: "storage": must be a standard resource for containers',
    ),
  );
  const claim = { type: 'PersistentVolumeClaim', min: { storage: '1' }, [list]: { storage: '1' } };
  expect(createErrors(limitRange, limits(claim))).toEqual([]);
  expect(createErrors(limitRange, limits({ ...claim, [list]: { foo: '1', storage: '1' } }))).toEqual([
    error(
      'I',
      path(`${list}[foo]`),
      'Invalid value: "foo": must be a standard resource type or fully qualified',
    ),
  ]);
});

test.each(['default', 'defaultRequest'])('pods have no %s', (list) => {
  expect(createErrors(limitRange, limits({ type: 'Pod', [list]: { cpu: '1' } }))).toEqual([
    error('F', path(list), "Forbidden: may not be specified when `type` is 'Pod'"),
  ]);
});

test('claims need a bound on storage', () => {
  for (const item of [{}, { max: { cpu: '1' } }])
    expect(createErrors(limitRange, limits({ type: 'PersistentVolumeClaim', ...item }))).toEqual([
      error(
        'R',
        path('limits'),
        'Required value: either minimum or maximum storage value is required, but neither was provided',
      ),
    ]);
});

/** A custom type has no defaults, so that each rule can be tested alone. */
const type = 'example.com/thing';

test.each<[item: object, field: string, value: string, detail: string]>([
  [{ min: { cpu: '2' }, max: { cpu: '1' } }, 'min', '2', 'min value 2 is greater than max value 1'],
  [
    { min: { cpu: '2' }, defaultRequest: { cpu: '1' } },
    'defaultRequest',
    '1',
    'min value 2 is greater than default request value 1',
  ],
  [
    { max: { cpu: '1' }, defaultRequest: { cpu: '2' } },
    'defaultRequest',
    '2',
    'default request value 2 is greater than max value 1',
  ],
  [
    { default: { cpu: '1' }, defaultRequest: { cpu: '1500m' } },
    'defaultRequest',
    '1500m',
    'default request value 1500m is greater than default limit value 1',
  ],
  [
    { min: { cpu: '2' }, default: { cpu: '1' } },
    'default',
    '2',
    'min value 2 is greater than default value 1',
  ],
  [
    { max: { cpu: '1' }, default: { cpu: '2' } },
    'default',
    '1',
    'default value 2 is greater than max value 1',
  ],
  [{ maxLimitRequestRatio: { cpu: '500m' } }, 'maxLimitRequestRatio', '500m', 'ratio 500m is less than 1'],
  [
    { min: { cpu: '500m' }, max: { cpu: '1' }, maxLimitRequestRatio: { cpu: '2500m' } },
    'maxLimitRequestRatio',
    '2500m',
    'ratio 2500m is greater than max/min = 2.000000',
  ],
])('values %o', (item, field, value, detail) => {
  expect(createErrors(limitRange, limits({ type, ...item }))).toEqual([
    error('I', path(`${field}[cpu]`), `Invalid value: "${value}": ${detail}`),
  ]);
});

test('values that fit', () => {
  const item = {
    type,
    min: { cpu: '0', memory: '1Gi' },
    max: { cpu: '4', memory: '1024Mi' },
    default: { cpu: '2', memory: '1Gi' },
    defaultRequest: { cpu: '1', memory: '1Gi' },
    maxLimitRequestRatio: { cpu: '100', memory: '1' },
  };
  expect(createErrors(limitRange, limits(item))).toEqual([]);
});

test('what cannot be overcommitted has one default', () => {
  const item = { type, default: { 'a.b/gpu': '2' }, defaultRequest: { 'a.b/gpu': '1' } };
  expect(createErrors(limitRange, limits(item))).toEqual([
    error(
      'I',
      path('defaultRequest[a.b/gpu]'),
      'Invalid value: "1": default value 2 must equal to defaultRequest value 1 in a.b/gpu',
    ),
  ]);
});

test('the default columns are used', () => {
  expect(limitRange.columns).toBeUndefined();
});
