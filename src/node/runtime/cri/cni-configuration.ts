/**
 * The configuration file by which an engine's network plugins (CNI) connect sandboxes. If the engine has none, the
 * agent writes one; files of others are never changed.
 */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Spawner } from '../../process/spawner.ts';
import type { CriApi } from './cri-api.ts';

const folderDefault = '/etc/cni/net.d';
const networkName = 'wherry';
const fileName = '90-wherry.conflist';
/** The folder in which the address plugin records the addresses it has given out. */
const addressFolder = `/var/lib/cni/networks/${networkName}`;
/** The range for temporary addresses, which the agent replaces at once; they lead nowhere. */
const subnet = '169.254.192.0/18';

/** The name of the bridge: one for each configuration folder, so that engines share nothing. */
export const bridgeOf = (folder: string): string =>
  `wherry-${createHash('sha256').update(folder).digest('hex').slice(0, 8)}`;

const configuration = (folder: string) => ({
  cniVersion: '0.4.0',
  name: networkName,
  plugins: [{ type: 'bridge', bridge: bridgeOf(folder), ipam: { type: 'host-local', subnet } }],
});

/** The folder in which an engine looks for such files. */
export async function configurationFolder(api: CriApi): Promise<string> {
  const { info } = await api.call('Status', { verbose: true });
  try {
    const { cni } = JSON.parse(info?.['config'] ?? '{}') as { cni?: { confDir?: string } };
    return cni?.confDir || folderDefault;
  } catch {
    return folderDefault;
  }
}

/** Whose network an engine uses: the first file in the folder decides. */
export async function networkOwner(folder: string): Promise<'ours' | 'others' | undefined> {
  const names = await readdir(folder).catch(() => []);
  const [first] = names.filter((name) => /\.(conf|conflist|json)$/.test(name)).sort();
  if (first === undefined) return undefined;
  try {
    const { name } = JSON.parse(await readFile(join(folder, first), 'utf8')) as { name?: string };
    return name === networkName ? 'ours' : 'others';
  } catch {
    return 'others';
  }
}

export async function writeConfiguration(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  // Written in place, because containerd does not notice a file that is renamed into the folder.
  await writeFile(join(folder, fileName), JSON.stringify(configuration(folder), null, 2));
}

/** Removes the agent's file, its bridge and its addresses, unless a sandbox of others has been connected by it. */
export async function removeConfiguration(folder: string, spawner: Spawner): Promise<void> {
  const bridge = bridgeOf(folder);
  const connected = await readdir(`/sys/class/net/${bridge}/brif`).catch(() => []);
  if (connected.length) return;
  await rm(join(folder, fileName), { force: true });
  const ip = spawner.tool('ip');
  if (ip) await spawner.run([ip, 'link', 'del', bridge]);
  // Other engines may use the same folder: each address in use is a file named like it.
  const notes = await readdir(addressFolder).catch(() => []);
  if (!notes.some((name) => /^[\d.]+$/.test(name))) await rm(addressFolder, { recursive: true, force: true });
}
