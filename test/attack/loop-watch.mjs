/**
 * Loaded into a server that is attacked: tells how long its event loop was held up, when it is asked, and begins anew.
 * Where the system tells the processor time of a thread (`/proc/self/schedstat`), only that counts: attacker, neighbours
 * and server share the processors of one machine, and may wait for them.
 */
import { openSync, readSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const tickMs = 1;
/** Milliseconds: a turn that took longer is counted. */
const longMs = 10;

/**
 * A function that tells how many milliseconds of processor time a thread has used, and how long it has waited for a
 * processor; NaN and 0 where the system does not tell. The system counts the time that was used at its ticks.
 */
export function processorTime(path = '/proc/self/schedstat') {
  const bytes = Buffer.alloc(100);
  let file;
  try {
    file = openSync(path, 'r');
  } catch {
    return () => ({ usedMs: Number.NaN, waitedMs: 0 });
  }
  return () => {
    const length = readSync(file, bytes, 0, bytes.length, 0);
    const [used, waited] = bytes.latin1Slice(0, length).split(' ');
    return { usedMs: used / 1e6, waitedMs: waited / 1e6 };
  };
}

/** A function that tells how many milliseconds of processor time have passed since it was called last. */
export function turnTimer() {
  const read = processorTime();
  let [lastMs, last] = [performance.now(), read()];
  return () => {
    const [nowMs, now] = [performance.now(), read()];
    const onProcessorMs = nowMs - lastMs - (now.waitedMs - last.waitedMs);
    const usedMs = now.usedMs - last.usedMs;
    [lastMs, last] = [nowMs, now];
    // Waits for other threads, such as those that help to collect garbage, are in the first alone.
    return Number.isNaN(usedMs) ? onProcessorMs : Math.min(onProcessorMs, usedMs);
  };
}

if (isMainThread && process.send) {
  const turnMs = turnTimer();
  let [maxMs, count] = [0, 0];
  setInterval(() => {
    const tookMs = turnMs();
    if (tookMs > longMs) count++;
    maxMs = Math.max(maxMs, tookMs);
  }, tickMs).unref();
  process.on('message', () => {
    process.send({ maxMs, count });
    [maxMs, count] = [0, 0];
    turnMs();
  });
}
