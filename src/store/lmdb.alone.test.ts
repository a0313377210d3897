// Proves that the LMDB engine keeps the store contract and acknowledged writes, and refuses files it cannot use.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import { open } from 'lmdb';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { optimized } from '../switches.ts';
import { type OpenForTest, storeContract } from './contract.suite.ts';
import { KeyFilter } from './key-filter.ts';
import { openLmdbStore } from './lmdb.ts';
import { LmdbWriter } from './lmdb-writer.ts';
import { storeModel } from './model.suite.ts';
import { follow, put, read, remove } from './observer.fixture.ts';
import { type Store, StoreUnavailableError } from './store.ts';

/** The built writing thread; set by the test configuration. */
declare const lmdbThreadFile: string;

const base = mkdtempSync(join(tmpdir(), 'wherry-lmdb-'));
const children = new Set<ChildProcess>();
afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(base, { recursive: true, force: true });
});
const newFolder = (): string => mkdtempSync(join(base, 'data-'));

const openForTest: OpenForTest = async (options) => {
  const dataDir = newFolder();
  let store = await openLmdbStore({ dataDir, ...options });
  const reopen = async () => {
    await store.close();
    store = await openLmdbStore({ dataDir, ...options });
    return store;
  };
  return { store, reopen };
};

storeContract('lmdb', openForTest, { durable: true });
storeModel('lmdb', openForTest, 40);

/** Opens a store, runs a function, closes it; returns the folder. */
async function prepared(work: (store: Store) => Promise<unknown>): Promise<string> {
  const dataDir = newFolder();
  const store = await openLmdbStore({ dataDir });
  await work(store);
  await store.close();
  return dataDir;
}

const refusal = async (dataDir: string): Promise<string> => {
  const error = await openLmdbStore({ dataDir }).then(
    () => new Error('it was opened'),
    (reason: Error) => reason,
  );
  expect(error).toBeInstanceOf(StoreUnavailableError);
  return error.message;
};

describe('a process of its own', () => {
  beforeAll(async () => {
    symlinkSync(join(import.meta.dirname, '../../node_modules'), join(base, 'node_modules'));
    await build({
      entryPoints: [join(import.meta.dirname, 'lmdb.ts')],
      outfile: join(base, 'lmdb.mjs'),
      bundle: true,
      format: 'esm',
      platform: 'node',
      packages: 'external',
      define: { lmdbThreadFile: JSON.stringify(lmdbThreadFile) },
    });
  });

  /** Runs a script that finds an open `store`; hands over the lines it prints. */
  function start(dataDir: string, script: string, prefix = 'exec') {
    const path = join(newFolder(), 'child.mjs');
    const prelude = `import { openLmdbStore } from ${JSON.stringify(join(base, 'lmdb.mjs'))};
      const store = await openLmdbStore({ dataDir: ${JSON.stringify(dataDir)} });
      const print = (...words) => process.stdout.write(words.join(' ') + '\\n');`;
    writeFileSync(path, prelude + script);
    const child = spawn('/bin/sh', ['-c', `${prefix} "$0" "$1"`, process.execPath, path], {
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    children.add(child);
    const lines: string[] = [];
    const reader = createInterface(child.stdout);
    const ended = Promise.all([once(child, 'exit'), once(reader, 'close')]);
    return { child, lines, reader, ended };
  }

  it('loses no acknowledged write and unsays nothing it told a watcher when it is killed', async () => {
    const dataDir = newFolder();
    const acknowledged = new Map<string, number>();
    let told = 0;
    for (let round = 0; round < 5; round++) {
      const { child, reader, ended } = start(
        dataDir,
        `store.watch(store.revision(), (changes) => print('told', changes.at(-1).revision));
        const write = async (writer) => {
          for (let i = 0; ; i++) {
            const key = 'round${round}-' + writer + '-' + i;
            const { revision } = await store.write({ key, value: Buffer.alloc(500 + i, key), expected: 0 });
            print(key, revision);
            if (writer === 0 && i % 20 === 19) await store.compact(revision - 5);
          }
        };
        for (let writer = 0; writer < 8; writer++) write(writer);`,
      );
      let count = 0;
      const killAfter = 150 + round * 100;
      reader.on('line', (line) => {
        const [word, revision] = line.split(' ');
        if (word === 'told') told = Number(revision);
        else acknowledged.set(word!, Number(revision));
        if (++count === killAfter) child.kill('SIGKILL');
      });
      await ended;
      const store = await openLmdbStore({ dataDir });
      const newest = await store.revision();
      expect(newest).toBeGreaterThanOrEqual(Math.max(told, ...acknowledged.values()));
      const { items } = await store.range({ start: '' });
      const found = new Map(items.map((item) => [item.key, item]));
      for (const [key, revision] of acknowledged) {
        const item = found.get(key);
        expect([key, item?.revision]).toEqual([key, revision]);
        expect(item!.value.subarray(0, key.length).toString()).toBe(key);
      }
      // Every revision exists once: none is partial or missing.
      const history = follow(store, store.compacted);
      await history.until(newest);
      expect(history.revisions().length).toBe(newest - store.compacted);
      expect(found.size).toBe(newest);
      await store.close();
    }
    expect(acknowledged.size).toBeGreaterThan(500);
  });

  it('fails the writes of a commit the disk does not take, and keeps the rest', async () => {
    const dataDir = newFolder();
    // File size limited to 1 MB with SIGXFSZ ignored, so that writes fail.
    const { reader, lines, ended } = start(
      dataDir,
      `let told = 0;
      store.watch(0, (changes) => { told = changes.at(-1).revision; });
      for (let i = 0; i < 100; i++) {
        try {
          await store.write({ key: 'k' + i, value: Buffer.alloc(30_000, 'x'), expected: 0 });
        } catch (error) {
          print(error.name, store.revision(), told, (await store.range({ start: '' })).items.length);
        }
      }
      await store.close();
      print('closed');`,
      `trap '' XFSZ; ulimit -f 2048; exec`,
    );
    reader.on('line', (line) => lines.push(line));
    await ended;
    expect(lines.pop()).toBe('closed');
    expect(lines.length).toBeGreaterThan(10);
    const store = await openLmdbStore({ dataDir });
    const newest = await store.revision();
    expect(newest).toBeGreaterThan(10);
    expect(new Set(lines)).toEqual(new Set([`StoreUnavailableError ${newest} ${newest} ${newest}`]));
    expect((await store.range({ start: '' })).items.length).toBe(newest);
    expect(await put(store, 'there is room again', 'x'.repeat(30_000))).toBe(newest + 1);
    await store.close();
  });

  it('has the folder for itself until it ends', async () => {
    const dataDir = newFolder();
    const { child, reader, ended } = start(dataDir, `print('ready'); process.stdin.resume();`);
    await once(reader, 'line');
    expect(await refusal(dataDir)).toBe(`the data folder ${dataDir} is in use by process ${child.pid}`);
    child.kill('SIGKILL');
    await ended;
    const store = await openLmdbStore({ dataDir });
    await store.close();
  });
});

it.runIf(optimized)(
  'keeps nothing of keys that a full disk did not take, however often they are tried',
  async () => {
    const add = vi.spyOn(KeyFilter.prototype, 'add');
    const drop = vi.spyOn(KeyFilter.prototype, 'delete');
    const write = vi.spyOn(LmdbWriter.prototype, 'write');
    try {
      const store = await openLmdbStore({ dataDir: newFolder() });
      const full = { message: 'No space left on device', code: 'ENOSPC', refused: false };
      for (let i = 0; i < 3; i++) {
        write.mockResolvedValueOnce(full);
        await expect(put(store, 'a', 'first')).rejects.toThrow(/is full$/);
      }
      expect([add.mock.calls.length, drop.mock.calls.length]).toEqual([3, 3]);
      expect(await put(store, 'a', 'first')).toBe(1);
      expect([await read(store), (await store.get('a'))?.revision]).toEqual([['a=first@1'], 1]);
      await store.close();
    } finally {
      for (const spy of [add, drop, write]) spy.mockRestore();
    }
  },
);

it.runIf(optimized)('stops when a key that is there is denied', async () => {
  const store = await openLmdbStore({ dataDir: newFolder() });
  await put(store, 'a', 'first');
  const mayHold = vi.spyOn(KeyFilter.prototype, 'mayHold').mockReturnValue(false);
  try {
    await expect(put(store, 'a', 'second')).rejects.toMatchObject({
      cause: { message: 'a key is said not to be there, and has revision 1' },
    });
  } finally {
    mayHold.mockRestore();
    await store.close();
  }
});

describe('the data folder', () => {
  it('is created when it does not exist, whatever its name', async () => {
    const dataDir = join(newFolder(), 'deep', 'cluster.v1');
    const store = await openLmdbStore({ dataDir });
    await put(store, 'a', '');
    await store.close();
    expect(existsSync(join(dataDir, 'data.mdb'))).toBe(true);
  });

  it('is refused to a second store of the same process, by any path, until the first is closed', async () => {
    const dataDir = newFolder();
    const other = join(newFolder(), 'link');
    symlinkSync(dataDir, other);
    const store = await openLmdbStore({ dataDir });
    const inUse = `the data folder ${dataDir} is in use by process ${process.pid}`;
    expect([await refusal(dataDir), await refusal(other)]).toEqual([inUse, inUse]);
    await put(store, 'a', 'still works');
    await store.close();
    const second = await openLmdbStore({ dataDir: other });
    expect(await read(second)).toEqual(['a=still works@1']);
    await second.close();
  });

  it.skipIf(!existsSync('/proc/1/stat'))(
    'is taken over from a process whose number lives on in another',
    async () => {
      const dataDir = newFolder();
      writeFileSync(join(dataDir, 'owner'), '1 99999999999');
      const store = await openLmdbStore({ dataDir });
      await store.close();
      expect(existsSync(join(dataDir, 'owner'))).toBe(false);
    },
  );

  it('is not even looked into while another process uses it', async () => {
    const dataDir = newFolder();
    writeFileSync(join(dataDir, 'owner'), `${process.ppid} `);
    expect(await refusal(dataDir)).toBe(`the data folder ${dataDir} is in use by process ${process.ppid}`);
    expect(existsSync(join(dataDir, 'data.mdb'))).toBe(false);
  });

  it('asks LMDB, too, who the owner is', async () => {
    const dataDir = await prepared(async () => {});
    const root = open({ path: dataDir, noSubdir: false, overlappingSync: false });
    const meta = root.openDB({ name: 'meta', encoding: 'binary', keyEncoding: 'binary' });
    await meta.put(Buffer.from('owner'), Buffer.from(`${process.ppid} `));
    await root.close();
    expect(await refusal(dataDir)).toBe(`the data folder ${dataDir} is in use by process ${process.ppid}`);
  });

  it('is closed to other users, with all that is in it, also when it was open before', async () => {
    const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);
    const parent = newFolder();
    chmodSync(parent, 0o755);
    const dataDir = join(parent, 'between', 'data');
    const umask = process.umask(0o022);
    try {
      for (const state of ['made', 'opened']) {
        const store = await openLmdbStore({ dataDir });
        await put(store, state, '');
        const files = readdirSync(dataDir).sort();
        expect(files).toEqual(['data.mdb', 'lock.mdb', 'owner']);
        expect([modeOf(dataDir), ...files.map((name) => modeOf(join(dataDir, name)))], state).toEqual([
          '700',
          '600',
          '600',
          '600',
        ]);
        await store.close();
        chmodSync(dataDir, 0o755);
        for (const name of ['data.mdb', 'lock.mdb']) chmodSync(join(dataDir, name), 0o644);
      }
      // Folders above the data folder keep their mode.
      expect([modeOf(parent), modeOf(join(parent, 'between'))]).toEqual(['755', '755']);
    } finally {
      process.umask(umask);
    }
  });

  it('stays open when others have things in it; what is ours is closed', async () => {
    const dataDir = newFolder();
    chmodSync(dataDir, 0o755);
    writeFileSync(join(dataDir, 'notes.txt'), '');
    chmodSync(join(dataDir, 'notes.txt'), 0o644);
    await (await openLmdbStore({ dataDir })).close();
    const modes = ['.', 'notes.txt', 'data.mdb', 'lock.mdb'].map(
      (name) => statSync(join(dataDir, name)).mode & 0o777,
    );
    expect(modes).toEqual([0o755, 0o644, 0o600, 0o600]);
  });

  it.skipIf(!existsSync('/proc/1'))(
    'is refused where none can be made, instead of trying for ever',
    async () => {
      for (const path of ['/proc/nope', '/proc/nope/deep/down'])
        expect(await refusal(path)).toBe(`the data folder ${path} cannot be made (ENOENT)`);
    },
  );

  it('is refused when it is a file', async () => {
    const file = join(newFolder(), 'file');
    writeFileSync(file, '');
    expect(await refusal(file)).toBe(`${file} is not a folder`);
    expect(await refusal(join(file, 'below'))).toBe(`${join(file, 'below')} is not a folder`);
  });

  it.skipIf(process.getuid?.() === 0)('is refused when it cannot be written', async () => {
    const dataDir = newFolder();
    chmodSync(dataDir, 0o500);
    expect(await refusal(dataDir)).toBe(`the data folder ${dataDir} cannot be read and written (EACCES)`);
  });
});

describe('the data file', () => {
  it('is refused when another program wrote it', async () => {
    for (const name of ['other', undefined]) {
      const dataDir = newFolder();
      const root = open({ path: dataDir, noSubdir: false });
      await (name === undefined ? root : root.openDB({ name })).put('key', 'value');
      await root.close();
      expect(await refusal(dataDir)).toBe(`the data file in ${dataDir} was not written by Wherry`);
    }
  });

  it('is refused when it has another format', async () => {
    const dataDir = await prepared((store) => put(store, 'a', ''));
    const root = open({ path: dataDir, noSubdir: false, overlappingSync: false });
    const meta = root.openDB({ name: 'meta', encoding: 'binary', keyEncoding: 'binary' });
    await meta.put(Buffer.from('format'), Buffer.from([0, 0, 0, 0, 0, 4]));
    await root.close();
    expect(await refusal(dataDir)).toBe(
      `the data folder ${dataDir} has format 4, and this version of Wherry reads format 2`,
    );
  });

  const fill = async (store: Store) => {
    const writes = Array.from({ length: 500 }, (_, i) =>
      put(store, `k${i}`, 'x'.repeat(i % 10 ? 1500 : 9000)),
    );
    await Promise.all(writes);
  };

  it('is refused when it is cut short or overwritten', async () => {
    const healthy = await prepared(fill);
    const { size } = statSync(join(healthy, 'data.mdb'));
    const damage: Record<string, (file: string) => void> = {
      'cut to nothing': (file) => truncateSync(file, 0),
      'cut in its first page': (file) => truncateSync(file, 100),
      'cut after its header': (file) => truncateSync(file, 8192),
      'cut in half': (file) => truncateSync(file, size >>> 1),
      'cut near its end': (file) => truncateSync(file, size - 20 * 4096),
      'all zeros': (file) => writeFileSync(file, Buffer.alloc(size)),
      'something else': (file) => writeFileSync(file, 'not a data file\n'.repeat(5000)),
      'first header gone': (file) => overwrite(file, 0, Buffer.alloc(4096, 0xa5)),
      'second header gone': (file) => overwrite(file, 4096, Buffer.alloc(4096, 0xa5)),
      'nonsense in both headers': (file) => {
        for (const page of [0, 4096]) overwrite(file, page + 40, Buffer.alloc(120, 0xa5));
      },
    };
    for (const [what, doDamage] of Object.entries(damage)) {
      const dataDir = join(newFolder(), what);
      mkdirSync(dataDir);
      copyFileSync(join(healthy, 'data.mdb'), join(dataDir, 'data.mdb'));
      doDamage(join(dataDir, 'data.mdb'));
      const damaged = readFileSync(join(dataDir, 'data.mdb'));
      for (let attempt = 0; attempt < 2; attempt++) {
        expect(await refusal(dataDir), what).toMatch(/^the data file .* is damaged: /);
      }
      // The refused file is unchanged, for a rescue.
      expect(Buffer.compare(readFileSync(join(dataDir, 'data.mdb')), damaged), what).toBe(0);
    }
  });

  /** LMDB may end a transaction with its last pages free; they are counted, but not written. */
  const countMorePages = (bytes: Buffer): void => {
    for (const lastPage of [144, 4096 + 144]) bytes.writeUInt32LE(bytes.readUInt32LE(lastPage) + 9, lastPage);
  };

  it('is fine when nothing was ever written to its last pages', async () => {
    const dataDir = await prepared(fill);
    const file = join(dataDir, 'data.mdb');
    const bytes = readFileSync(file);
    countMorePages(bytes);
    writeFileSync(file, bytes);
    const store = await openLmdbStore({ dataDir });
    expect((await store.range({ start: '' })).items.length).toBe(500);
    await store.close();
  });

  it('is found out when a value in it has changed', async () => {
    const dataDir = await prepared(async (store) => {
      const revision = await put(store, 'a', 'a value of some length');
      await put(store, 'b', 'other');
      await put(store, 'c', 'last');
      await remove(store, 'c', revision + 2);
    });
    const file = join(dataDir, 'data.mdb');
    const bytes = readFileSync(file);
    for (let at = 0; (at = bytes.indexOf('some length', at)) >= 0; at++)
      overwrite(file, at, Buffer.from('S'));
    const store = await openLmdbStore({ dataDir });
    const damaged = `the data file in ${dataDir} is damaged: revision 1 does not match its checksum`;
    await expect(store.get('a')).rejects.toThrow(damaged);
    await expect(store.range({ start: '' })).rejects.toThrow(damaged);
    await expect(follow(store, 0).subscription.ended).rejects.toThrow(damaged);
    expect(String((await store.get('b'))!.value)).toBe('other');
    await store.close();
  });
});

function overwrite(file: string, position: number, bytes: Buffer): void {
  const content = readFileSync(file);
  bytes.copy(content, position);
  writeFileSync(file, content);
}
