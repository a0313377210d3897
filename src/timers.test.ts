/** Proves that times of users which are longer than Node's longest timer do not pass at once. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { runHook } from './node/pods/hook.ts';
import { ask, type ProbeTarget } from './node/pods/probe.ts';
import { systemTimers } from './timers.ts';

const longMs = 2 ** 40;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('a delay', () => {
  const fired = vi.fn();
  systemTimers.set(fired, longMs);
  vi.advanceTimersByTime(60_000);
  expect(fired).not.toHaveBeenCalled();
});

it('the time of a probe and of a hook', async () => {
  const over = vi.fn();
  const running = { exec: () => new Promise(() => undefined) };
  const target = { container: {}, running, podIP: '10.0.0.1', reach: () => new Promise(() => undefined) };
  void ask({ tcpSocket: { port: 80 } }, target as unknown as ProbeTarget, longMs).then(over);
  const { signal: gone } = new AbortController();
  const times = { timeoutMs: longMs, secondMs: longMs, gone };
  void runHook({ sleep: { seconds: 1 } }, target as unknown as ProbeTarget, times).then(over);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(over).not.toHaveBeenCalled();
});
