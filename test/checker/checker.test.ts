/**
 * Proves, against every engine, that a server keeps its word: what clients are answered is one history, and watches
 * keep all their promises, also when the server is killed in the middle.
 *
 * `npm run check -- --minutes 30` runs it for long, each round from another seed; `npm run check -- --seed 7` repeats
 * the traffic of one.
 */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useChildren } from '../child.ts';
import { runRound } from './round.ts';

const minutes = Number(process.env['WHERRY_CHECK_MINUTES'] ?? 0);
const firstSeed = Number(process.env['WHERRY_SEED'] ?? 20_261_115);
/** How much is done between two kills: a short round in the test run, longer ones when there is time. */
const operations = minutes ? 2_500 : 500;
const kills = minutes ? 4 : 2;

const children = useChildren();

/** So that a failure can be repeated, it is said before it happens. */
const say = (line: string): void => void process.stderr.write(`${line}\n`);

describe.each(['memory', 'lmdb'] as const)('traffic on %s', (engine) => {
  const deadline = (minutes * 60_000) / 2;
  it('is one history, and watches tell it', { timeout: 120_000 + deadline * 2 }, async () => {
    const begunMs = performance.now();
    for (let seed = firstSeed; ; seed++) {
      say(`checking ${engine}, seed ${seed}`);
      const dataDir = engine === 'lmdb' ? join(await children.folder(), 'data') : undefined;
      const { problems, summary } = await runRound({
        seed,
        dataDir,
        kills: dataDir ? kills : 0,
        operations: dataDir ? operations : operations * 2,
      });
      say(`  ${summary}`);
      expect(problems.slice(0, 20), `seed ${seed}: npm run check -- --seed ${seed}`).toEqual([]);
      if (performance.now() - begunMs >= deadline) return;
    }
  });
});
