/** Proves what is encrypted in the store and what is not, how keys rotate, and what is said of values without their key. */
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { KindTable } from '../../api/kinds/kinds.ts';
import { openMemoryStore } from '../../store/memory.ts';
import type { Store } from '../../store/store.ts';
import { storeKey } from '../view/key.ts';
import { EncryptedStore } from './encrypted-store.ts';
import { readEncryptionConfiguration } from './encryption-configuration.ts';

const kinds = new KindTable();
const key = (name: string, secret = randomBytes(32)) => ({ name, secret: secret.toString('base64') });
const one = key('one');
const two = key('two');
const secret = storeKey('core/secrets', 'ns', 's');
const plain = Buffer.from('{"hush":"hush"}');

const configuration = (...resources: readonly object[]): string =>
  JSON.stringify({ apiVersion: 'apiserver.config.k8s.io/v1', kind: 'EncryptionConfiguration', resources });

let store: Store;
beforeEach(() => {
  store = openMemoryStore();
});
afterEach(() => store.close());

const encrypted = async (
  providers: readonly object[],
  resources: readonly string[] = ['secrets'],
): Promise<EncryptedStore> =>
  new EncryptedStore(
    store,
    await readEncryptionConfiguration(configuration({ resources, providers })),
    kinds,
  );

const write = (to: Store, at = secret, expected = 0) => to.write({ key: at, value: plain, expected });
const raw = async (at = secret): Promise<string> => (await store.get(at))!.value.toString('latin1');

describe.each(['aesgcm', 'aescbc', 'secretbox'])('%s', (cipher) => {
  const provider = { [cipher]: { keys: [one] } };

  it('hides values of its resources alone, and shows them to readers', async () => {
    const sealing = await encrypted([provider]);
    const configMap = storeKey('core/configmaps', 'ns', 'c');
    await write(sealing);
    await write(sealing, configMap);
    expect(await raw()).toMatch(new RegExp(`^k8s:enc:${cipher}:v1:one:`));
    expect(await raw()).not.toContain('hush');
    expect(await raw(configMap)).toBe(plain.toString());
    expect((await sealing.get(secret))!.value).toEqual(plain);
    expect((await sealing.range({ start: '' })).items.map(({ value }) => value)).toEqual([plain, plain]);
    const changes = await new Promise((resolve) => sealing.watch(0, resolve));
    expect(changes).toMatchObject([{ value: plain }, { value: plain }]);
  });

  it('never writes the same bytes twice', async () => {
    const sealing = await encrypted([provider]);
    await write(sealing);
    const before = await raw();
    await write(sealing, secret, 1);
    expect(await raw()).not.toBe(before);
  });

  // A wrong key of aescbc is noticed by the padding alone, which is right by chance in one of 256 tries.
  it.skipIf(cipher === 'aescbc')('tells of another key under the same name', async () => {
    await write(await encrypted([provider]));
    const other = await encrypted([{ [cipher]: { keys: [key('one')] } }]);
    await expect(other.get(secret)).rejects.toThrow(
      `secrets "s" in the namespace "ns" cannot be decrypted with the key "one" (${cipher})`,
    );
  });
});

describe('keys', () => {
  it('rotate: the first writes, all read, and old values are known as such', async () => {
    await write(await encrypted([{ aesgcm: { keys: [one] } }]));
    const rotated = await encrypted([{ aesgcm: { keys: [two, one] } }]);
    expect((await rotated.get(secret))!.value).toEqual(plain);
    expect(rotated.isStale(secret)).toBe(true);
    await write(rotated, secret, 1);
    expect(rotated.isStale(secret)).toBe(false);
    expect(await raw()).toContain(':two:');
    const [later] = [await encrypted([{ aesgcm: { keys: [two] } }])];
    expect((await later.get(secret))!.value).toEqual(plain);
    expect(later.isStale(secret)).toBe(false);
  });

  it('may be of another cipher, or none', async () => {
    await write(store);
    const sealing = await encrypted([{ secretbox: { keys: [one] } }, { identity: {} }]);
    expect((await sealing.get(secret))!.value).toEqual(plain);
    expect(sealing.isStale(secret)).toBe(true);
    await write(sealing, secret, 1);
    const opening = await encrypted([{ identity: {} }, { secretbox: { keys: [one] } }]);
    expect((await opening.get(secret))!.value).toEqual(plain);
    await write(opening, secret, 2);
    expect(await raw()).toBe(plain.toString());
  });

  it('that are missing are named', async () => {
    await write(await encrypted([{ aesgcm: { keys: [one] } }]));
    await expect((await encrypted([{ aesgcm: { keys: [two] } }])).get(secret)).rejects.toThrow(
      'the store holds secrets that are encrypted with the key "one" (aesgcm), which the encryption configuration does not have for them',
    );
    await expect((await encrypted([{ identity: {} }], ['configmaps'])).get(secret)).rejects.toThrow(
      'the option --encryption-provider-config must name a file with that key',
    );
  });

  it('without identity refuse values that are not encrypted', async () => {
    await write(store);
    await expect((await encrypted([{ aesgcm: { keys: [one] } }])).get(secret)).rejects.toThrow(
      'has no identity provider',
    );
  });

  it('of aesgcm open a value only where it was written', async () => {
    const sealing = await encrypted([{ aesgcm: { keys: [one] } }]);
    await write(sealing);
    const other = storeKey('core/secrets', 'mine', 's');
    await store.write({ key: other, value: (await store.get(secret))!.value, expected: 0 });
    await expect(sealing.get(other)).rejects.toThrow('cannot be decrypted');
  });
});

describe('resources', () => {
  const ingress = storeKey('extensions/ingresses', 'ns', 'i');
  const deployment = storeKey('apps/deployments', 'ns', 'd');
  it.each([
    ['secrets', secret, true],
    ['secrets', deployment, false],
    ['deployments.apps', deployment, true],
    ['deployments', deployment, false],
    ['*.apps', deployment, true],
    ['*.', secret, true],
    ['*.', deployment, false],
    ['*.*', deployment, true],
    // Stored in one group, and served in another.
    ['ingresses.networking.k8s.io', ingress, true],
    ['ingresses.extensions', ingress, true],
  ])('%s means %j: %s', async (pattern, at, isMeant) => {
    await write(await encrypted([{ aesgcm: { keys: [one] } }], [pattern]), at);
    expect((await raw(at)).startsWith('k8s:enc:')).toBe(isMeant);
  });
});

describe('a configuration is refused', () => {
  const good = { resources: ['secrets'], providers: [{ identity: {} }] };
  it.each([
    [[], 'resources must have at least one entry'],
    [[{ ...good, resources: [] }], 'resources[0].resources must name at least one resource'],
    [[{ ...good, resources: ['*'] }], 'resources[0].resources[0] must be a resource such as'],
    [[{ ...good, resources: ['Secrets'] }], 'must be a resource such as'],
    [[good, good], 'resources[1].resources[0] names secrets, which is there before'],
    [[{ ...good, providers: [] }], 'resources[0].providers must name at least one provider'],
    [[{ ...good, providers: [{}] }], 'resources[0].providers[0] must be one of'],
    [
      [{ ...good, providers: [{ kms: { name: 'a' } }] }],
      'resources[0].providers[0].kms is not part of this server',
    ],
    [[{ ...good, providers: [{ aesgcm: {} }] }], 'aesgcm.keys must have at least one key'],
    [
      [{ ...good, providers: [{ aesgcm: { keys: [key('a', randomBytes(31))] } }] }],
      'secret must be 16, 24 or 32 bytes',
    ],
    [
      [{ ...good, providers: [{ secretbox: { keys: [key('a', randomBytes(16))] } }] }],
      'secret must be 32 bytes in base64',
    ],
    [[{ ...good, providers: [{ aesgcm: { keys: [key('a:b')] } }] }], 'name must be a name of at most'],
    [[{ ...good, providers: [{ aesgcm: { keys: [one, one] } }] }], 'has two keys of the same name'],
  ])('%#', (resources, problem) =>
    expect(readEncryptionConfiguration(configuration(...resources))).rejects.toThrow(problem),
  );

  it('without its secrets in the message', async () => {
    const wrong = { ...good, providers: [{ aesgcm: { keys: [{ name: 'a', secret: 'c2hvcnQ=' }] } }] };
    await expect(readEncryptionConfiguration(configuration(wrong))).rejects.toThrow(
      expect.not.objectContaining({ message: expect.stringContaining('c2hvcnQ=') }),
    );
  });
});
