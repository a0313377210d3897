/** Proves that buffers that have passed through are collected soon, where `gc` is exposed. */
import { memoryUsage } from 'node:process';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { exposeCollector } from '../../cli/collector.ts';
import { optimized } from '../../switches.ts';
import { passed } from './minor-collections.ts';

const pieceBytes = 64 * 1024;

afterEach(() => {
  vi.unstubAllGlobals();
  Reflect.deleteProperty(globalThis, 'gc');
});

describe.runIf(optimized)('with the collector', () => {
  // Repeated: V8 frees the bytes on a thread of its own, which waits while other programs have the processors.
  it('keeps no more than some megabytes of what has passed', { retry: 4 }, () => {
    exposeCollector();
    const before = memoryUsage().arrayBuffers;
    let most = 0;
    for (let i = 0; i < 4_000; i++) {
      const piece = new Uint8Array(pieceBytes);
      passed(piece.length);
      if (i % 50 === 0) most = Math.max(most, memoryUsage().arrayBuffers - before);
    }
    expect(most).toBeLessThan(40e6);
  });

  it('collects the young alone, once in many megabytes', () => {
    const gc = vi.fn();
    vi.stubGlobal('gc', gc);
    for (let i = 0; i < 1_000; i++) passed(pieceBytes);
    expect(gc.mock.calls.length).toBeGreaterThan(1);
    expect(gc.mock.calls.length).toBeLessThan(10);
    expect(new Set(gc.mock.calls.map(([options]) => options.type))).toEqual(new Set(['minor']));
  });
});

it('does without a collector', () => {
  for (let i = 0; i < 1_000; i++) passed(pieceBytes);
});
