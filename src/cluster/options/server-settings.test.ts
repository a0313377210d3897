/** Proves that files of the API server's settings are read, and take the place of what the cluster has itself. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readServerSettings } from './server-settings.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'wherry-settings-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const file = (name: string): string => {
  writeFileSync(path.join(folder, name), name);
  return path.join(folder, name);
};
const usual = async () => ({ ca: 'own', client: { cert: 'own', key: 'own' } });

describe('settings', () => {
  it('replace the parts of how nodes are trusted that they name', async () => {
    const none = await readServerSettings({});
    expect([await none.nodeTrust(usual)(), none.proxyClient]).toEqual([await usual(), undefined]);
    const some = await readServerSettings({ kubelet: { caFile: file('ca') } });
    expect(await some.nodeTrust(usual)()).toEqual({ ...(await usual()), ca: 'ca' });
    const all = await readServerSettings({
      kubelet: { caFile: file('ca'), client: { certFile: file('cert'), keyFile: file('key') } },
      proxyClient: { certFile: file('proxy'), keyFile: file('key') },
    });
    const unused = () => Promise.reject(new Error('not asked'));
    expect(await all.nodeTrust(unused)()).toEqual({ ca: 'ca', client: { cert: 'cert', key: 'key' } });
    expect(all.proxyClient).toEqual({ cert: 'proxy', key: 'key' });
  });

  it('are refused when a file is missing or a value makes no sense', async () => {
    const missing = path.join(folder, 'missing');
    await expect(readServerSettings({ kubelet: { caFile: missing } })).rejects.toThrow(missing);
    await expect(readServerSettings({ goawayChance: 1 })).rejects.toThrow('--goaway-chance');
  });
});
