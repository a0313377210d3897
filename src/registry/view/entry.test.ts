/** Proves that checks on an entry's unparsed text never report a field as absent that is present. */
import { describe, expect, it } from 'vitest';
import { KindTable } from '../../api/kinds/kinds.ts';
import { encodeObject } from '../../api/model/encode.ts';
import type { JsonObject } from '../../api/text/object.ts';
import { Entry } from './entry.ts';

const configMaps = new KindTable().resource('v1', 'configmaps')!;

function entryOf(metadata: JsonObject, revision = 7): Entry {
  const object = {
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: { name: 'a', namespace: 'default', selfLink: '/a', uid: 'u-1', ...metadata },
  };
  const text = encodeObject(configMaps.model, object as unknown as JsonObject);
  return Entry.of(configMaps, 'default', 'a', Buffer.from(text), revision);
}

const created = { creationTimestamp: '2020-01-02T03:04:05Z' };
const marked = { deletionTimestamp: '2021-01-02T03:04:05Z' };

describe('an entry', () => {
  it.each([
    ['', {}],
    [' a time', created],
    [' a generation', { generation: 3 }],
    [' both', { ...created, generation: 9_007_199_254_740_991 }],
    [' labels that look like it', { ...created, labels: { deletionTimestamp: 'deletionTimestamp', d: 'd' } }],
  ])('with%s may be marked for deletion only when it is', (_what, metadata: JsonObject) => {
    for (const revision of [0, 7]) {
      expect(entryOf(metadata, revision).mayBeMarked).toBe(false);
      expect(entryOf({ ...metadata, ...marked }, revision).mayBeMarked).toBe(true);
      expect(entryOf({ ...metadata, ...marked, deletionGracePeriodSeconds: 5 }, revision).mayBeMarked).toBe(
        true,
      );
      expect(entryOf({ ...metadata, ...marked }, revision).restamped(1234).mayBeMarked).toBe(true);
    }
  });

  it('tells its own uid, whichever others its text holds', () => {
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u-2' }];
    const annotations = { note: '"uid":"u-3"', uid: 'u-4' };
    for (const revision of [0, 7]) {
      const entry = entryOf({ ...created, generateName: 'uid', annotations, ownerReferences }, revision);
      expect(entry.uid).toBe('u-1');
      expect(entry.restamped(1234).uid).toBe('u-1');
    }
  });

  it('may have owners when it has', () => {
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u-2' }];
    expect(entryOf({ ...created, labels: { a: 'b' } }).mayHaveOwners).toBe(false);
    const owned = entryOf({ ...created, labels: { a: 'b' }, annotations: { c: 'd' }, ownerReferences });
    expect(owned.mayHaveOwners).toBe(true);
    expect(owned.mayHaveOwners).toBe(true);
  });
});
