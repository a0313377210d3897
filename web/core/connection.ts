/**
 * Whether the server answers. A request or watch that fails by the network reports it here; from then on one prober asks
 * until the server is back, and everything that waits goes on together.
 */
import { signal } from '@preact/signals';
import { prefix } from './prefix.ts';

/**
 * The first probe comes nearly at once: browsers abort all requests when a network interface of the machine changes.
 */
const firstPauseMs = 100;
const pauseMinMs = 500;
const pauseMaxMs = 5_000;
const probeMaxMs = 5_000;

export const connection = signal<'open' | 'lost'>('open');

interface Outage {
  /** Whether the server answered the first probe: then only some requests were lost. */
  readonly first: Promise<boolean>;
  readonly over: Promise<void>;
}

let outage: Outage | undefined;

/**
 * Reports that the server was not reached; resolves when it answers again. The dashboard shows the loss when a probe
 * fails, too, or at once with `isSure`.
 */
export const connectionLost = (isSure = false): Promise<void> => noticed(isSure).over;

/** Reports that the server was not reached; resolves with whether it answers the first probe. */
export const answersAgain = (): Promise<boolean> => noticed(false).first;

function noticed(isSure: boolean): Outage {
  if (!outage) {
    const first = isSure ? Promise.resolve(false) : pause(firstPauseMs).then(answers);
    const over = first.then(async (isBack) => {
      if (!isBack) await wait();
      outage = undefined;
      connection.value = 'open';
    });
    outage = { first, over };
  }
  return outage;
}

async function wait(): Promise<void> {
  connection.value = 'lost';
  for (let pauseMs = pauseMinMs; ; pauseMs = Math.min(pauseMs * 1.6, pauseMaxMs)) {
    await pause(pauseMs);
    if (await answers()) return;
  }
}

/** Whether the server answers; any answer counts, except that of a server that is shutting down. */
const answers = (): Promise<boolean> =>
  fetch(`${prefix}/version`, { signal: AbortSignal.timeout(probeMaxMs), cache: 'no-store' }).then(
    ({ status }) => status !== 503,
    () => false,
  );

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
