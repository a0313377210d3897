/** Proves that a stop keeps to its grace period, and does nothing to hooks and containers that are gone. */
import { describe, expect, it } from 'vitest';
import { systemTimers } from '../../timers.ts';
import { ContainerStop } from './container-stop.ts';
import type { ProbeTarget } from './probe.ts';

const preStop = { sleep: { seconds: 600 } };

/** A stop of a fake container that records its signals. */
function stopping(graceMs: number) {
  const signals: string[] = [];
  let asked = (): void => undefined;
  const killed = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const kill = (signal: string): void => {
    signals.push(signal);
    asked();
  };
  const target = { container: { name: 'main' }, running: { kill } } as unknown as ProbeTarget;
  let hooksFailed = 0;
  const stop = new ContainerStop({
    reason: {},
    graceMs,
    secondMs: 1_000,
    now: () => Date.now(),
    timers: systemTimers,
    hookFailed: () => hooksFailed++,
  });
  return { stop, target, signals, killed, hooksFailed: () => hooksFailed };
}

describe('a stop', () => {
  it('without time kills at once', async () => {
    const { stop, target, signals } = stopping(0);
    await stop.end(target, preStop);
    expect(signals).toEqual(['SIGKILL']);
  });

  it('gives up the hook when it is hurried, and asks the container to end', async () => {
    const { stop, target, signals, hooksFailed } = stopping(600_000);
    const ended = stop.end(target, preStop);
    stop.hurry(10);
    await ended;
    expect(hooksFailed()).toBe(1);
    expect(signals).toEqual(['SIGTERM']);
    stop.close();
  });

  it('is not prolonged by being asked for again', async () => {
    const { stop, target, signals, killed } = stopping(10);
    stop.hurry(600_000);
    await stop.end(target, undefined);
    await killed;
    await expect.poll(() => signals).toEqual(['SIGTERM', 'SIGKILL']);
    stop.close();
  });

  it('is over when the container ends during its hook: nothing failed, and nobody is left to signal', async () => {
    const { stop, target, signals, hooksFailed } = stopping(600_000);
    const ended = stop.end(target, preStop);
    stop.close();
    await ended;
    expect(hooksFailed()).toBe(0);
    expect(signals).toEqual([]);
  });
});
