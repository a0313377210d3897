/**
 * Job back-off: after failures a job waits before it makes further pods, longer each time, until one succeeds. It is
 * worked out from the pods that are there, so that it is the same after a restart.
 */
import { type IndexedPod, isFinished } from '../shared/indexedpod.ts';

const firstMs = 10_000;
const maxMs = 10 * 60_000;

/** How long to wait after a number of failures, the last of which was at a time. */
export function waitMs(failures: number, lastMs: number, nowMs: number): number {
  if (failures === 0) return 0;
  return Math.max(lastMs + Math.min(firstMs * 2 ** (failures - 1), maxMs) - nowMs, 0);
}

/** How long a job with these pods waits. Failures before the last success are forgiven. */
export function waitAfter(pods: readonly IndexedPod[], nowMs: number): number {
  let failures = 0;
  let lastMs = 0;
  for (const pod of pods.filter(isFinished).sort((a, b) => a.finishedMs - b.finishedMs))
    if (pod.phase === 'Succeeded') failures = 0;
    else {
      failures++;
      lastMs = pod.finishedMs;
    }
  return waitMs(failures, lastMs, nowMs);
}
