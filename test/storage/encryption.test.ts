/** Proves that a data folder holds secrets only encrypted, that keys rotate, and that it is not served without its key. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type Cluster, StartError, start } from '../../src/cluster/index.ts';
import { StoreUnavailableError } from '../../src/store/store.ts';
import { Client } from '../support/http.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'wherry-encryption-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const dataDir = path.join(folder, 'data');
const configFile = path.join(folder, 'encryption.yaml');
const secrets = '/api/v1/namespaces/default/secrets';
const keys = { one: randomBytes(32).toString('base64'), two: randomBytes(32).toString('base64') };

function configure(...names: readonly (keyof typeof keys | 'identity')[]): void {
  const provider = (name: keyof typeof keys | 'identity'): string =>
    name === 'identity'
      ? '  - identity: {}\n'
      : `  - aesgcm:\n      keys:\n      - name: ${name}\n        secret: ${keys[name]}\n`;
  writeFileSync(
    configFile,
    `apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  providers:\n${names.map(provider).join('')}`,
  );
}

async function running<T>(
  isEncrypted: boolean,
  use: (client: Client, cluster: Cluster) => Promise<T>,
): Promise<T> {
  const cluster = await start({
    dataDir,
    controllers: false,
    ...(isEncrypted ? { encryptionConfigFile: configFile } : {}),
  });
  try {
    return await use(new Client(() => cluster.url), cluster);
  } finally {
    await cluster.close();
  }
}

/** Everything in the data folder. */
const bytes = (): string =>
  readdirSync(dataDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(path.join(entry.parentPath, entry.name), 'latin1'))
    .join('');

const hush = Buffer.from('a word that nobody may read').toString('base64');

describe('a data folder', () => {
  it('has secrets that were there before, and encrypts them when they are written', async () => {
    // Proves that a replace without any change encrypts: that is how Kubernetes' documents tell to do it.
    await running(false, (client) => client.post(secrets, { metadata: { name: 's' }, data: { hush } }));
    expect(bytes()).toContain(hush);
    configure('one', 'identity');
    await running(true, async (client) => {
      const { body } = await client.get(`${secrets}/s`);
      expect(body.data).toEqual({ hush });
      const { body: replaced } = await client.put(`${secrets}/s`, body);
      expect(replaced.metadata.resourceVersion).not.toBe(body.metadata.resourceVersion);
      const { body: same } = await client.put(`${secrets}/s`, replaced);
      expect(same.metadata.resourceVersion).toBe(replaced.metadata.resourceVersion);
    });
    expect(bytes()).toContain('k8s:enc:aesgcm:v1:one:');
  });

  it('is not served without its key, in a sentence', async () => {
    await expect(running(false, async () => undefined)).rejects.toThrow(
      'the store holds secrets that are encrypted with the key "one" (aesgcm): the option --encryption-provider-config must name a file with that key',
    );
    configure('two', 'identity');
    const failed = running(true, async () => undefined);
    await expect(failed).rejects.toThrow(StoreUnavailableError);
    await expect(failed).rejects.toThrow('which the encryption configuration does not have for them');
  });

  it('has keys that rotate; the old one can go when all is written with the new one', async () => {
    // Proves that history, which has values of the old key, does not keep a server from starting.
    configure('two', 'one');
    await running(true, async (client) => {
      const { body } = await client.get(`${secrets}/s`);
      await client.put(`${secrets}/s`, body);
    });
    configure('two');
    await running(true, async (client) => {
      const { body } = await client.get(`${secrets}/s`);
      expect(body.data).toEqual({ hush });
    });
  });

  it('is backed up as it is stored', async () => {
    const backup = await running(true, async (_, { url }) => {
      const response = await fetch(`${url}/wherry/backup`);
      return Buffer.from(await response.arrayBuffer()).toString('latin1');
    });
    expect(backup).toContain('k8s:enc:aesgcm:v1:two:');
    expect(backup).not.toContain(hush);
  });

  it('can be decrypted for good', async () => {
    configure('identity', 'two');
    await running(true, async (client) => {
      const { body } = await client.get(`${secrets}/s`);
      await client.put(`${secrets}/s`, body);
    });
    await running(false, async (client) => {
      expect((await client.get(`${secrets}/s`)).body.data).toEqual({ hush });
    });
  });
});

describe('a file that cannot be used', () => {
  it.each([
    ['{}', 'apiVersion must be text'],
    ['a: [', 'cannot be used'],
  ])('%j', async (text, problem) => {
    writeFileSync(configFile, text);
    const failed = start({ encryptionConfigFile: configFile, controllers: false });
    await expect(failed).rejects.toThrow(problem);
    await expect(failed).rejects.toThrow(StartError);
  });

  it('because it is not there', async () => {
    await expect(start({ encryptionConfigFile: path.join(folder, 'none') })).rejects.toThrow(
      'there is no such file',
    );
  });
});
