/** Proves the defaults and rules of claims, what may change in them, and the cells of their table. */
import { expect, test } from 'vitest';
import type { PersistentVolumeClaim } from '../../generated/types.ts';
import { claimSpecErrors } from '../../rules/storage/claim-spec.ts';
import {
  cells,
  created,
  createdAge,
  createErrors,
  error,
  nowText,
  statusErrors,
  texts,
  updated,
  updateErrors,
  written,
} from '../kind.fixture.ts';
import { persistentVolumeClaim as claim } from './persistent-volume-claim.ts';

const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
const supportedModes =
  'supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"';

test('defaults', () => {
  const made = written(claim, { spec, status: { phase: 'Bound', capacity: { storage: '1Gi' } } });
  expect(made).toMatchObject({ spec: { ...spec, volumeMode: 'Filesystem' } });
  expect(made.status).toEqual({ phase: 'Pending' });
});

test('an empty spec', () => {
  expect(createErrors(claim, { spec: {} })).toEqual([
    error('R', 'spec.accessModes', 'Required value: at least 1 access mode is required'),
    error('R', 'spec.resources[storage]', 'Required value'),
  ]);
});

test.each<[name: string, change: object, errors: ReturnType<typeof error>[]]>([
  ['fine', {}, []],
  [
    'other mode',
    { accessModes: ['Z'] },
    [error('N', 'spec.accessModes', `Unsupported value: "Z": ${supportedModes}`)],
  ],
  [
    'mixed modes',
    { accessModes: ['ReadWriteOncePod', 'ReadWriteMany'] },
    [error('F', 'spec.accessModes', 'Forbidden: may not use ReadWriteOncePod with other access modes')],
  ],
  [
    'zero',
    { resources: { requests: { storage: '0' } } },
    [error('I', 'spec.resources[storage]', 'Invalid value: "0": must be greater than zero')],
  ],
  [
    'negative',
    { resources: { requests: { storage: '-1' } } },
    [error('I', 'spec.resources[storage]', 'Invalid value: "-1": must be greater than zero')],
  ],
  [
    'selector',
    { selector: { matchExpressions: [{ key: 'a', operator: 'In' }] } },
    [
      error(
        'R',
        'spec.selector.matchExpressions[0].values',
        "Required value: must be specified when `operator` is 'In' or 'NotIn'",
      ),
    ],
  ],
  [
    'class',
    { storageClassName: 'A' },
    [error('I', 'spec.storageClassName', `Invalid value: "A": ${texts.subdomain}`)],
  ],
  ['no class', { storageClassName: '' }, []],
  [
    'volume mode',
    { volumeMode: 'Foo' },
    [error('N', 'spec.volumeMode', 'Unsupported value: "Foo": supported values: "Block", "Filesystem"')],
  ],
])('spec: %s', (_, change, errors) => {
  expect(createErrors(claim, { spec: { ...spec, ...change } })).toEqual(errors);
});

const claimSource = { kind: 'PersistentVolumeClaim', name: 'x' };
const snapshot = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'x' };
const populated = { apiGroup: 'boats.example', kind: 'Hull', name: 'x' };

test.each([
  ['a claim by the old field', { dataSource: claimSource }, claimSource, claimSource],
  ['a snapshot by the new field', { dataSourceRef: snapshot }, snapshot, snapshot],
  ['another kind by the new field', { dataSourceRef: populated }, populated, populated],
  ['another kind by the old field', { dataSource: populated }, undefined, undefined],
  ['one of another namespace', { dataSourceRef: { ...snapshot, namespace: 'b' } }, undefined, undefined],
  [
    'one of another namespace beside the old field',
    { dataSource: claimSource, dataSourceRef: { ...claimSource, namespace: 'b' } },
    claimSource,
    claimSource,
  ],
])('both fields say the same of %s', (_, sources, dataSource, dataSourceRef) => {
  const made = created(claim, { spec: { ...spec, ...sources } }) as PersistentVolumeClaim;
  expect(made.spec?.dataSource).toEqual(dataSource);
  expect(made.spec?.dataSourceRef).toEqual(dataSourceRef);
});

test('a claim keeps its source when a client leaves one of its fields out', () => {
  const old = { spec: { ...spec, dataSource: populated, dataSourceRef: populated } };
  for (const sources of [{ dataSource: populated }, { dataSourceRef: populated }]) {
    expect(updateErrors(claim, { spec: { ...spec, ...sources } }, old)).toEqual([]);
    // Claims that were stored before have one field alone.
    const before = { spec: { ...spec, ...sources } };
    expect(updateErrors(claim, before, before)).toEqual([]);
  }
  expect(updateErrors(claim, { spec }, old)).toEqual(frozen('dataSource', 'dataSourceRef'));
});

test('sources that are not the same are refused', () => {
  const differing = { spec: { ...spec, dataSource: snapshot, dataSourceRef: populated } };
  expect(createErrors(claim, differing)).toEqual([
    error('I', 'spec', 'Invalid value: {}: must match dataSourceRef'),
  ]);
});

test.each(['dataSource', 'dataSourceRef'])('%s of a template', (field) => {
  const path = `spec.${field}`;
  const check = (value: object) => [...claimSpecErrors({ ...spec, [field]: value }, 'spec')];
  const text = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
  expect(check({ kind: 'PersistentVolumeClaim', name: 'x' })).toEqual([]);
  expect(check({ apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 'x' })).toEqual([]);
  expect(check({ kind: 'Pod', name: 'x' })).toEqual([error('I', path, `Invalid value: "Pod": ${text}`)]);
  expect(check({ apiGroup: 'a.b' })).toEqual([
    error('R', `${path}.name`, 'Required value'),
    error('R', `${path}.kind`, 'Required value'),
  ]);
  expect(check({ apiGroup: 'A', kind: 'X', name: 'x' })).toEqual([
    error('I', `${path}.apiGroup`, `Invalid value: "A": ${texts.subdomain}`),
  ]);
});

const frozen = (...fields: string[]) => [
  error(
    'F',
    'spec',
    `Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\nchanged: ${fields.join(', ')}`,
  ),
];
const shrunk = error(
  'F',
  'spec.resources.requests.storage',
  'Forbidden: field can not be less than status.capacity',
);
const storage = (amount: string) => ({ resources: { requests: { storage: amount } } });
const bound = { phase: 'Bound', capacity: { storage: '1Gi' } };

test.each<
  [name: string, change: object, old: object, status: object | undefined, errors: ReturnType<typeof error>[]]
>([
  ['nothing', {}, {}, undefined, []],
  ['volumeName set', { volumeName: 'v' }, {}, undefined, []],
  ['volumeName kept', { volumeName: 'v' }, { volumeName: 'v' }, bound, []],
  ['volumeName changed', { volumeName: 'w' }, { volumeName: 'v' }, undefined, frozen('volumeName')],
  ['volumeName dropped', {}, { volumeName: 'v' }, bound, frozen('volumeName')],
  ['class set', { storageClassName: 'c' }, {}, undefined, []],
  [
    'class changed',
    { storageClassName: 'd' },
    { storageClassName: 'c' },
    undefined,
    frozen('storageClassName'),
  ],
  ['class dropped', {}, { storageClassName: 'c' }, undefined, frozen('storageClassName')],
  ['empty class dropped', {}, { storageClassName: '' }, undefined, frozen('storageClassName')],
  ['modes', { accessModes: ['ReadWriteMany'] }, {}, bound, frozen('accessModes')],
  ['selector', { selector: {} }, {}, bound, frozen('selector')],
  ['volumeMode', { volumeMode: 'Block' }, {}, undefined, frozen('volumeMode')],
  ['storage of a pending claim', storage('2Gi'), {}, undefined, frozen('resources')],
  ['storage written otherwise', storage('1073741824'), {}, undefined, []],
  ['storage of a bound claim', storage('2Gi'), {}, bound, []],
  ['storage back after a failed resize', storage('2Gi'), storage('3Gi'), bound, []],
  ['storage back to the capacity', storage('1Gi'), storage('3Gi'), bound, [shrunk]],
  ['storage below the capacity', storage('512Mi'), {}, bound, [shrunk]],
  [
    'limits of a bound claim',
    { resources: { ...spec.resources, limits: { storage: '1Gi' } } },
    {},
    bound,
    frozen('resources'),
  ],
  ['attributes of a bound claim', { volumeAttributesClassName: 'fast' }, {}, bound, []],
  [
    'attributes of a pending claim',
    { volumeAttributesClassName: 'fast' },
    {},
    undefined,
    frozen('volumeAttributesClassName'),
  ],
])('update: %s', (_, change, oldChange, status, errors) => {
  const old = written(claim, { spec: { ...spec, ...oldChange } });
  if (status) old.status = status;
  const object = updated(claim, { spec: { ...spec, ...change } }, old);
  expect([...claim.validate!(object), ...claim.validateUpdate!(object, old)]).toEqual(errors);
});

test('capacity in the status', () => {
  expect(statusErrors(claim, { status: { capacity: { storage: '1Gi', 'a.b/c': '0' } } }, { spec })).toEqual(
    [],
  );
  expect(statusErrors(claim, { status: { capacity: { storage: '-1500m' } } }, { spec })).toEqual([
    error('I', 'status.capacity[storage]', 'Invalid value: -2: must be a valid resource quantity'),
  ]);
});

test('cells', () => {
  const status = { phase: 'Bound', capacity: { storage: '2Gi' }, accessModes: ['ReadWriteOncePod'] };
  const body = { spec: { ...spec, volumeName: 'v', storageClassName: 'c' }, status };
  expect(cells(claim, body)).toEqual({
    Name: 'a',
    Status: 'Bound',
    Volume: 'v',
    Capacity: '2Gi',
    'Access Modes': 'RWOP',
    StorageClass: 'c',
    VolumeAttributesClass: '<unset>',
    Age: createdAge,
    '*VolumeMode': 'Filesystem',
  });
  expect(cells(claim, { metadata: { deletionTimestamp: nowText }, spec, status })).toMatchObject({
    Status: 'Terminating',
    Volume: '',
    Capacity: '',
    'Access Modes': '',
    StorageClass: '',
  });
  expect(cells(claim, { spec })).toMatchObject({ Status: 'Pending' });
});
