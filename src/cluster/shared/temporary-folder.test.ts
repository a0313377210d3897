/** Proves that the temporary folder of a killed process is removed at the next start, and nothing else is. */
import { spawnSync } from 'node:child_process';
import { chown, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeTemporaryFolder } from './temporary-folder.ts';

let base: string;
beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'wherry-test-'));
});
afterAll(() => rm(base, { recursive: true, force: true }));

it('folders of processes that are gone are removed, those of others stay', async () => {
  const { pid: gone } = spawnSync(process.execPath, ['-e', '0']);
  const make = async (name: string, owner?: string): Promise<string> => {
    await mkdir(join(base, name, 'pods', 'x'), { recursive: true });
    if (owner !== undefined) await writeFile(join(base, name, 'owner'), owner);
    return join(base, name);
  };
  await make('wherry-node-gone', `${gone} 1`);
  await make('wherry-node-unknown');
  await make('wherry-node-odd', 'nobody');
  await make('elsewhere', `${gone} 1`);
  await symlink(join(base, 'elsewhere'), join(base, 'wherry-node-link'));
  const foreign = await make('wherry-node-foreign', `${gone} 1`);
  const isRoot = process.getuid?.() === 0;
  if (isRoot) await chown(foreign, 4321, 4321);
  const first = await makeTemporaryFolder(base);
  const second = await makeTemporaryFolder(base);
  // In small letters, which is how a file system may keep names that it does not tell apart by them.
  expect((await readdir(base)).map((name) => name.toLowerCase()).sort()).toEqual(
    [
      'elsewhere',
      ...(isRoot ? ['wherry-node-foreign'] : []),
      'wherry-node-link',
      'wherry-node-odd',
      'wherry-node-unknown',
      basename(first).toLowerCase(),
      basename(second).toLowerCase(),
    ].sort(),
  );
});
