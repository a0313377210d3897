/** How the command ends: in good order on a signal, and with a sentence and code 1 when it cannot start or go on. */
import { StartError } from '../cluster/index.ts';
import { StoreUnavailableError } from '../store/store.ts';
import { UsageError } from './options.ts';

/** What cannot go on any more has this long to close. */
const lastCloseMaxMs = 10_000;

/** The process, or what stands for it in a test. */
export interface Host {
  on(signal: 'SIGTERM' | 'SIGINT', listener: () => void): unknown;
  exit(code: number): void;
  readonly stderr: { write(text: string): unknown };
}

export interface Closable {
  close(): Promise<void>;
}

export class Ending {
  #running: Closable | undefined;
  #closing = false;

  constructor(private readonly host: Host) {}

  /** A signal closes this, and ends the process. */
  of(running: Closable): void {
    this.#running = running;
    const close = (): void => {
      // Who asks twice wants it now.
      if (this.#closing) return this.host.exit(1);
      this.#closing = true;
      running.close().then(
        () => this.host.exit(0),
        (error: Error) => this.fail(error),
      );
    };
    this.host.on('SIGTERM', close);
    this.host.on('SIGINT', close);
  }

  /** Says why, and ends the process. */
  fail(error: Error): void {
    this.#say(error);
    this.host.exit(1);
  }

  /** What runs cannot go on: says why, closes as much of it as can be closed, and ends the process. */
  failRunning(error: Error): void {
    this.#say(error);
    if (this.#closing) return;
    this.#closing = true;
    const exit = (): void => this.host.exit(1);
    setTimeout(exit, lastCloseMaxMs).unref();
    // That it does not close well either is no news.
    (this.#running?.close() ?? Promise.resolve()).then(exit, exit);
  }

  #say(error: Error): void {
    const expected =
      error instanceof UsageError || error instanceof StartError || error instanceof StoreUnavailableError;
    this.host.stderr.write(`wherry: ${expected ? error.message : (error.stack ?? error.message)}\n`);
  }
}
