/**
 * A session under way: the streams that its handler sees, and how it comes to its end. The carriers (SPDY,
 * WebSocket) feed it and are fed by it.
 */
import type { Inflow, Outflow } from './carrierstreams.ts';
import type { Session, SessionHandler, SessionResult, SessionWish, TerminalSize } from './session.ts';
import type { SessionStatus } from './sessionstatus.ts';

/** A handler whose pod has ended has this long to say how its part of it ended. */
const endedMs = 2_000;

/** What a carrier has to know of the session it carries. */
export interface CarriedSession {
  readonly wish: SessionWish;
  readonly handler: SessionHandler;
  readonly idleMs: number;
  /** What the client is told of a result. */
  status(result: SessionResult): SessionStatus;
  /** Aborted when the pod has ended, and the session is to end with it. */
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
  /** Resolves with what to tell a client that is still there, or with undefined when it has gone. */
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

  /** The client has gone. */
  leave(): void {
    this.#end(undefined);
  }

  /** The session cannot go on, though the client is there and will be told why. */
  giveUp(message: string): void {
    this.#end({ kind: 'failure', message });
  }

  /**
   * Runs the handler until it has ended and its output is with the carrier. Answers what to tell the client,
   * undefined when it has gone. A handler that outlives its session is left to `gone`.
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
    // Input that still comes has no reader, and must not hold up the end. What came before the client left may be read.
    if (result !== undefined) this.stdin?.destroy();
    return result;
  }

  /** Gives up some time after the pod has ended; answers how to have that called off. */
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
    this.#abandon.abort();
    this.stdin?.finish();
    this.stdout?.destroy();
    this.stderr?.destroy();
  }
}

/** A terminal that is just ending cannot be resized any more, which is nobody's fault. */
function tell(listener: (size: TerminalSize) => void, size: TerminalSize): void {
  try {
    listener(size);
  } catch {}
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
