// Proves that transactions are carried out completely and in order, in this thread and in the other, or not at all.
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RootDatabase } from 'lmdb';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Version } from './engine.ts';
import { LmdbWriter, TRANSACTIONS_HERE } from './lmdb-writer.ts';
import { LoneWrites } from './lone-writes.ts';
import { decodeRecord } from './record.ts';
import { APPEND, type PUT, WriteBuffer } from './write-buffer.ts';

const threads: import('node:worker_threads').Worker[] = [];
vi.mock('node:worker_threads', async (load) => {
  const real = await load<typeof import('node:worker_threads')>();
  class Worker extends real.Worker {
    constructor(...args: ConstructorParameters<typeof real.Worker>) {
      super(...args);
      threads.push(this);
    }
  }
  return { ...real, Worker };
});

const require = createRequire(import.meta.url);
const library = require.resolve('lmdb');
const lmdb = require(library) as typeof import('lmdb');

let folder: string;
let root: RootDatabase;
let writer: LmdbWriter;
let sheet: WriteBuffer;

beforeEach(() => {
  threads.length = 0;
  folder = mkdtempSync(join(tmpdir(), 'wherry-writer-'));
  const options = {
    path: folder,
    noSubdir: false,
    maxDbs: 3,
    overlappingSync: false,
    encoding: 'binary',
  } as const;
  root = lmdb.open(options);
  writer = new LmdbWriter(library, options, root, TRANSACTIONS_HERE);
  sheet = new WriteBuffer();
});
afterEach(async () => {
  await writer.close();
  await root.close();
  rmSync(folder, { recursive: true });
});

const version = (revision: number, value = `value ${revision}`): Version => ({
  key: `key ${revision} ü`,
  revision,
  previous: 0,
  timeMs: 1_700_000_000_000,
  value: Buffer.from(value),
  endsCommit: true,
});

/** Puts one version in a transaction of its own. */
function put(revision: number, value?: string, action: typeof APPEND | typeof PUT = APPEND, writes?: number) {
  sheet.clear();
  sheet.putVersion(version(revision, value), action);
  sheet.putMeta('revision', revision);
  return writer.write(sheet, writes);
}

/** The version LMDB holds at a revision, with a valid checksum. */
function held(revision: number): Version | undefined {
  root.resetReadTxn();
  const key = Buffer.alloc(8);
  key.writeBigUInt64BE(BigInt(revision));
  const record = root.openDB({ name: 'versions', encoding: 'binary', keyEncoding: 'binary' }).getBinary(key);
  return record && decodeRecord(record, revision);
}

/** Starts the thread, and waits until it is ready. */
async function inThread(): Promise<number> {
  let revision = 0;
  for (let i = 0; i < TRANSACTIONS_HERE; i++) await put(++revision);
  expect(threads).toHaveLength(1);
  await new Promise((resolve) => threads[0]!.once('message', resolve));
  return revision;
}

describe('LmdbWriter', () => {
  it('needs no thread for the first few', async () => {
    for (let revision = 1; revision < TRANSACTIONS_HERE; revision++)
      expect(await put(revision)).toBeUndefined();
    expect(threads).toHaveLength(0);
    expect(held(TRANSACTIONS_HERE - 1)).toEqual(version(TRANSACTIONS_HERE - 1));
  });

  it('goes on in the thread, in order and with everything', async () => {
    let told = 0;
    let revision = 0;
    while (told < 50) {
      expect(await put(++revision)).toBeUndefined();
      if (revision === TRANSACTIONS_HERE) threads[0]!.on('message', () => told++);
      // The ready message of the thread needs a tick to arrive.
      if (told === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    for (let at = 1; at <= revision; at++) expect(held(at)).toEqual(version(at));
    await writer.close();
    expect(writer.isLost).toBe(false);
  });

  it('carries out a few writes itself, on a quick disk', async () => {
    let revision = await inThread();
    let told = 0;
    threads[0]!.on('message', () => told++);
    // Where the disk is slow, the thread carries out these, too.
    const wasQuick = vi.spyOn(LoneWrites.prototype, 'isFor').mockReturnValue(true);
    for (let i = 0; i < 10; i++) expect(await put(++revision, undefined, APPEND, 1)).toBeUndefined();
    wasQuick.mockRestore();
    expect(await put(++revision)).toBeUndefined();
    expect(told).toBe(1);
    for (let at = 1; at <= revision; at++) expect(held(at)).toEqual(version(at));
  });

  it('takes transactions of any size', async () => {
    let revision = await inThread();
    for (const length of [300_000, 5_000_000, 10]) {
      const value = 'x'.repeat(length);
      expect(await put(++revision, value)).toBeUndefined();
      expect(held(revision)!.value!.toString() === value).toBe(true);
    }
  });

  it.each(['here', 'in the thread'])(
    'carries out nothing of a transaction that cannot be whole, %s',
    async (where) => {
      const revision = where === 'here' ? 1 : await inThread();
      if (where === 'here') await put(revision);
      sheet.clear();
      sheet.putVersion(version(revision + 1), APPEND);
      sheet.putVersion(version(revision), APPEND);
      expect(await writer.write(sheet)).toMatchObject({ refused: true });
      expect(held(revision + 1)).toBeUndefined();
      expect(await put(revision + 1)).toBeUndefined();
      expect(held(revision + 1)).toEqual(version(revision + 1));
    },
  );

  it('tells when the thread is lost, and does not write any more', async () => {
    const revision = await inThread();
    await threads[0]!.terminate();
    for (let i = 0; i < 2; i++)
      await expect(put(revision + 1)).rejects.toThrow('the thread that writes has ended');
    expect(writer.isLost).toBe(true);
    expect(held(revision + 1)).toBeUndefined();
  });

  it('does without a thread that does not come to work', async () => {
    for (let i = 1; i < TRANSACTIONS_HERE; i++) await put(i);
    const starting = put(TRANSACTIONS_HERE);
    const ended = threads[0]!.terminate();
    expect(await starting).toBeUndefined();
    await ended;
    expect(await put(TRANSACTIONS_HERE + 1)).toBeUndefined();
    expect(held(TRANSACTIONS_HERE + 1)).toEqual(version(TRANSACTIONS_HERE + 1));
  });
});
