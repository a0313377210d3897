/** Proves that a controller is idle when all its parts are, and closes them in order, also nested ones. */
import { expect, it } from 'vitest';
import type { EventRecorder } from '../../client/events.ts';
import { running } from './controller.ts';

it('is as much at rest as what it is made of', () => {
  const state = { caughtUp: true, settled: true, idle: true };
  const observation = {
    get caughtUp() {
      return state.caughtUp;
    },
    close: () => undefined,
  };
  const queue = {
    get settled() {
      return state.settled;
    },
    close: async () => undefined,
  };
  const recorder = {
    get idle() {
      return state.idle;
    },
  } as EventRecorder;
  const whole = running([], [running([observation], [queue], recorder)]);
  expect(whole.settled).toBe(true);
  for (const busy of ['caughtUp', 'settled', 'idle'] as const) {
    state[busy] = false;
    expect(whole.settled, busy).toBe(false);
    state[busy] = true;
  }
});

it('hears no more, then ends its work, then writes the last events', async () => {
  const done: string[] = [];
  const observation = (name: string) => ({ caughtUp: true, close: () => void done.push(name) });
  const queue = (name: string) => ({
    settled: true,
    close: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      done.push(name);
    },
  });
  const recorder = (name: string) =>
    ({ flushed: async () => void done.push(name) }) as unknown as EventRecorder;
  const part = running([observation('part hears')], [queue('part works')], recorder('part tells'));
  await running([observation('hears')], [part, queue('works')], recorder('tells')).close();
  expect(done.filter((one) => one.startsWith('part'))).toEqual(['part hears', 'part works', 'part tells']);
  expect(done[0]).toBe('hears');
  expect(done.at(-1)).toBe('tells');
  expect(done).toContain('works');
});
