/** Proves that fields are attributed to the managers that own them, in maps, lists by key and lists of values. */
import { expect, test } from 'vitest';
import { managersOf, ownersOf } from './owners.ts';

test('owners of fields', () => {
  const object = {
    metadata: { name: 'a', uid: '', resourceVersion: '', finalizers: ['x/y'], labels: { app: 'a' } },
    spec: { containers: [{ name: 'b' }, { name: 'c', image: 'i', ports: [{ containerPort: 1 }] }] },
  };
  const managers = managersOf([
    {
      manager: 'one',
      fieldsV1: {
        'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} }, 'f:finalizers': { 'v:"x/y"': {} } },
        'f:spec': { 'f:containers': { 'k:{"name":"c"}': { '.': {}, 'f:ports': {} } } },
      },
    },
    { manager: 'two', fieldsV1: { 'f:spec': { 'f:containers': { 'k:{"name":"c"}': { 'f:image': {} } } } } },
  ]);
  const owners = (...path: (string | number)[]): readonly number[] => ownersOf(managers, object, path);
  expect(owners('metadata')).toEqual([]);
  expect(owners('metadata', 'labels')).toEqual([0]);
  expect(owners('metadata', 'labels', 'app')).toEqual([0]);
  expect(owners('metadata', 'finalizers', 0)).toEqual([0]);
  expect(owners('spec', 'containers', 0)).toEqual([]);
  expect(owners('spec', 'containers', 1)).toEqual([0]);
  expect(owners('spec', 'containers', 1, 'image')).toEqual([1]);
  expect(owners('spec', 'containers', 1, 'ports', 0, 'containerPort')).toEqual([0]);
});
