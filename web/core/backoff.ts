/**
 * Growing pauses between attempts that the server refuses temporarily, at least as long as the server asks for. While
 * there are any, the dashboard shows why (`refusedNow`): a busy server is there, and nothing is lost.
 */
import { signal } from '@preact/signals';
import { ApiError } from './api.ts';
import { pause } from './connection.ts';

const firstPauseMs = 500;
const pauseMaxMs = 15_000;
/** Maximum pause, even if the server asks for a longer one. */
const askedMaxMs = 60_000;

/** The server's message about temporary refusals; undefined when nothing is refused now. */
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

  /** Called when an attempt was accepted, or no other will follow. */
  reset(): void {
    this.#pauseMs = firstPauseMs;
    if (waiting.delete(this)) tell();
  }
}

function tell(): void {
  refusedNow.value = [...waiting.values()].at(-1);
}
