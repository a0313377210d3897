/** Proves that owner references, of which a tenant may write tens of thousands, are each looked at a few times. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { OwnerReference } from '../api/generated/types.ts';
import { asTester } from '../registry/request.fixture.ts';
import { targetOf } from '../registry/target.ts';
import { remove } from '../registry/verbs/delete.ts';
import { modify } from '../registry/verbs/modify.ts';
import { Entry } from '../registry/view/entry.ts';
import { Harness } from './shared/harness.fixture.ts';

const count = 1_000;
/** Each pass over the references reads each of them; the square of their number is a thousand reads for each. */
const readsMax = 50 * count;

let harness: Harness;
/** How often the uid of a reference was read. */
let reads = 0;
beforeEach(async () => {
  harness = await Harness.open();
  reads = 0;
  const parse = Entry.prototype.object;
  vi.spyOn(Entry.prototype, 'object').mockImplementation(function (this: Entry, as) {
    const object = parse.call(this, as);
    for (const reference of object.metadata.ownerReferences ?? []) {
      const { uid } = reference;
      const get = (): string | undefined => {
        reads++;
        return uid;
      };
      Object.defineProperty(reference, 'uid', { enumerable: true, get });
    }
    return object;
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await harness.close();
  expect(harness.errors).toEqual([]);
});

type Form = (at: number) => Partial<OwnerReference>;
const configMap = (name: string, form?: Form, metadata: object = {}): Promise<Entry> => {
  const ownerReferences =
    form &&
    Array.from({ length: count }, (_, at) => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name: 'o',
      uid: `u${at}`,
      ...form(at),
    }));
  return harness.seed('v1', 'configmaps', 'default', { metadata: { name, ownerReferences, ...metadata } });
};
const found = (name: string): Entry | undefined =>
  harness.all('core/configmaps').find((entry) => entry.name === name);
const referencesOf = (name: string): number => found(name)?.peek().metadata.ownerReferences?.length ?? 0;

it('half of them to owners that are gone', async () => {
  await configMap('half', (at) => (at % 2 ? { apiVersion: 'example.com/v1', kind: 'Unknown' } : {}));
  harness.start(['garbagecollector']);
  await harness.settled();
  expect(reads).toBeGreaterThan(count);
  expect(reads).toBeLessThan(readsMax);
  expect(referencesOf('half')).toBe(count / 2);
});

it('those that block their owners, when the object changes', async () => {
  const unknown = { apiVersion: 'example.com/v1', kind: 'Unknown', blockOwnerDeletion: true };
  const entry = await configMap('blocking', () => unknown);
  harness.start(['garbagecollector']);
  await harness.settled();
  await modify(harness.writing, asTester('update'), targetOf(entry), (current) => {
    const object = current.object();
    object.metadata.labels = { a: 'b' };
    return object;
  });
  await harness.settled();
  expect(reads).toBeGreaterThan(count);
  expect(reads).toBeLessThan(readsMax);
  expect(referencesOf('blocking')).toBe(count);
});

it('those of objects that block one another', async () => {
  const names = Array.from({ length: 4 }, (_, at) => `ring-${at}`);
  const owners = await Promise.all(
    names.map((name) => configMap(name, undefined, { finalizers: ['example.com/a'] })),
  );
  const uids = owners.map(({ uid }) => uid);
  harness.start(['garbagecollector']);
  for (const owner of owners)
    await modify(harness.writing, asTester('update'), targetOf(owner), (current) => {
      const object = current.object();
      object.metadata.ownerReferences = Array.from({ length: count }, (_, at) => {
        const uid = uids[at] ?? `u${at}`;
        const isHere = at < names.length;
        const { apiVersion, kind } = isHere
          ? { apiVersion: 'v1', kind: 'ConfigMap' }
          : { apiVersion: 'x/v1', kind: 'X' };
        return { apiVersion, kind, name: names[at] ?? 'o', uid, blockOwnerDeletion: true };
      });
      return object;
    });
  await harness.settled();
  reads = 0;
  for (const owner of owners)
    await remove(harness.writing, asTester('delete'), targetOf(owner), { propagationPolicy: 'Foreground' });
  await harness.settled();
  // Each has several changes, whose passes are those over its own references.
  expect(reads).toBeLessThan(names.length * readsMax);
  expect(names.map((name) => found(name)?.peek().metadata.finalizers)).toEqual(
    names.map(() => ['example.com/a']),
  );
});

it('an owner that is being deleted, with tens of thousands of finalizers, is asked once for all of them', async () => {
  const finalizers = Array.from({ length: count }, (_, at) => `example.com/f${at}`);
  const owner = await configMap('owner', undefined, { finalizers });
  harness.start(['garbagecollector']);
  await remove(harness.writing, asTester('delete'), targetOf(owner), {});
  await harness.settled();
  const looks = vi.spyOn(Array.prototype, 'includes');
  await configMap('dependent', () => ({ uid: owner.uid, name: 'owner' }));
  await harness.settled();
  const asked = looks.mock.calls.filter(([value]) => value === 'foregroundDeletion').length;
  looks.mockRestore();
  expect(asked).toBeLessThan(20);
  expect(referencesOf('dependent')).toBe(count);
});
