/** Proves that logs that many read at once are made into lines one block in a turn of the event loop. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
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
