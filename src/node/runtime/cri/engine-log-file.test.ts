/** Proves that logs that an engine writes are read while they grow, and rotated without losing a line. */
import { appendFile, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LogQuery } from '../runtime.ts';
import { EngineLogFile } from './engine-log-file.ts';

let folder = '';
let path = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wherry-enginelog-'));
  path = join(folder, '0.log');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const plain: LogQuery = { follow: false, timestamps: false };

async function text(log: EngineLogFile, query: Partial<LogQuery> = {}, gone = new AbortController()) {
  let all = '';
  for await (const piece of log.read({ ...plain, ...query }, gone.signal)) all += piece.toString();
  return all;
}

const line = (content: string, time = '2026-11-16T00:44:00.501856026Z', tag = 'F') =>
  `${time} stdout ${tag} ${content}\n`;

describe('the log of an engine', () => {
  it('is read whatever times its lines have', async () => {
    const times = ['2026-11-16T00:44:00Z', '2026-11-16T00:44:01.5Z', '2026-11-16T00:44:02.000000001+00:00'];
    const lines = [line('a', times[0]), line('b ', times[1], 'P'), line('c', times[1]), line('', times[2])];
    await writeFile(path, lines.join(''));
    const log = new EngineLogFile(path, async () => undefined);
    expect(await text(log)).toBe('a\nb c\n\n');
    expect(await text(log, { tailLines: 1, timestamps: true })).toBe(`${times[2]} \n`);
    expect(await text(log, { sinceMs: Date.parse('2026-11-16T00:44:01Z') })).toBe('b c\n\n');
  });

  it('tells nothing to a listener that is only being added', async () => {
    await writeFile(path, line('one'));
    const log = new EngineLogFile(path, async () => undefined);
    log.refresh();
    await appendFile(path, line('two'));
    let isAdded = false;
    const early: boolean[] = [];
    const forget = log.watch(() => early.push(!isAdded));
    isAdded = true;
    expect(log.bytes).toBe(line('one').length + line('two').length);
    forget();
    expect(early).not.toContain(true);
  });

  it('is followed until the container has ended, line by line', async () => {
    await writeFile(path, line('one'));
    const log = new EngineLogFile(path, async () => undefined);
    const seen: string[] = [];
    const reading = (async () => {
      for await (const piece of log.read({ ...plain, follow: true }, new AbortController().signal))
        seen.push(piece.toString());
    })();
    await expect.poll(() => seen.join(''), { timeout: 30_000 }).toBe('one\n');
    const [first, rest] = [line('two').slice(0, 20), line('two').slice(20)];
    await appendFile(path, first);
    await appendFile(path, rest);
    await expect.poll(() => seen.join(''), { timeout: 30_000 }).toBe('one\ntwo\n');
    await appendFile(path, line('three'));
    log.end();
    await reading;
    expect(seen.join('')).toBe('one\ntwo\nthree\n');
  });

  it('is rotated, keeps five files, and is found again by the next agent', async () => {
    const log = new EngineLogFile(path, () => writeFile(path, ''), 10);
    for (let i = 0; i < 7; i++) {
      await appendFile(path, line(`line ${i}`));
      expect(await log.rotate()).toBe(true);
    }
    expect(await log.rotate()).toBe(false);
    expect((await readdir(folder)).sort()).toEqual(['0.log', '0.log.4', '0.log.5', '0.log.6', '0.log.7']);
    await appendFile(path, line('last'));
    const kept = 'line 3\nline 4\nline 5\nline 6\nlast\n';
    expect(await text(log)).toBe(kept);
    expect(await text(new EngineLogFile(path, async () => undefined))).toBe(kept);
    await log.remove();
    expect(await readdir(folder)).toEqual([]);
  });

  it('goes on in its file when the engine cannot begin a new one', async () => {
    await writeFile(path, line('one'));
    const log = new EngineLogFile(path, () => Promise.reject(new Error('not now')), 10);
    await expect(log.rotate()).rejects.toThrow('not now');
    await appendFile(path, line('two'));
    expect(await text(log)).toBe('one\ntwo\n');
  });
});
