import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LineEncoder, type LogStream, stamp } from '../../logs/cri-log.ts';
import { finishedLog, forgetLogs, LogWriter, type LogWriterOptions } from '../../logs/log-file.ts';
import { FileLog } from '../../logs/log-reader.ts';
import type { LogQuery } from '../runtime.ts';
import { logText } from './process-pod.fixture.ts';

let folder: string;
let nowMs: number;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wherry-log-'));
  nowMs = Date.UTC(2024, 0, 2, 3, 4, 5);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function writer(options: Partial<LogWriterOptions> = {}): Promise<LogWriter> {
  const log = new LogWriter(folder, 0, {
    now: () => nowMs,
    onError: (error) => {
      throw error;
    },
    ...options,
  });
  await log.open();
  return log;
}

const say = (log: LogWriter, text: string, stream: LogStream = 'stdout'): Promise<void> | undefined =>
  log.write(stream, Buffer.from(text));

async function written(...texts: string[]): Promise<LogWriter> {
  const log = await writer();
  for (const text of texts) {
    await say(log, text);
    nowMs += 1000;
  }
  await log.end();
  return log;
}

const read = (log: LogWriter, query: Partial<LogQuery> = {}): Promise<string> =>
  logText(new FileLog(log), query);

describe('the format on disk', () => {
  it('is time, stream, tag and text', async () => {
    // Proves the CRI log format, for both streams and for an unfinished last line.
    const log = await writer();
    await say(log, 'one\ntwo\n');
    await say(log, 'oh\n', 'stderr');
    await say(log, 'rest');
    await log.end();
    const lines = (await readFile(join(folder, '0.log'), 'utf8')).split('\n');
    expect(lines.map((line) => line.slice(30))).toEqual([
      ' stdout F one',
      ' stdout F two',
      ' stderr F oh',
      ' stdout P rest',
      '',
    ]);
    for (const line of lines.slice(0, -1))
      expect(line.slice(0, 30)).toMatch(/^2024-01-02T03:04:05\.000\d{6}Z$/);
  });

  it('cuts long lines into pieces and gives them back whole', async () => {
    // Proves pieces of 16 KiB tagged P, however the line was chunked, with one timestamp for the whole line.
    const long = 'x'.repeat(40_000);
    const log = await writer();
    for (let at = 0; at < long.length; at += 777) await say(log, long.slice(at, at + 777));
    await say(log, '\nnext\n');
    await log.end();
    const stored = (await readFile(join(folder, '0.log'), 'utf8')).split('\n').slice(0, -1);
    expect(stored.map((line) => [line[38], line.length - 40])).toEqual([
      ['P', 16_384],
      ['P', 16_384],
      ['F', 7_232],
      ['F', 4],
    ]);
    expect(await read(log)).toBe(`${long}\nnext\n`);
    const timed = await read(log, { timestamps: true });
    expect(timed.match(/2024-/g)).toHaveLength(2);
  });

  it('keeps every byte of any output', () => {
    // Proves that encoding loses and adds nothing, for generated chunks with line ends anywhere.
    const piece = fc.oneof(
      fc.string({ maxLength: 40 }),
      fc.constant('\n'),
      fc.integer({ min: 1, max: 40_000 }).map((length) => 'y'.repeat(length)),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        const encoder = new LineEncoder('stdout');
        const time = stamp(0);
        const stored = Buffer.concat([
          ...pieces.map((text) => Buffer.from(encoder.encode(Buffer.from(text), time))),
          encoder.end(time),
        ]).toString('utf8');
        const lines = stored.split('\n').slice(0, -1);
        const back = lines.map((line) => line.slice(40) + (line[38] === 'F' ? '\n' : '')).join('');
        return back === pieces.join('') && lines.every((line) => Buffer.byteLength(line) <= 40 + 16_384);
      }),
      { numRuns: 200 },
    );
  });
});

describe('reading', () => {
  it('gives the last lines', async () => {
    // Proves tailLines from none to more than there are.
    const log = await written('1\n2\n3\n', '4\n5\n');
    expect(await read(log, { tailLines: 2 })).toBe('4\n5\n');
    expect(await read(log, { tailLines: 0 })).toBe('');
    expect(await read(log, { tailLines: 99 })).toBe('1\n2\n3\n4\n5\n');
    expect(await read(log, { tailLines: Number.MAX_SAFE_INTEGER })).toBe('1\n2\n3\n4\n5\n');
  });

  it('gives lines from a time on, after the tail', async () => {
    // Proves that `since` uses each line's own time, and that the tail is cut first.
    const start = nowMs;
    const log = await written('a\n', 'b\n', 'c\n', 'd\n');
    expect(await read(log, { sinceMs: start + 2000 })).toBe('c\nd\n');
    expect(await read(log, { sinceMs: start + 1001 })).toBe('c\nd\n');
    expect(await read(log, { sinceMs: start + 2000, tailLines: 3 })).toBe('c\nd\n');
    expect(await read(log, { sinceMs: start + 2000, tailLines: 1 })).toBe('d\n');
    expect(await read(log, { sinceMs: start + 1e9 })).toBe('');
    expect(await read(log, { sinceMs: -1e20 })).toBe('a\nb\nc\nd\n');
  });

  it('puts times before lines and cuts at a number of bytes', async () => {
    // Proves nine decimals, and that limitBytes includes the timestamps and cuts exactly.
    const log = await written('hello\n', 'world\n');
    const all = await read(log, { timestamps: true });
    expect(all).toMatch(/^2024-01-02T03:04:05\.\d{9}Z hello\n2024-01-02T03:04:06\.\d{9}Z world\n$/);
    expect(await read(log, { timestamps: true, limitBytes: 40 })).toBe(all.slice(0, 40));
    expect(await read(log, { limitBytes: 8 })).toBe('hello\nwo');
    expect(await read(log, { limitBytes: 6 })).toBe('hello\n');
    expect(await read(log, { limitBytes: 1 })).toBe('h');
  });

  it('agrees with a plain model', async () => {
    // Proves tail, since, limit and timestamps together against a naive implementation, over several files.
    const log = await writer({ segmentBytes: 3_000, segments: 100 });
    const lines: { ms: number; text: string }[] = [];
    for (let i = 0; i < 300; i++) {
      const text = 'z'.repeat((i * 37) % 90) + i;
      lines.push({ ms: nowMs, text });
      await say(log, `${text}\n`);
      nowMs += i % 3;
    }
    await log.end();
    expect(log.segments.length).toBeGreaterThan(5);
    const start = lines[0]!.ms;
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          tailLines: fc.option(fc.integer({ min: 0, max: 320 }), { nil: undefined }),
          sinceMs: fc.option(fc.integer({ min: start - 5, max: start + 320 }), { nil: undefined }),
          limitBytes: fc.option(fc.integer({ min: 1, max: 20_000 }), { nil: undefined }),
        }),
        async (query) => {
          const model = lines
            .slice(Math.max(lines.length - (query.tailLines ?? lines.length), 0))
            .filter(({ ms }) => query.sinceMs === undefined || ms >= query.sinceMs)
            .map(({ text }) => `${text}\n`)
            .join('')
            .slice(0, query.limitBytes);
          expect(await read(log, query)).toBe(model);
        },
      ),
      { numRuns: 100 },
    );
  });

  it('takes a log that lies on disk, broken lines and all', async () => {
    // Proves that logs of an earlier agent are read, and that malformed lines are left out.
    await writeFile(join(folder, '3.log'), `garbage\n\n${stamp(nowMs)} stdout F good\n${stamp(nowMs)} std`);
    const source = finishedLog(folder, 3)!;
    expect(await logText(new FileLog(source))).toBe('good\n');
    expect(await logText(new FileLog(source), { follow: true, tailLines: 1 })).toBe('good\n');
    expect(finishedLog(folder, 2)).toBeUndefined();
  });
});

describe('following', () => {
  it('goes on as lines come, across files, and ends with the log', async () => {
    // Proves that a follower misses and repeats nothing during rotation and at the end.
    const log = await writer({ segmentBytes: 500, segments: 50 });
    await say(log, 'before\n');
    await new Promise<void>((resolve) => {
      log.watch(resolve);
    });
    const followed = read(log, { follow: true });
    const onlyNew = read(log, { follow: true, tailLines: 0 });
    let expected = '';
    for (let i = 0; i < 100; i++) {
      await say(log, `line ${i}\n`);
      expected += `line ${i}\n`;
      if (i % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await say(log, 'no end');
    await log.end();
    expect(await followed).toBe(`before\n${expected}no end`);
    expect((await onlyNew).endsWith('line 99\nno end')).toBe(true);
    expect(await onlyNew).not.toContain('before');
  });

  it('ends when the client goes, and at its limit', async () => {
    // Proves that following a quiet log ends at once on abort, and that a limited one ends by itself.
    const log = await writer();
    await say(log, 'x\n');
    const gone = new AbortController();
    const pieces: string[] = [];
    for await (const piece of new FileLog(log).read({ follow: true, timestamps: false }, gone.signal)) {
      pieces.push(piece.toString());
      gone.abort();
    }
    expect(pieces).toEqual(['x\n']);
    const limited = read(log, { follow: true, limitBytes: 4 });
    await say(log, 'yyyy\n');
    expect(await limited).toBe('x\nyy');
    await log.end();
  });

  it('does not stop at files that have been removed under it', async () => {
    // Proves that a slow follower continues with the oldest remaining file.
    const log = await writer({ segmentBytes: 400, segments: 2 });
    await say(log, 'first\n');
    const iterator = new FileLog(log).read({ follow: true, timestamps: false }, new AbortController().signal);
    expect(String((await iterator.next()).value)).toBe('first\n');
    for (let i = 0; i < 50; i++) await say(log, `line ${i}\n`);
    await log.end();
    let rest = '';
    for await (const piece of iterator) rest += piece;
    expect(rest.endsWith('line 48\nline 49\n')).toBe(true);
  });
});

describe('bounds', () => {
  it('keeps a number of files of a size', async () => {
    // Proves that a log is bounded, and that the newest lines are kept.
    const log = await writer({ segmentBytes: 1_000, segments: 3 });
    for (let i = 0; i < 200; i++) await say(log, `line ${i}\n`);
    await log.end();
    const names = await readdir(folder);
    expect(names).toHaveLength(3);
    expect(log.bytes).toBeLessThanOrEqual(3_000);
    expect((await read(log)).endsWith('line 198\nline 199\n')).toBe(true);
    expect(await logText(new FileLog(finishedLog(folder, 0)!))).toBe(await read(log));
  });

  it('makes a babbling source wait, without holding much', async () => {
    // Proves back-pressure: many megabytes of tiny lines pause the source, and memory stays flat.
    const log = await writer({ segmentBytes: 1024 * 1024, segments: 2, now: Date.now });
    const chunk = Buffer.from('y\n'.repeat(32_768));
    const before = process.memoryUsage().arrayBuffers;
    let waits = 0;
    let most = 0;
    for (let i = 0; i < 24; i++) {
      const wait = log.write('stdout', chunk);
      if (wait) waits++;
      await wait;
      most = Math.max(most, process.memoryUsage().arrayBuffers - before);
    }
    await log.end();
    expect(waits).toBeGreaterThan(5);
    expect(most).toBeLessThan(64 * 1024 * 1024);
  });

  it('survives a disk that takes nothing', async () => {
    // Proves that a container continues when its log cannot be written, and that this is reported once.
    const errors: Error[] = [];
    const log = await writer({ onError: (error) => void errors.push(error), segmentBytes: 10 });
    await say(log, 'kept\n');
    await new Promise((resolve) => setImmediate(resolve));
    await rm(folder, { recursive: true, force: true });
    for (let i = 0; i < 5; i++) await say(log, 'lost\n');
    await log.end();
    expect(errors).toHaveLength(1);
    expect(errors[0]!.message).toContain('ENOENT');
  });

  it('forgets the logs of earlier runs', async () => {
    // Proves that only the runs from an attempt on are kept, with all their files.
    for (const name of ['0.log', '1.log', '1.log.1', '2.log', '10.log', 'other'])
      await writeFile(join(folder, name), '');
    await forgetLogs(folder, 2);
    expect((await readdir(folder)).sort()).toEqual(['10.log', '2.log', 'other']);
  });
});
