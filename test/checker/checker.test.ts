/**
 * Proves for every engine that all answers to clients are consistent with one history (linearizability), and
 * that watches keep their guarantees, also when the server is killed.
 *
 * `npm run check -- --minutes 30` runs it for longer, each round with another seed; `npm run check -- --seed
 * 7` repeats the traffic of one seed.
 */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useChildren } from '../support/child.ts';
import { isRelease } from '../support/tier.ts';
import { describeWith } from '../support/tools.ts';
import { runEtcdRound } from './etcd-round.ts';
import { runRound } from './round.ts';

const minutes = Number(process.env['WHERRY_CHECK_MINUTES'] ?? 0);
const firstSeed = Number(process.env['WHERRY_SEED'] ?? 20_261_115);
/** Operations between two kills: few with `npm test`, more before a release and with `--minutes`. */
const operations = minutes ? 2_500 : isRelease ? 500 : 250;
const kills = minutes ? 4 : isRelease ? 2 : 1;

const children = useChildren();

/** Print the seed before the run, so that a failure can be repeated. */
const say = (line: string): void => void process.stderr.write(`${line}\n`);

const only = process.env['WHERRY_CHECK_STORE'];
/** Memory has a turn before a release, and when it is asked for: the engine is the simplest, and is not killed. */
const isLong = isRelease || minutes > 0;
const local = (['memory', 'lmdb'] as const).filter((engine) =>
  only ? only === engine : isLong || engine === 'lmdb',
);
/** Each engine gets its share of the time. */
const deadline = (minutes * 60_000) / (only ? 1 : 3);

if (!only || only === 'etcd')
  describeWith('etcd-server')('traffic on etcd', () => {
    it('is one history at all servers, and watches tell it', {
      timeout: 300_000 + deadline * 2,
    }, async () => {
      const begunMs = performance.now();
      for (let seed = firstSeed; ; seed++) {
        say(`checking etcd, seed ${seed}`);
        const { problems, summary } = await runEtcdRound({
          seed,
          folder: () => children.folder(),
          servers: minutes ? 3 : 2,
          operations: minutes ? 10_000 : isRelease ? 500 : 250,
          faults: minutes ? 15 : isRelease ? 3 : 2,
        });
        say(`  ${summary}`);
        const again = `npm run check -- --store etcd --seed ${seed}`;
        expect(problems.slice(0, 20), `seed ${seed}: ${again}`).toEqual([]);
        if (performance.now() - begunMs >= deadline) return;
      }
    });
  });

describe.each(local)('traffic on %s', (engine) => {
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
