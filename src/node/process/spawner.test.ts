/** Proves that programs that are asked for all at once leave turns of the event loop to others. */
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { expect, it } from 'vitest';
import { platform } from '../../platform.ts';
import { Spawner } from './spawner.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Turns of the event loop until a promise is fulfilled. */
async function turnsUntil(done: Promise<unknown>): Promise<number> {
  let isDone = false;
  void done.then(() => {
    isDone = true;
  });
  let turns = 0;
  for (; !isDone; turns++) await turn();
  return turns;
}

it('programs are started some turns after one another, the first at once', async () => {
  const spawner = new Spawner();
  spawner.look();
  const turns = await Promise.all(Array.from({ length: 5 }, () => turnsUntil(spawner.ready())));
  expect(turns[0]).toBeLessThanOrEqual(1);
  for (const [i, count] of turns.slice(1).entries()) expect(count - turns[i]!).toBeGreaterThanOrEqual(3);
  spawner.close();
});

it.runIf(platform.isLinux)(
  'open files are looked through a few in a turn, once for all who wait',
  async () => {
    const spawner = new Spawner();
    const opened = Array.from({ length: 300 }, () => openSync(devNull, 'r'));
    const first = turnsUntil(spawner.ready());
    const second = turnsUntil(spawner.ready());
    expect(await first).toBeGreaterThanOrEqual(4);
    expect((await second) - (await first)).toBeLessThanOrEqual(6);
    opened.forEach(closeSync);
    spawner.close();
  },
);
