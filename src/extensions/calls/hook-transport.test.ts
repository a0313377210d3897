/** Proves that calls which begin or end at the same time do so a few in each turn of the event loop. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { HookTransport } from './hook-transport.ts';

it('many calls begin and time out in turns', async () => {
  /** How many dials, and failures, each turn had. */
  const begun: number[] = [0];
  const failed: number[] = [0];
  let isOver = false;
  const turn = (): void => {
    if (isOver) return;
    begun.push(0);
    failed.push(0);
    setImmediate(turn);
  };
  setImmediate(turn);
  const transport = new HookTransport(async () => {
    begun[begun.length - 1]!++;
    return new Promise(() => undefined);
  });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const place = {
    url: 'https://a.b.svc:443/',
    caBundle: '',
    service: { namespace: 'b', name: 'a', port: 443 },
  };
  const calls = Array.from({ length: 60 }, () =>
    transport.post(place, '{}', 1_000).catch((error: Error) => {
      failed[failed.length - 1]!++;
      return error.message;
    }),
  );
  while (begun.reduce((sum, count) => sum + count, 0) < calls.length) await nextTurn();
  vi.advanceTimersByTime(1_000);
  const messages = await Promise.all(calls);
  isOver = true;
  vi.useRealTimers();
  expect(new Set(messages)).toEqual(new Set(['context deadline exceeded']));
  // What a turn of the queue begins can fall on both sides of the turn that counts.
  expect(Math.max(...begun)).toBeLessThanOrEqual(16);
  expect(Math.max(...failed)).toBeLessThanOrEqual(16);
  transport.close();
});
