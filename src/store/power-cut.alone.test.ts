/**
 * Proves that a power cut at any moment loses no answered write, with a journal and without. All calls of the system that a writing process makes
 * are recorded; then the disk is made as it may be after a cut: what was synced is on it, and of what was not, any
 * pages. A store that does not sync must lose something, or the disk of this test keeps too much.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isRelease } from '../../test/support/tier.ts';
import { optimized } from '../switches.ts';
import { openLmdbStore } from './lmdb.ts';
import { follow } from './observer.fixture.ts';
import { StoreUnavailableError } from './store.ts';

/** The built writing thread; set by the test configuration. */
declare const lmdbThreadFile: string;

const cuts = isRelease ? 200 : 30;
const seed = Number(process.env['WHERRY_SEED'] ?? 20_261_118);
const pageBytes = 4096;
const calls = 'openat,close,pwrite64,pwritev,write,writev,fdatasync,fsync,lseek,ftruncate';
const hasStrace = spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0;

const base = mkdtempSync(join(tmpdir(), 'wherry-power-'));
afterAll(() => rmSync(base, { recursive: true, force: true }));

beforeAll(async () => {
  symlinkSync(join(import.meta.dirname, '../../node_modules'), join(base, 'node_modules'));
  await build({
    entryPoints: [join(import.meta.dirname, 'power-cut.fixture.ts')],
    outfile: join(base, 'writer.mjs'),
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    define: { lmdbThreadFile: JSON.stringify(lmdbThreadFile) },
  });
});

/** A generator of numbers below a bound, from a seed (mulberry32). */
function randomFrom(start: number): (bound: number) => number {
  let state = start;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

/** A call, from the line of the record where it began to the one where it was done. */
interface Call {
  readonly name: string;
  readonly text: string;
  readonly from: number;
  to: number;
  result: string;
}

function callsOf(record: string): Call[] {
  const all: Call[] = [];
  const open = new Map<string, Call>();
  for (const [line, text] of record.split('\n').entries()) {
    const [, thread, rest] = /^(\d+) +(.*)$/s.exec(text) ?? [];
    if (!thread || !rest) continue;
    const result = / = (-?\d+)[^=]*$/.exec(rest)?.[1] ?? '';
    const resumed = /^<\.\.\. \w+ resumed>/.test(rest) && open.get(thread);
    if (resumed) {
      resumed.to = line;
      resumed.result = result;
      open.delete(thread);
      continue;
    }
    const name = /^(\w+)\(/.exec(rest)?.[1];
    if (!name) continue;
    const call = { name, text: rest, from: line, to: line, result };
    all.push(call);
    if (!rest.endsWith('<unfinished ...>')) continue;
    call.to = Number.POSITIVE_INFINITY;
    open.set(thread, call);
  }
  return all;
}

const bytesIn = (text: string): Buffer =>
  Buffer.concat(
    [...text.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map(([, hex]) =>
      Buffer.from(hex!.replaceAll('\\x', ''), 'hex'),
    ),
  );

/** The files that a store writes to. */
const files = ['data.mdb', 'journal'] as const;
type File = (typeof files)[number];

interface Written {
  readonly file: File;
  readonly offset: number;
  readonly bytes: Buffer;
  readonly from: number;
  /** The line by which it is on disk. */
  readonly durable: number;
}

interface Record {
  readonly writes: readonly Written[];
  /** What was answered, by the line of the answer. */
  readonly answers: readonly { readonly line: number; readonly word: string }[];
}

const escaped = (name: string): string => Buffer.from(name).toString('hex').replace(/../g, '\\x$&');

/** The file of a store that a call is about. */
const fileOf = (call: Call): File | undefined =>
  files.find((name) => call.text.split('>', 1)[0]!.endsWith(escaped(`/${name}`)));

/** What happened to the files. */
function readRecord(text: string): Record {
  const all = callsOf(text);
  const synced = new Set<string>();
  const places = new Map<string, number>();
  const writes: (Omit<Written, 'durable'> & { readonly to: number; readonly isSynced: boolean })[] = [];
  const syncs: (Call & { readonly file: File })[] = [];
  const answers: { line: number; word: string }[] = [];
  for (const call of all) {
    const descriptor = /^\w+\((\d+)/.exec(call.text)?.[1] ?? '';
    if (call.name === 'openat') {
      if (/O_D?SYNC/.test(call.text)) synced.add(call.result);
      else synced.delete(call.result);
      places.set(call.result, 0);
      continue;
    }
    const file = fileOf(call);
    if (call.name === 'write' && descriptor === '1') {
      for (const word of bytesIn(call.text).toString().trimEnd().split('\n'))
        answers.push({ line: call.from, word });
    } else if (!file) continue;
    else if (call.name === 'lseek') places.set(descriptor, Number(call.result));
    else if (call.name === 'fdatasync' || call.name === 'fsync') syncs.push(Object.assign(call, { file }));
    else if (/write/.test(call.name)) {
      const bytes = bytesIn(call.text.slice(call.text.indexOf('>')));
      const isAt = call.name.startsWith('p');
      const offset = isAt ? Number(/, (\d+)(?:\)| <unf)[^,]*$/.exec(call.text)![1]) : places.get(descriptor)!;
      if (!isAt) places.set(descriptor, offset + bytes.length);
      writes.push({ file, offset, bytes, from: call.from, to: call.to, isSynced: synced.has(descriptor) });
    }
  }
  return {
    answers,
    writes: writes.map(({ to, isSynced, ...write }) => {
      const sync = syncs.find((one) => one.file === write.file && one.from > to);
      return { ...write, durable: isSynced ? to : (sync?.to ?? Number.POSITIVE_INFINITY) };
    }),
  };
}

/** A file after a cut at a line; pages that were not synced are there with a chance of `kept` in four. */
function disk(
  { writes }: Record,
  name: File,
  line: number,
  kept: number,
  random: (bound: number) => number,
): Buffer | undefined {
  const begun = writes.filter(({ file, from }) => file === name && from <= line);
  if (begun.length === 0) return undefined;
  const image = Buffer.alloc(Math.max(...begun.map(({ offset, bytes }) => offset + bytes.length)));
  for (const { offset, bytes, durable } of begun)
    for (let at = 0; at < bytes.length; at += pageBytes)
      if (durable <= line || random(4) < kept) bytes.copy(image, offset + at, at, at + pageBytes);
  return image;
}

function recorded(sync: 'on' | 'off'): Record {
  const dataDir = join(base, `data-${sync}`);
  const file = join(base, `${sync}.strace`);
  const options = ['-f', '-y', '-xx', '-s', '1000000', '-e', `trace=${calls}`, '-o', file];
  const { status, stderr } = spawnSync('strace', [
    ...options,
    process.execPath,
    join(base, 'writer.mjs'),
    dataDir,
    sync,
  ]);
  expect(status, String(stderr)).toBe(0);
  return readRecord(readFileSync(file, 'utf8'));
}

/** What of the answered writes a store has lost that is opened on this disk; `refused` if it does not open. */
async function lost(images: readonly (Buffer | undefined)[], answered: readonly string[]): Promise<string[]> {
  const dataDir = mkdtempSync(join(base, 'cut-'));
  mkdirSync(dataDir, { recursive: true });
  for (const [i, image] of images.entries()) if (image) writeFileSync(join(dataDir, files[i]!), image);
  try {
    const store = await openLmdbStore({ dataDir });
    try {
      const revision = await store.revision();
      const history = follow(store, 0);
      if (revision > 0) await history.until(revision);
      const found = new Set(history.words());
      return answered.filter((word) => !found.has(word));
    } finally {
      await store.close();
    }
  } catch (error) {
    if (error instanceof StoreUnavailableError) return [`refused: ${error.message}`];
    throw error;
  } finally {
    rmSync(dataDir, { recursive: true });
  }
}

async function losses(record: Record): Promise<string[]> {
  const random = randomFrom(seed);
  const first = record.answers[0]!.line;
  const span = record.answers.at(-1)!.line - first + 1;
  const all: string[] = [];
  for (let i = 0; i < cuts; i++) {
    const line = first + random(span);
    const images = files.map((name) => disk(record, name, line, i % 4, random));
    const answered = record.answers.filter((answer) => answer.line <= line).map(({ word }) => word);
    for (const word of await lost(images, answered)) all.push(`cut at line ${line}: ${word.slice(0, 100)}`);
  }
  return all;
}

it.skipIf(!hasStrace)('a power cut loses nothing that was answered', { timeout: 120_000 }, async () => {
  const record = recorded('on');
  expect(record.answers.length).toBe(224);
  const entries = record.writes.filter(({ file, offset }) => file === 'journal' && offset >= pageBytes);
  expect(entries.some(({ bytes }) => bytes.toString('latin1', 0, 4) === 'WJE1')).toBe(optimized);
  expect(await losses(record)).toEqual([]);
});

it.skipIf(!hasStrace)('and would be noticed without syncing', { timeout: 120_000 }, async () => {
  expect((await losses(recorded('off'))).length).toBeGreaterThan(cuts / 4);
});
