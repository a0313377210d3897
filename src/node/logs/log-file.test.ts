/** Proves that much output at once is made into lines a part at a time, and that none of it is lost or mixed. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { turnsDuring } from '../../../test/support/turns.ts';
import { LogWriter } from './log-file.ts';

const many = Array.from({ length: 60_000 }, (_, i) => `line ${i}`);

/** A log in a folder of its own, and what its lines say. */
async function openedLog() {
  const folder = await mkdtemp(join(tmpdir(), 'wherry-log-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const onError = (error: Error): void => expect.fail(error.message);
  const writer = new LogWriter(folder, 0, { now: () => 0, onError });
  await writer.open();
  const read = async (): Promise<string[]> =>
    (await readFile(join(folder, '0.log'), 'utf8'))
      .trimEnd()
      .split('\n')
      .map((line) => line.slice(line.indexOf(' F ') + 3));
  return { writer, read };
}

it('shares turns of the event loop with others, and copies what waits', async () => {
  const { writer, read } = await openedLog();
  const chunk = Buffer.from(`${many.join('\n')}\n`);
  const { turns } = await turnsDuring(async () => {
    // As a pipe is read: what the writer takes at once is followed by more.
    const piece = Buffer.alloc(64 * 1024);
    for (let at = 0; at < chunk.length; at += piece.length) {
      const length = chunk.copy(piece, 0, at);
      const written = writer.write('stdout', piece.subarray(0, length));
      // Its reader reads into the same memory again.
      piece.fill('x');
      await written;
    }
  });
  expect(turns).toBeGreaterThan(7);
  await writer.end();
  expect(await read()).toEqual(many);
});

it('ends after what waits for its turn', async () => {
  const { writer, read } = await openedLog();
  void writer.write('stdout', Buffer.from(`${many.join('\n')}\n`));
  await writer.end();
  expect(await read()).toEqual(many);
});
