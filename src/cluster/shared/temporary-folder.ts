/** Temporary folders of nodes and test runs. The folder of a killed process is removed by the next process that makes one. */
import { lstat, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeFolder } from '../../node/machine/folder-care.ts';
import { currentOwner, formatOwner, isAlive, parseOwner } from '../../store/owner.ts';

const ownerName = 'owner';
/** Those of this process: without /proc, its own pid could be that of an earlier process. */
const made = new Set<string>();

/** @param base parent folder; for tests */
export async function makeTemporaryFolder(
  base: string = tmpdir(),
  prefix: 'wherry-node-' | 'wherry-run-' = 'wherry-node-',
): Promise<string> {
  await removeAbandoned(base, prefix);
  const folder = await mkdtemp(join(base, prefix));
  made.add(folder);
  await writeFile(join(folder, ownerName), formatOwner(currentOwner()), { mode: 0o600 });
  return folder;
}

async function removeAbandoned(base: string, prefix: string): Promise<void> {
  // Ignore errors: a folder that cannot be removed does no harm.
  for (const name of await readdir(base).catch(() => []))
    if (name.startsWith(prefix) && !made.has(join(base, name)))
      await removeIfAbandoned(join(base, name)).catch(() => undefined);
}

async function removeIfAbandoned(folder: string): Promise<void> {
  const stats = await lstat(folder);
  // Any user can create folders there, except on Windows: only look into those of this user.
  if (!stats.isDirectory() || (process.getuid && stats.uid !== process.getuid())) return;
  const owner = parseOwner(await readFile(join(folder, ownerName), 'utf8'));
  if (owner && !isAlive(owner)) await removeFolder(folder);
}
