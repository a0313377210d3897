/** Proves that logs that many read at once are made into lines one block in a turn of the event loop. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { FileLog } from './log-reader.ts';

const readers = 24;
const line = '2026-01-01T00:00:00.000000000Z stdout F ';
const said = Array.from({ length: 1_000 }, (_, i) => (i % 10 ? `line ${i}` : 'long '.repeat(20)));

it('each of many readers gets its lines in a turn of its own', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'wherry-log-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, '0.log');
  const text = said.map((words) => `${line}${words}\n`).join('');
  await writeFile(path, text);
  const source = { segments: [{ path, bytes: text.length }], ended: true, watch: () => () => undefined };
  let turn = 0;
  const count = (): void => {
    turn++;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  onTestFinished(() => clearImmediate(counting));
  const turns: number[] = [];
  const read = async (): Promise<string> => {
    const pieces: Buffer[] = [];
    const query = { follow: false, timestamps: false };
    for await (const piece of new FileLog(source).read(query, new AbortController().signal)) {
      turns.push(turn);
      pieces.push(piece);
    }
    return Buffer.concat(pieces).toString();
  };
  const texts = await Promise.all(Array.from({ length: readers }, read));
  expect(new Set(texts)).toEqual(new Set([said.map((words) => `${words}\n`).join('')]));
  expect(turns.length).toBe(readers);
  expect(new Set(turns).size).toBe(readers);
});

it('a long log is read into no more memory than it has bytes, with its lines that are stored in pieces', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'wherry-log-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, '0.log');
  const partial = line.replace(' F ', ' P ');
  const text = `${partial}be\n${line}gin\n${said.map((words) => `${line}${words}\n`).join('')}`.repeat(20);
  await writeFile(path, text);
  const source = { segments: [{ path, bytes: text.length }], ended: true, watch: () => () => undefined };
  const query = { follow: false, timestamps: true };
  let allocated = 0;
  const allocate = Buffer.allocUnsafe;
  const spy = vi.spyOn(Buffer, 'allocUnsafe').mockImplementation((bytes) => {
    allocated += bytes;
    return allocate(bytes);
  });
  const pieces: Buffer[] = [];
  for await (const piece of new FileLog(source).read(query, new AbortController().signal)) pieces.push(piece);
  spy.mockRestore();
  const stamp = line.slice(0, line.indexOf(' ') + 1);
  const shown = `${stamp}begin\n${said.map((words) => `${stamp}${words}\n`).join('')}`.repeat(20);
  expect(Buffer.concat(pieces).toString()).toBe(shown);
  // What is read of a line that ends in the next block is read again.
  expect(allocated).toBeLessThan(1.2 * text.length);
});
