/** Proves that a sub path never leads out of its volume, whatever a container puts there, also during creation. */
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import {
  chmod,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTick } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { resolveSubPath } from './sub-path.ts';

let base: string;
let volume: string;
let outside: string;

beforeEach(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'wherry-subpath-')));
  volume = join(base, 'volume');
  outside = join(base, 'outside');
  await mkdir(volume);
  await mkdir(outside);
  await writeFile(join(outside, 'secret'), 'x');
});

afterEach(async () => {
  await rm(base, { recursive: true, force: true });
});

describe('a sub path', () => {
  it('is a file or folder of the volume', async () => {
    // Proves the plain cases, and that different spellings resolve to the same place.
    await mkdir(join(volume, 'a/b'), { recursive: true });
    await writeFile(join(volume, 'a/file'), '');
    expect(await resolveSubPath(volume, 'a/b', false)).toBe(join(volume, 'a/b'));
    expect(await resolveSubPath(volume, './a//b/', false)).toBe(join(volume, 'a/b'));
    expect(await resolveSubPath(volume, 'a/file', true)).toBe(join(volume, 'a/file'));
  });

  it('is made with the mode of the volume, if it may be made', async () => {
    // Proves creation, modes independent of umask, and refusal when creation is not allowed.
    await chmod(volume, 0o1777);
    expect(await resolveSubPath(volume, 'x/y', true)).toBe(join(volume, 'x/y'));
    expect((await stat(join(volume, 'x'))).mode & 0o7777).toBe(0o1777);
    expect((await stat(join(volume, 'x/y'))).mode & 0o7777).toBe(0o1777);
    await expect(resolveSubPath(volume, 'none', false)).rejects.toThrow('ENOENT');
  });

  it('follows links inside the volume, and through a volume that is a link', async () => {
    // Proves that links inside the volume work.
    await mkdir(join(volume, 'real'));
    await symlink('real', join(volume, 'link'));
    await symlink(volume, join(base, 'alias'));
    expect(await resolveSubPath(volume, 'link', true)).toBe(join(volume, 'real'));
    expect(await resolveSubPath(join(base, 'alias'), 'link/new', true)).toBe(join(volume, 'real/new'));
  });

  it('does not leave by a link', async () => {
    // Proves refusal of links that lead up, out, to files, nowhere or in circles, and that nothing is made outside.
    await symlink(outside, join(volume, 'abs'));
    await symlink('../outside', join(volume, 'rel'));
    await symlink('..', join(volume, 'up'));
    await symlink(join(outside, 'secret'), join(volume, 'file'));
    await symlink(join(outside, 'new'), join(volume, 'dangling'));
    await symlink('loop', join(volume, 'loop'));
    for (const path of [
      'abs',
      'rel',
      'up',
      'file',
      'abs/new',
      'rel/new/x',
      'up/new',
      'dangling',
      'dangling/x',
      'loop/x',
    ])
      await expect(resolveSubPath(volume, path, true), path).rejects.toThrow();
    expect(await readdir(outside)).toEqual(['secret']);
    expect((await readdir(base)).sort()).toEqual(['outside', 'volume']);
  });

  it('never makes anything outside, whatever links there are', async () => {
    // Proves the same with generated sets of links.
    const name = fc.constantFrom('a', 'b', 'c');
    const target = fc.constantFrom('a', 'b', '..', '../outside', '../outside/new', 'a/../..', '.', 'c/x');
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(name, target), { maxLength: 4 }),
        fc.array(name, { minLength: 1, maxLength: 4 }),
        async (links, names) => {
          await rm(volume, { recursive: true, force: true });
          await mkdir(volume);
          for (const [from, to] of links) await symlink(to, join(volume, from)).catch(() => undefined);
          const place = await resolveSubPath(volume, names.join('/'), true).catch(() => undefined);
          if (place) expect(`${place}/`.startsWith(`${volume}/`)).toBe(true);
          expect(await readdir(outside)).toEqual(['secret']);
          expect((await readdir(base)).sort()).toEqual(['outside', 'volume']);
        },
      ),
      { numRuns: 150 },
    );
  });

  // Only /proc resolves names relative to an open folder; elsewhere the race can be lost, as the code says.
  const withHandles = it.skipIf(!existsSync('/proc/self/fd'));
  withHandles('is not led away by a container that swaps folders for links meanwhile', async () => {
    // Proves that creation uses the folder it has checked: whatever the race, nothing appears outside.
    let racing = true;
    const racer = (async () => {
      while (racing) {
        try {
          mkdirSync(join(volume, 'a'), { recursive: true });
          await nextTick();
          renameSync(join(volume, 'a'), join(volume, 'old'));
          symlinkSync(outside, join(volume, 'a'));
          await nextTick();
          rmSync(join(volume, 'a'), { recursive: true });
          rmSync(join(volume, 'old'), { recursive: true });
        } catch {
          // The other side changed it at the same time: next round.
          rmSync(join(volume, 'old'), { recursive: true, force: true });
          rmSync(join(volume, 'a'), { recursive: true, force: true });
        }
      }
    })();
    for (let round = 0; round < 300; round += 1)
      await resolveSubPath(volume, `a/deep/${round}`, true).catch(() => undefined);
    racing = false;
    await racer;
    expect(await readdir(outside)).toEqual(['secret']);
  });

  it('fails below a file', async () => {
    // Proves that a file in the path is an error, and is kept.
    await writeFile(join(volume, 'file'), 'x');
    await expect(resolveSubPath(volume, 'file/x', true)).rejects.toThrow('ENOTDIR');
    expect((await lstat(join(volume, 'file'))).isFile()).toBe(true);
  });
});
