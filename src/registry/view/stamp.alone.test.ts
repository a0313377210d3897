/** Proves that the resourceVersion is inserted behind the object's own uid, and nowhere in an object without a uid. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import { configMap } from '../../api/kinds/core/config-map.ts';
import { encodeObject } from '../../api/model/encode.ts';
import { modelOf } from '../../api/model/model.ts';
import { Entry } from './entry.ts';
import { stamped, uidEnd } from './stamp.ts';

const owner = { apiVersion: 'v1', kind: 'Pod', name: 'owner', uid: 'of-the-owner' };

const textOf = (metadata: object): Buffer =>
  Buffer.from(encodeObject(modelOf('ConfigMap'), { kind: 'ConfigMap', apiVersion: 'v1', metadata }));

const entryOf = (metadata: object, revision = 7): Entry =>
  Entry.of(configMap, 'default', 'a', textOf(metadata), revision);

afterEach(() => {
  vi.unstubAllEnvs();
  vi.resetModules();
});

describe('an entry', () => {
  it('has its version behind its uid', () => {
    const { document } = entryOf({ name: 'a', uid: 'u-1', ownerReferences: [owner] });
    expect(document.toString()).toContain('"uid":"u-1","resourceVersion":"7"');
    expect(JSON.parse(document.toString()).metadata.resourceVersion).toBe('7');
  });

  it.each([
    ['a name', { name: 'a{"uid":"', uid: 'u-1' }],
    ['a brace in a name', { name: 'a{b', uid: 'u-1' }],
    ['an annotation', { name: 'a', uid: 'u-1', annotations: { uid: 'x', '{"uid":"': '"uid":"' } }],
  ])('is not led astray by %s', (_, metadata) => {
    const object = entryOf(metadata).object();
    expect(object.metadata).toEqual({ ...metadata, resourceVersion: '7' });
  });

  it.each([
    ['nothing else', { name: 'a' }],
    ['an owner that has one', { name: 'a', ownerReferences: [owner] }],
    ['a label of that name', { name: 'a', labels: { uid: 'x' } }],
    ['an empty one', { name: 'a', uid: '' }],
  ])('is not made of an object without uid, with %s', (_, metadata) => {
    expect(() => entryOf(metadata)).toThrow('a stored object has no uid: configmaps default/a');
    expect(uidEnd(textOf(metadata))).toBeUndefined();
  });
});

it('is the same without optimisations', async () => {
  vi.stubEnv('WHERRY_PLAIN', '1');
  vi.resetModules();
  const plain = await import('./stamp.ts');
  for (const metadata of [
    { name: 'a{', uid: 'ü' },
    { name: 'a', uid: 'u', labels: { uid: 'x' } },
    { name: 'a' },
  ]) {
    const text = textOf(metadata);
    const end = uidEnd(text);
    expect(plain.uidEnd(text)).toBe(end);
    const at = end ?? 0;
    for (const [cutEnd, stamp] of [
      [at, ''],
      [at, ',"resourceVersion":"7"'],
      [at + 1, ''],
    ] as const)
      expect(plain.stamped(text, text.length, at, cutEnd, stamp)).toEqual(
        stamped(text, text.length, at, cutEnd, stamp),
      );
  }
});
