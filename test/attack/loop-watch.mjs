/** Loaded into a server that is attacked: tells how long its event loop was held up, when it is asked, and begins anew. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

const resolutionMs = 5;

if (isMainThread && process.send) {
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  process.on('message', () => {
    process.send(delay.max / 1e6 - resolutionMs);
    delay.reset();
  });
}
