/**
 * Job back-off: after failures a job waits before it creates further pods, longer each time, until one succeeds. The
 * delay is computed from the existing pods, so that it survives a restart.
 */
import { type IndexedPod, isFinished } from '../shared/indexed-pod.ts';

const firstMs = 10_000;
const maxMs = 10 * 60_000;

/** The delay after a number of failures, the last of which was at a time. */
export function waitMs(failures: number, lastMs: number, nowMs: number): number {
  if (failures === 0) return 0;
  return Math.max(lastMs + Math.min(firstMs * 2 ** (failures - 1), maxMs) - nowMs, 0);
}

/** The delay of a job with these pods. Failures before the last success do not count. */
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
