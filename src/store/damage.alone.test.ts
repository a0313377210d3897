/** Proves that a damaged data file is either refused with a message or answers correctly. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openLmdbStore } from './lmdb.ts';
import { numbers, put, remove } from './observer.fixture.ts';

/** The built writing thread; set by the test configuration. */
declare const lmdbThreadFile: string;

/** Number of damaged copies; `WHERRY_DAMAGES=5000` for a long run. */
const damages = Number(process.env['WHERRY_DAMAGES'] ?? 150);
const seed = Number(process.env['WHERRY_SEED'] ?? 20_261_115);

const base = mkdtempSync(join(tmpdir(), 'wherry-damage-'));
afterAll(() => rmSync(base, { recursive: true, force: true }));

beforeAll(async () => {
  symlinkSync(join(import.meta.dirname, '../../node_modules'), join(base, 'node_modules'));
  await build({
    entryPoints: [join(import.meta.dirname, 'damage.fixture.ts')],
    outfile: join(base, 'damage.mjs'),
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    define: { lmdbThreadFile: JSON.stringify(lmdbThreadFile) },
  });
});

/** A store with small and large values, history, deletions, and free pages. */
async function prepare(dataDir: string): Promise<void> {
  // All of it in the data file, with as many free pages as a server leaves that makes no journal.
  const commitsBeforeJournal = Number.POSITIVE_INFINITY;
  const store = await openLmdbStore({ dataDir, now: () => 0, commitsBeforeJournal });
  const size = (i: number): number => (i % 7 === 0 ? 6000 : i % 3 === 0 ? 900 : 60);
  const keys = numbers(1, 150).map((i) => `configmaps\0default\0name-${i}`);
  const at = await Promise.all(keys.map((key, i) => put(store, key, `${i} `.padEnd(size(i), 'x'))));
  for (let i = 0; i < 150; i += 5) at[i] = await put(store, keys[i]!, 'second '.padEnd(size(i), 'y'), at[i]!);
  for (let i = 1; i < 150; i += 10) await remove(store, keys[i]!, at[i]!);
  await store.compact(170);
  for (let i = 2; i < 150; i += 6) at[i] = await put(store, keys[i]!, 'third', at[i]!);
  await store.close();
}

describe('a data file that is damaged', () => {
  it(`is refused or answers rightly, ${damages} times`, { timeout: 240_000 + damages * 200 }, async () => {
    const healthy = join(base, 'healthy');
    await prepare(healthy);
    const scratch = join(base, 'scratch');
    mkdirSync(scratch);
    const args = [join(base, 'damage.mjs'), healthy, scratch, String(seed), String(damages)];
    const { status, signal, stdout, stderr } = spawnSync(process.execPath, args, {
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
    });
    const lines = stdout.trimEnd().split('\n');
    expect({ status, signal }, `${lines.at(-1)} ${stderr}`).toEqual({ status: 0, signal: null });
    expect(lines.filter((line) => !/: (right|unchanged|refused: the \S+ .*damaged: .*)$/.test(line))).toEqual(
      [],
    );
    const count = (word: string): number => lines.filter((line) => line.includes(`: ${word}`)).length;
    // Most of a file is in use, and some is free.
    expect(count('refused')).toBeGreaterThan(damages / 2);
    expect(count('right')).toBeGreaterThan(damages / 50);
  });
});
