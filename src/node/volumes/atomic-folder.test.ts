/** Proves that files of a folder change together, that nothing is written outside it, and their modes and owners. */
import { spawn } from 'node:child_process';
import {
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AtomicFolder, type ProjectedFile } from './atomic-folder.ts';

let base: string;
let path: string;
const isRoot = process.getuid?.() === 0;

beforeEach(async () => {
  base = await mkdtemp(join(tmpdir(), 'wherry-atomic-'));
  path = join(base, 'volume');
});

afterEach(async () => {
  await rm(base, { recursive: true, force: true });
});

const folder = (group?: number): AtomicFolder =>
  new AtomicFolder({ path, now: () => Date.UTC(2026, 0, 31, 12), group });

const filesOf = (texts: Record<string, string>, mode = 0o644): Map<string, ProjectedFile> =>
  new Map(Object.entries(texts).map(([name, text]) => [name, { data: Buffer.from(text), mode }]));

const read = (name: string): Promise<string> => readFile(join(path, name), 'utf8');

describe('an atomic folder', () => {
  it('looks as in Kubernetes', async () => {
    // Proves the links, the timestamped name, folders, and modes independent of umask.
    expect(await folder().write(filesOf({ a: '1', 'deep/er/b': '2' }, 0o666))).toBe(true);
    expect(await readlink(join(path, 'a'))).toBe('..data/a');
    expect(await readlink(join(path, 'deep'))).toBe('..data/deep');
    expect(await readlink(join(path, '..data'))).toMatch(/^\.\.2026_01_31_12_00_00\.\w{6}$/);
    expect([await read('a'), await read('deep/er/b')]).toEqual(['1', '2']);
    expect((await stat(join(path, 'a'))).mode & 0o7777).toBe(0o666);
    expect((await stat(join(path, 'deep/er'))).mode & 0o7777).toBe(0o755);
  });

  it('moves only when something is different, and leaves nothing old behind', async () => {
    // Proves that changed content, mode or names swap the folder, that nothing else does, and that removed files go.
    const volume = folder();
    await volume.write(filesOf({ a: '1', b: '2' }));
    const first = await readlink(join(path, '..data'));
    expect(await volume.write(filesOf({ b: '2', a: '1' }))).toBe(false);
    expect(await readlink(join(path, '..data'))).toBe(first);
    expect(await volume.write(filesOf({ a: '1', b: '2' }, 0o600))).toBe(true);
    expect(await volume.write(filesOf({ a: '3', 'c/d': '4' }))).toBe(true);
    const data = await readlink(join(path, '..data'));
    expect((await readdir(path)).sort()).toEqual(['..data', data, 'a', 'c'].sort());
    expect(await volume.write(filesOf({ c: 'now a file' }))).toBe(true);
    expect(await read('c')).toBe('now a file');
    // A name with other letters, which may be the same name to the file system.
    expect(await volume.write(filesOf({ C: 'in capitals' }))).toBe(true);
    expect(await read('C')).toBe('in capitals');
    expect(await readdir(path)).toHaveLength(3);
    expect(await volume.write(new Map())).toBe(true);
    expect(await readdir(path)).toHaveLength(2);
  });

  it.each([
    ['../x'],
    ['/etc/x'],
    ['a/../../x'],
    ['..data'],
    ['..data/x'],
    ['./..data'],
    ['..x'],
    ['.'],
    [''],
    ['a/'],
    ['a\0b'],
    ['x'.repeat(256)],
    [`${'y/'.repeat(2048)}z`],
  ])('refuses the path %j', async (name) => {
    // Proves that no path leaves the folder or touches its own links, and that this is checked before
    // anything is written.
    await expect(folder().write(filesOf({ good: '1', [name]: 'bad' }))).rejects.toThrow('invalid path');
    expect(await readdir(base)).toEqual([]);
  });

  it('refuses a file that is also a folder, too many files and too many bytes', async () => {
    // Proves the bounds on paths and sizes.
    await expect(folder().write(filesOf({ 'a/b': '1', a: '2' }))).rejects.toThrow(
      'both a file and a directory',
    );
    const data = Buffer.alloc(1024 * 1024);
    const big = new Map(Array.from({ length: 33 }, (_, index) => [`f${index}`, { data, mode: 0o644 }]));
    await expect(folder().write(big)).rejects.toThrow('more than 33554432 bytes');
    const none = { data: Buffer.alloc(0), mode: 0o644 };
    const many = new Map(Array.from({ length: 10_001 }, (_, index) => [`f${index}`, none]));
    await expect(folder().write(many)).rejects.toThrow('more than 10000 files');
  });

  it('survives what a container may have put in its place', async () => {
    // Proves that links planted anywhere in the folder are replaced, and never written through or emptied.
    const outside = join(base, 'outside');
    await mkdir(outside);
    await writeFile(join(outside, 'keep'), 'safe');
    const volume = folder();
    await volume.write(filesOf({ a: '1', b: '1', 'c/d': '1' }));
    for (const name of ['..data', '..data_tmp', 'a', 'c', 'stray']) {
      await rm(join(path, name), { recursive: true, force: true });
      await symlink(outside, join(path, name));
    }
    await rm(join(path, 'b'));
    await mkdir(join(path, 'b/full'), { recursive: true });
    await symlink(join(outside, 'keep'), join(path, 'b/full/keep'));
    await volume.write(filesOf({ a: '2', b: '2', 'c/d': '2', keep: '2' }));
    expect([await read('a'), await read('b'), await read('c/d'), await read('keep')]).toEqual([
      '2',
      '2',
      '2',
      '2',
    ]);
    expect(await readdir(outside)).toEqual(['keep']);
    expect(await readFile(join(outside, 'keep'), 'utf8')).toBe('safe');
    await rm(join(path, '..data'));
    await mkdir(join(path, '..data/x'), { recursive: true });
    await volume.write(filesOf({ a: '3' }));
    expect(await read('a')).toBe('3');
    expect(await readdir(path)).toHaveLength(3);
  });

  it('does not write through a link in its own place', async () => {
    // Proves that the folder itself must not be a link.
    await mkdir(join(base, 'outside'));
    await symlink(join(base, 'outside'), path);
    await expect(folder().write(filesOf({ a: '1' }))).rejects.toThrow('not a directory');
    expect(await readdir(join(base, 'outside'))).toEqual([]);
  });

  it.runIf(isRoot)('gives files to a group and a user', async () => {
    // Proves fsGroup: owner group, group bits on files, setgid folders; and a separate owner for one file.
    await folder(4321).write(
      new Map([
        ['plain', { data: Buffer.from('x'), mode: 0o600 }],
        ['d/token', { data: Buffer.from('x'), mode: 0o600, uid: 1234 }],
      ]),
    );
    const [plain, token, dir] = await Promise.all(
      ['plain', 'd/token', 'd'].map((name) => stat(join(path, name))),
    );
    expect([plain!.uid, plain!.gid, plain!.mode & 0o7777]).toEqual([0, 4321, 0o640]);
    expect([token!.uid, token!.gid, token!.mode & 0o7777]).toEqual([1234, 4321, 0o640]);
    expect([dir!.gid, dir!.mode & 0o7777]).toEqual([4321, 0o2755]);
  });

  it('never shows a mix to a reader', async () => {
    // Proves atomicity: another process that reads through ..data ten thousand times always sees files of one state.
    const names = ['a', 'b', 'c/d', 'e'];
    const all = (text: string) => filesOf(Object.fromEntries(names.map((name) => [name, text])));
    const volume = folder();
    await volume.write(all('0'));
    const reader = spawn(process.execPath, ['-e', readerScript, path, ...names], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    reader.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    const ended = new Promise<number | null>((resolve, reject) => {
      reader.on('error', reject).on('exit', resolve);
    });
    let done = false;
    void ended.finally(() => {
      done = true;
    });
    let state = 0;
    try {
      while (!done) await volume.write(all(String((state += 1))));
    } finally {
      reader.kill('SIGKILL');
    }
    expect(await ended).toBe(0);
    const { mixes, states, reads } = JSON.parse(output) as { mixes: number; states: number; reads: number };
    expect({ mixes, reads }).toEqual({ mixes: 0, reads: 10_000 });
    expect(states).toBeGreaterThan(5);
  });
});

/**
 * Opens the folder that `..data` points at and reads all its files; a state that is removed while it reads is
 * not counted.
 */
const readerScript = `
  const fs = require('node:fs');
  const [path, ...names] = process.argv.slice(1);
  const seen = new Set();
  let reads = 0, mixes = 0;
  while (reads < 10000) {
    try {
      const data = fs.readlinkSync(path + '/..data');
      const texts = names.map((name) => fs.readFileSync(path + '/' + data + '/' + name, 'utf8'));
      reads += 1;
      seen.add(texts[0]);
      if (new Set(texts).size !== 1 || texts[0] === '') mixes += 1;
    } catch (error) {
      if (error.code !== 'ENOENT') throw error;
    }
  }
  console.log(JSON.stringify({ reads, mixes, states: seen.size }));
`;

describe('a plain folder', () => {
  it('holds the files themselves, as in Kubernetes 1.1, and follows changes', async () => {
    const volume = new AtomicFolder({ path, now: () => 0, group: undefined, isPlain: true });
    expect(await volume.write(filesOf({ a: '1', 'deep/b': '2' }, 0o444))).toBe(true);
    expect((await readdir(path)).sort()).toEqual(['a', 'deep']);
    expect((await lstat(join(path, 'a'))).isFile()).toBe(true);
    expect((await lstat(join(path, 'deep/b'))).mode & 0o7777).toBe(0o444);
    expect(await volume.write(filesOf({ a: '1', 'deep/b': '2' }, 0o444))).toBe(false);
    expect(await volume.write(filesOf({ a: '3', deep: 'now a file' }, 0o444))).toBe(true);
    expect([await read('a'), await read('deep')]).toEqual(['3', 'now a file']);
    expect((await readdir(path)).sort()).toEqual(['a', 'deep']);
  });

  it('is never written outside by a link that a container has planted', async () => {
    const volume = new AtomicFolder({ path, now: () => 0, group: undefined, isPlain: true });
    await volume.write(filesOf({ a: '1', 'deep/b': '2' }));
    const outside = join(base, 'outside');
    await mkdir(outside);
    await writeFile(join(outside, 'b'), 'mine');
    await rm(join(path, 'deep'), { recursive: true });
    await symlink(outside, join(path, 'deep'));
    await volume.write(filesOf({ a: '1', 'deep/b': '3' }));
    expect(await read('deep/b')).toBe('3');
    expect(await readFile(join(outside, 'b'), 'utf8')).toBe('mine');
  });
});
