/** Proves that programs that are asked for all at once leave turns of the event loop to others. */
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { expect, it, vi } from 'vitest';
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

it('programs that clients ask for leave three times as long to others as a start took, and pods do not wait for them', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
  const spawner = new Spawner();
  try {
    spawner.look();
    await spawner.readyForClient();
    const child = spawner.spawn([process.execPath, '--version'], {
      env: {
        // Read while the program is started, which takes 100 ms by this clock.
        get A() {
          vi.advanceTimersByTime(100);
          return 'a';
        },
      },
      stdio: ['ignore', 'ignore', 'ignore'],
    });
    await new Promise((resolve) => child.once('exit', resolve));
    let isReady = false;
    const next = spawner.readyForClient().then(() => {
      isReady = true;
    });
    await spawner.ready();
    for (let i = 0; i < 20; i++) await turn();
    await vi.advanceTimersByTimeAsync(299);
    for (let i = 0; i < 20; i++) await turn();
    expect(isReady).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await next;
  } finally {
    vi.useRealTimers();
    spawner.close();
  }
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
