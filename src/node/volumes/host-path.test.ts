/** Proves the types of host paths: what exists is checked, what is missing is created where the type says so. */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { prepareHostPath } from './host-path.ts';

let base: string;
const server = createServer();

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), 'wherry-hostpath-'));
  await mkdir(join(base, 'folder'));
  await writeFile(join(base, 'file'), 'kept');
  await symlink('folder', join(base, 'link'));
  await new Promise<void>((resolve, reject) => {
    server.on('error', reject).listen(join(base, 'socket'), resolve);
  });
});

afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
  await rm(base, { recursive: true, force: true });
});

describe('a host path', () => {
  it.each([
    ['folder', 'Directory'],
    ['link', 'Directory'],
    ['folder', 'DirectoryOrCreate'],
    ['file', 'File'],
    ['file', 'FileOrCreate'],
    ['socket', 'Socket'],
    ['folder', ''],
    ['file', ''],
    ['socket', undefined],
  ])('%s as %j', async (name, type) => {
    // Proves that a path of the right type is used as it is.
    expect(await prepareHostPath({ path: join(base, name), type })).toBe(join(base, name));
  });

  it.each([
    ['file', 'Directory', 'directory'],
    ['none', 'Directory', 'directory'],
    ['file', 'DirectoryOrCreate', 'directory'],
    ['folder', 'File', 'file'],
    ['none', 'File', 'file'],
    ['folder', 'FileOrCreate', 'file'],
    ['file', 'Socket', 'socket file'],
    ['folder', 'CharDevice', 'character device'],
    ['none', 'BlockDevice', 'block device'],
  ])('%s is not taken as %s', async (name, type, words) => {
    // Proves the check of every type, with Kubernetes' messages.
    const path = join(base, name);
    await expect(prepareHostPath({ path, type })).rejects.toThrow(
      `hostPath type check failed: ${path} is not a ${words}`,
    );
    expect(existsSync(join(base, 'none'))).toBe(false);
  });

  it('/dev/null is a character device', async () => {
    // Proves the type with a device that exists on every machine.
    expect(await prepareHostPath({ path: '/dev/null', type: 'CharDevice' })).toBe('/dev/null');
  });

  it('is made', async () => {
    // Proves that folders are created with their parents, and a file only in an existing folder.
    await prepareHostPath({ path: join(base, 'new/a'), type: 'DirectoryOrCreate' });
    await prepareHostPath({ path: join(base, 'new/b/c') });
    await prepareHostPath({ path: join(base, 'new/file'), type: 'FileOrCreate' });
    expect((await stat(join(base, 'new/a'))).isDirectory()).toBe(true);
    expect((await stat(join(base, 'new/b/c'))).isDirectory()).toBe(true);
    expect((await stat(join(base, 'new/file'))).isFile()).toBe(true);
    await expect(prepareHostPath({ path: join(base, 'no/file'), type: 'FileOrCreate' })).rejects.toThrow(
      'ENOENT',
    );
  });

  it.each([['relative'], [''], ['/a/../etc']])('%j is refused', async (path) => {
    // Proves that only absolute paths without `..` are accepted.
    await expect(prepareHostPath({ path })).rejects.toThrow(/must (be an absolute path|not contain '\.\.')/);
  });

  it.runIf(existsSync('/proc/1'))(
    'that the kernel does not let be made is refused, not tried for ever',
    async () => {
      // Proves that no thread of Node's pool, which is small, is blocked for ever.
      for (const path of ['/proc/nope', '/proc/nope/deep/down/'])
        await expect(prepareHostPath({ path, type: 'DirectoryOrCreate' })).rejects.toThrow('ENOENT');
      const deep = join(base, 'new', 'deep');
      await prepareHostPath({ path: `${deep}/`, type: '' });
      expect((await stat(deep)).isDirectory()).toBe(true);
    },
  );
});
