/**
 * Whether the server answers. A request or watch that fails by the network reports it here; from then on one prober asks
 * until the server is back, and everything that waits goes on together.
 */
import { signal } from '@preact/signals';

const firstPauseMs = 500;
const pauseMaxMs = 5_000;
const probeMaxMs = 5_000;

export const connection = signal<'open' | 'lost'>('open');

let back: Promise<void> | undefined;

/** Says that the server was not reached; resolves when it answers again. */
export function connectionLost(): Promise<void> {
  connection.value = 'lost';
  back ??= probe().then(() => {
    back = undefined;
    connection.value = 'open';
  });
  return back;
}

async function probe(): Promise<void> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 1.6, pauseMaxMs)) {
    await pause(pauseMs);
    try {
      // Any answer will do, a refusal included, except that of a server that is shutting down.
      const { status } = await fetch('/version', {
        signal: AbortSignal.timeout(probeMaxMs),
        cache: 'no-store',
      });
      if (status !== 503) return;
    } catch {
      // Not there yet.
    }
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
