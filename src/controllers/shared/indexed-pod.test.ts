/**
 * Proves that the next time at which a pod becomes available is computed, so that controllers set the right timer.
 */
import { describe, expect, it } from 'vitest';
import { type IndexedPod, nextAvailableInMs } from './indexed-pod.ts';

const pod = (ready: boolean, readyChangedMs: number | undefined): IndexedPod =>
  ({ ready, readyChangedMs }) as IndexedPod;

describe('the next pod to become available', () => {
  it('is the first of those that are ready and not yet available', () => {
    const pods = [pod(true, 8_000), pod(true, 3_000), pod(true, 5_000), pod(false, 9_000)];
    expect(nextAvailableInMs(pods, 5, 9_000)).toBe(1_000);
  });

  it('is one that lacks a single millisecond', () => {
    // Proves that a timer which fires a moment too early is set again.
    expect(nextAvailableInMs([pod(true, 5_000)], 5, 9_999)).toBe(1);
  });

  it('is none when all are available, none is ready, or nobody knows since when', () => {
    const never = Number.POSITIVE_INFINITY;
    expect(nextAvailableInMs([pod(true, 1_000)], 5, 6_000)).toBe(never);
    expect(nextAvailableInMs([pod(false, 5_999)], 5, 6_000)).toBe(never);
    expect(nextAvailableInMs([pod(true, undefined)], 5, 6_000)).toBe(never);
    expect(nextAvailableInMs([pod(true, 5_999)], undefined, 6_000)).toBe(never);
  });
});
