/** Proves that folders of volumes are made and removed inside the folder of all volumes, and nowhere else. */
import { mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { LocalVolumes } from './local-volumes.ts';

let folder: string;
let volumes: LocalVolumes;
const name = 'pvc-5b1f8c4e-0b0a-4c39-9c0f-3a8a8d5f2a11';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wherry-volumes-'));
  volumes = new LocalVolumes(join(folder, 'volumes'));
});

afterEach(() => rm(folder, { recursive: true, force: true }));

test('a volume is a folder that every user may write to, in one that only its owner may', async () => {
  const path = await volumes.make(name, '');
  expect(path).toBe(join(folder, 'volumes', name));
  expect((await stat(path)).mode & 0o777).toBe(0o777);
  expect((await stat(join(folder, 'volumes'))).mode & 0o777).toBe(0o755);
  await writeFile(join(path, 'data'), 'kept');
  expect(await volumes.make(name, '')).toBe(path);
  expect(await readdir(path)).toEqual(['data']);
});

test('a class may name a folder below that of all volumes', async () => {
  const path = await volumes.make(name, 'fast/ssd');
  expect(path).toBe(join(folder, 'volumes/fast/ssd', name));
  for (const under of ['..', '/etc', 'a/../..', 'a//b', 'a\0', '.', 'x/'])
    await expect(volumes.make(name, under)).rejects.toThrow('must be a relative path');
});

test('a removed volume is gone with what is in it, also when it is removed twice', async () => {
  const path = await volumes.make(name, 'fast');
  await writeFile(join(path, 'data'), 'gone');
  expect(await volumes.list()).toEqual([path]);
  await volumes.remove(name, path, false);
  await volumes.remove(name, path, false);
  expect(await readdir(join(folder, 'volumes/fast'))).toEqual([]);
});

test('an unused volume is removed only while it is empty', async () => {
  const path = await volumes.make(name, '');
  await writeFile(join(path, 'data'), 'kept');
  await volumes.remove(name, path, true);
  expect(await readdir(path)).toEqual(['data']);
  await rm(join(path, 'data'));
  await volumes.remove(name, path, true);
  expect(await volumes.list()).toEqual([]);
});

test('nothing outside is removed, and nothing of another name', async () => {
  const outside = join(folder, name);
  await mkdir(outside);
  const path = await volumes.make(name, '');
  const top = join(folder, 'volumes');
  for (const wrong of [
    outside,
    `${top}/../${name}`,
    '/',
    top,
    `${top}/./${name}`,
    name,
    `${top}/../../${name}`,
  ])
    await expect(volumes.remove(name, wrong, false)).rejects.toThrow(/is not in|is not removed/);
  await expect(volumes.remove('pvc-other', path, false)).rejects.toThrow('it is not called pvc-other');
  await expect(volumes.remove('..', `${top}/..`, false)).rejects.toThrow('is not the name of a volume');
  expect((await stat(outside)).isDirectory()).toBe(true);
  expect((await stat(path)).isDirectory()).toBe(true);
});

test('a symbolic link is not followed', async () => {
  const outside = join(folder, 'outside');
  await mkdir(join(outside, name), { recursive: true });
  const top = join(folder, 'volumes');
  await mkdir(top);
  await symlink(outside, join(top, 'link'));
  await symlink(join(outside, name), join(top, name));
  await expect(volumes.make(name, 'link')).rejects.toThrow('is not a folder');
  await expect(volumes.make(name, '')).rejects.toThrow('is not a folder');
  await expect(volumes.remove(name, join(top, 'link', name), false)).rejects.toThrow('is not a folder');
  await expect(volumes.remove(name, join(top, name), false)).rejects.toThrow('is not a folder');
  expect(await readdir(outside)).toEqual([name]);
});
