/**
 * Pauses between attempts that the server refuses for the moment. They grow, and are as long as the server asks for.
 * While there are any, the dashboard says why (`refusedNow`): a server that is busy is there, and nothing is lost.
 */
import { signal } from '@preact/signals';
import { ApiError } from './api.ts';
import { pause } from './connection.ts';

const firstPauseMs = 500;
const pauseMaxMs = 15_000;
/** A server may ask for longer; a person who looks at the dashboard should not wait so long for it. */
const askedMaxMs = 60_000;

/** What the server says of its refusals that will pass; undefined when it refuses nothing. */
export const refusedNow = signal<string | undefined>(undefined);

const waiting = new Map<Backoff, string>();

export class Backoff {
  #pauseMs = firstPauseMs;

  /** Whether trying again may help: too many requests, or trouble of the server. */
  static helps(error: unknown): error is ApiError {
    return error instanceof ApiError && (error.code === 429 || error.code >= 500);
  }

  async wait(error: ApiError): Promise<void> {
    waiting.set(this, error.message);
    tell();
    await pause(Math.max(this.#pauseMs, Math.min(error.retryAfterMs, askedMaxMs)));
    this.#pauseMs = Math.min(this.#pauseMs * 2, pauseMaxMs);
  }

  /** An attempt was accepted, or there will be no other. */
  reset(): void {
    this.#pauseMs = firstPauseMs;
    if (waiting.delete(this)) tell();
  }
}

function tell(): void {
  refusedNow.value = [...waiting.values()].at(-1);
}
