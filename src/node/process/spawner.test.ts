/** Proves that programs that are asked for all at once leave turns of the event loop to others. */
import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { platform } from '../../platform.ts';
import { type Asker, Spawner } from './spawner.ts';

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

describe('programs that clients ask for', () => {
  /** Starts one, which takes 100 ms by a clock that stands still otherwise. */
  async function start(spawner: Spawner, asker: Asker = 'client'): Promise<void> {
    const file = openSync(devNull, 'r+');
    const options = {
      env: {
        // Read while the program is started.
        get A() {
          vi.advanceTimersByTime(100);
          return 'a';
        },
      },
      cwd: undefined,
      files: [undefined, file, file] as const,
    };
    const started = await spawner.start([process.execPath, '--version'], options, asker);
    closeSync(file);
    await started.exited;
  }

  async function turns(): Promise<void> {
    for (let i = 0; i < 20; i++) await turn();
  }

  function useSpawner(): Spawner {
    vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
    const spawner = new Spawner();
    onTestFinished(() => {
      vi.useRealTimers();
      spawner.close();
    });
    spawner.look();
    return spawner;
  }

  it('leave three times as long to others as a start took when more wait, and pods do not wait for them', async () => {
    const spawner = useSpawner();
    const first = start(spawner);
    let isStarted = false;
    const next = start(spawner).then(() => {
      isStarted = true;
    });
    await first;
    await start(spawner, 'pod');
    await turns();
    await vi.advanceTimersByTimeAsync(199);
    await turns();
    expect(isStarted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await next;
  });

  it('wait for nothing one after the other', async () => {
    const spawner = useSpawner();
    const begunMs = performance.now();
    for (let i = 0; i < 3; i++) {
      await start(spawner);
      await turns();
    }
    expect(performance.now() - begunMs).toBe(300);
  });
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
