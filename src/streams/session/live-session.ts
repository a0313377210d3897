/**
 * A running session: the streams that its handler sees, and how it ends. The carriers (SPDY, WebSocket) pass
 * data in and out.
 */
import type { Inflow, Outflow } from '../bytes/carrier-streams.ts';
import type { Session, SessionHandler, SessionResult, SessionWish, TerminalSize } from './session.ts';
import type { SessionStatus } from './session-status.ts';

/** Time a handler gets after its pod has ended, to return its result. */
const endedMs = 2_000;

/** Why `gone` is aborted. Without a reason, Node makes an error with a stack for each session. */
const sessionOver = new Error('the session is over');

/** What a carrier needs to know of its session. */
export interface CarriedSession {
  readonly wish: SessionWish;
  readonly handler: SessionHandler;
  readonly idleMs: number;
  /** The status sent to the client for a result. */
  status(result: SessionResult): SessionStatus;
  /** Aborted when the pod has ended: the session ends, too. */
  readonly ended?: AbortSignal | undefined;
}

export interface SessionStreams {
  readonly tty: boolean;
  readonly stdin?: Inflow | undefined;
  readonly stdout?: Outflow | undefined;
  readonly stderr?: Outflow | undefined;
}

export class LiveSession implements Session {
  readonly tty: boolean;
  readonly stdin: Inflow | undefined;
  readonly stdout: Outflow | undefined;
  readonly stderr: Outflow | undefined;
  readonly gone: AbortSignal;
  readonly #abandon = new AbortController();
  readonly #resizeListeners: ((size: TerminalSize) => void)[] = [];
  #size: TerminalSize | undefined;
  /** Resolves with the result for the client, or with undefined when the client has gone. */
  readonly #cut: Promise<SessionResult | undefined>;
  #cutShort!: (result: SessionResult | undefined) => void;

  constructor({ tty, stdin, stdout, stderr }: SessionStreams) {
    this.tty = tty;
    this.stdin = stdin;
    this.stdout = stdout;
    this.stderr = stderr;
    this.gone = this.#abandon.signal;
    this.#cut = new Promise((resolve) => {
      this.#cutShort = resolve;
    });
  }

  onResize(listener: (size: TerminalSize) => void): void {
    this.#resizeListeners.push(listener);
    if (this.#size !== undefined) tell(listener, this.#size);
  }

  resized(size: TerminalSize): void {
    this.#size = size;
    for (const listener of this.#resizeListeners) tell(listener, size);
  }

  /** Called when the client has gone. */
  leave(): void {
    this.#end(undefined);
  }

  /** Ends the session with a failure, which is reported to the client. */
  giveUp(message: string): void {
    this.#end({ kind: 'failure', message });
  }

  /**
   * Runs the handler until it has ended and its output is with the carrier. Resolves with the result for the
   * client, undefined when the client has gone. A handler that runs longer than its session has to watch
   * `gone`.
   */
  async run(handler: SessionHandler, ended?: AbortSignal): Promise<SessionResult | undefined> {
    const release = this.#endWith(ended);
    const handled = (async () => handler(this))()
      .catch((error: unknown): SessionResult => ({ kind: 'failure', message: textOf(error) }))
      .finally(release);
    const flushed = handled.then(async (result) => {
      await Promise.all([this.stdout?.flush(), this.stderr?.flush()]);
      return result;
    });
    const result = await Promise.race([this.#cut, flushed]);
    release();
    // Discard further input, which has no reader and would block the end. When the client has gone, what it
    // sent may still be read.
    if (result !== undefined) this.stdin?.destroy();
    return result;
  }

  /** Gives up `endedMs` after the pod has ended; returns a function that cancels this. */
  #endWith(ended: AbortSignal | undefined): () => void {
    let grace: NodeJS.Timeout | undefined;
    const stop = () => {
      grace = setTimeout(() => this.giveUp('the pod has ended'), endedMs);
    };
    ended?.addEventListener('abort', stop);
    if (ended?.aborted) stop();
    return () => {
      ended?.removeEventListener('abort', stop);
      clearTimeout(grace);
    };
  }

  #end(result: SessionResult | undefined): void {
    this.#cutShort(result);
    this.#abandon.abort(sessionOver);
    this.stdin?.finish();
    this.stdout?.destroy();
    this.stderr?.destroy();
  }
}

/** Ignore errors: a terminal that is just closing cannot be resized. */
function tell(listener: (size: TerminalSize) => void, size: TerminalSize): void {
  try {
    listener(size);
  } catch {}
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
