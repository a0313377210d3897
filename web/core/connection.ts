/**
 * Whether the server answers. A request or watch that fails by the network reports it here; from then on one prober asks
 * until the server is back, and everything that waits goes on together.
 */
import { signal } from '@preact/signals';
import { prefix } from './prefix.ts';

/** The first question comes nearly at once: browsers break all requests when an interface of the machine comes or goes. */
const firstPauseMs = 100;
const pauseMinMs = 500;
const pauseMaxMs = 5_000;
const probeMaxMs = 5_000;

export const connection = signal<'open' | 'lost'>('open');

interface Outage {
  /** Whether the server answered the first question: then nothing was lost but some requests. */
  readonly first: Promise<boolean>;
  readonly over: Promise<void>;
}

let outage: Outage | undefined;

/**
 * Says that the server was not reached; resolves when it answers again. The dashboard says so when asking again fails,
 * too: `isSure` when that is known already.
 */
export const connectionLost = (isSure = false): Promise<void> => noticed(isSure).over;

/** Says that the server was not reached; whether it answers when it is asked again. */
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

/** Any answer will do, a refusal included, except that of a server that is shutting down. */
const answers = (): Promise<boolean> =>
  fetch(`${prefix}/version`, { signal: AbortSignal.timeout(probeMaxMs), cache: 'no-store' }).then(
    ({ status }) => status !== 503,
    () => false,
  );

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
