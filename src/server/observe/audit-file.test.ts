/**
 * Proves that the audit file loses no line while the disk works, counts the lines it loses, and is bounded in size.
 */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AuditFile, type AuditFileOptions } from './audit-file.ts';

let folder: string;
let errors: Error[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wherry-audit-'));
  errors = [];
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function openFile(options: Partial<AuditFileOptions> = {}): Promise<AuditFile> {
  return AuditFile.open({
    file: join(folder, 'audit.log'),
    bytesMax: 1024 * 1024,
    backupsMax: 10,
    nowMs: () => Date.now(),
    report: (error) => void errors.push(error),
    ...options,
  });
}

const read = (name = 'audit.log'): Promise<string> => readFile(join(folder, name), 'utf8');
const lines = (from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, i) => `line ${from + i}\n`);
const backups = async (): Promise<string[]> =>
  (await readdir(folder)).filter((name) => name !== 'audit.log').sort();

/** Waits for background writes. */
async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 60_000; !(await condition()); )
    if (Date.now() > deadline) throw new Error('waited in vain');
    else await new Promise((resolve) => setTimeout(resolve, 10));
}

describe('lines', () => {
  it('are all there, in order, when the file is closed', async () => {
    // Proves that closing writes the buffered lines, and that later ones are counted as lost.
    const file = await openFile();
    for (const line of lines(1, 5000)) file.append(line);
    await file.close();
    file.append('late\n');
    expect(await read()).toBe(lines(1, 5000).join(''));
    expect([file.written, file.dropped]).toEqual([5000, 1]);
    await file.close();
  });

  it('come soon, without anybody closing', async () => {
    const file = await openFile();
    file.append('a\n');
    await until(() => file.written === 1);
    expect(await read()).toBe('a\n');
    await file.close();
  });

  it('are added to those of the run before', async () => {
    for (const line of lines(1, 3)) {
      const file = await openFile();
      file.append(line);
      await file.close();
    }
    expect(await read()).toBe(lines(1, 3).join(''));
  });

  it('beyond what may wait are dropped and counted, and the next ones are taken again', async () => {
    // Proves the bound on memory: nothing is written within one tick, so all lines would be buffered.
    const file = await openFile({ queueCharsMax: 700 });
    for (const line of lines(100, 299)) file.append(line);
    expect(file.dropped).toBe(200 - Math.floor(700 / 'line 100\n'.length));
    await until(() => file.written > 0);
    file.append('again\n');
    await file.close();
    const text = await read();
    expect(text.startsWith('line 100\nline 101\n')).toBe(true);
    expect(text.endsWith('again\n')).toBe(true);
    expect(file.written + file.dropped).toBe(201);
  });
});

describe('a file that has reached its size', () => {
  it('is put aside, and only the newest of those are kept', async () => {
    // Proves rotation: no line is split or lost except with deleted files, and the oldest are deleted first.
    let nowMs = Date.UTC(2026, 0, 31, 9, 5, 0, 123);
    const file = await openFile({ bytesMax: 20, backupsMax: 2, nowMs: () => nowMs });
    for (const line of lines(1, 8)) {
      const written = file.written;
      file.append(line);
      await until(() => file.written > written);
      nowMs += 1000;
    }
    await file.close();
    const names = await backups();
    expect(names).toEqual(['audit-2026-01-31T09-05-04.123.log', 'audit-2026-01-31T09-05-06.123.log']);
    const texts = await Promise.all([...names, 'audit.log'].map(read));
    expect(texts).toEqual([lines(3, 4).join(''), lines(5, 6).join(''), lines(7, 8).join('')]);
    expect(errors).toEqual([]);
  });

  it('takes no name that is taken', async () => {
    // Proves that a clock that stands still, or goes back, loses no file.
    const file = await openFile({ bytesMax: 10, nowMs: () => 0 });
    for (const line of lines(1, 4)) {
      const written = file.written;
      file.append(line);
      await until(() => file.written > written);
    }
    await file.close();
    expect(await backups()).toEqual([0, 1, 2].map((ms) => `audit-1970-01-01T00-00-00.00${ms}.log`));
  });

  it('never takes files of others with it', async () => {
    const others = [
      'audit-important.log',
      'audit-2026-01-31.log',
      'audit-2026-01-31T09-05-00.123.log.gz',
      'xaudit-1.log',
    ];
    for (const name of others) await writeFile(join(folder, name), 'keep');
    const file = await openFile({ bytesMax: 10, backupsMax: 0 });
    for (const line of lines(1, 3)) {
      const written = file.written;
      file.append(line);
      await until(() => file.written > written);
    }
    await file.close();
    expect(await backups()).toEqual([...others].sort());
    expect(await read()).toBe('line 3\n');
  });
});

describe('a file that cannot be written', () => {
  it('is refused when it is opened', async () => {
    await expect(openFile({ file: join(folder, 'no', 'audit.log') })).rejects.toThrow(/ENOENT/);
    await mkdir(join(folder, 'dir'));
    await expect(openFile({ file: join(folder, 'dir') })).rejects.toThrow(/EISDIR/);
  });

  it('is told of once, and written again when that works', async () => {
    // Proves that an error is reported once, that lost lines are counted, and that the log recovers.
    const file = await openFile({ bytesMax: 5 });
    file.append('one\n');
    await until(() => file.written === 1);
    await rm(folder, { recursive: true });
    for (const dropped of [1, 2]) {
      file.append('two\n');
      await until(() => file.dropped === dropped);
    }
    expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining('ENOENT')]);
    await mkdir(folder);
    file.append('three\n');
    await until(() => file.written === 2);
    expect(await read()).toBe('three\n');
    expect(errors).toHaveLength(1);
    await file.close();
  });

  it('may be taken away', async () => {
    // Proves that deleting the files from outside does not stop the log.
    const file = await openFile({ bytesMax: 5 });
    file.append('one\n');
    await until(() => file.written === 1);
    await rm(join(folder, 'audit.log'));
    file.append('two\n');
    await file.close();
    expect(await read()).toBe('two\n');
    expect(errors).toEqual([]);
  });
});
