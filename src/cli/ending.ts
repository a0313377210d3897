/** How the command ends: in good order on a signal, and with a sentence and code 1 when it cannot start or go on. */
import { StartError } from '../cluster/index.ts';
import { StoreUnavailableError } from '../store/store.ts';
import { UsageError } from './options.ts';

/** After a failure, what runs has this long to close. */
const lastCloseMaxMs = 10_000;

/** A terminal that is closed sends SIGHUP. */
const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** The process, or what stands for it in a test. */
export interface Host {
  on(signal: (typeof signals)[number], listener: () => void): unknown;
  on(event: 'uncaughtException', listener: (error: Error) => void): unknown;
  exit(code: number): void;
  readonly stderr: { write(text: string): unknown };
}

interface Closable {
  close(): Promise<void>;
}

export class Ending {
  #starting: Promise<Closable> | undefined;
  #closing = false;

  constructor(private readonly host: Host) {}

  /** Signals and failures close what is being started here before the process ends, also while it is still starting. */
  of<T extends Closable>(starting: Promise<T>): Promise<T> {
    this.#starting = starting;
    for (const signal of signals) this.host.on(signal, () => this.#close());
    this.host.on('uncaughtException', (error) => this.failRunning(error));
    return starting;
  }

  #close(): void {
    // A second signal means: now.
    if (this.#closing) return this.host.exit(1);
    this.#closing = true;
    this.#closed().then(
      () => this.host.exit(0),
      (error: Error) => this.#sayAndExit(error),
    );
  }

  /** Resolves when what was started is closed; a start that failed has closed itself. */
  async #closed(): Promise<void> {
    const running = await this.#starting?.catch(() => undefined);
    await running?.close();
  }

  /** The command failed: says why, and ends the process. Failures while it is closing on purpose are not told. */
  fail(error: Error): void {
    if (!this.#closing) this.#sayAndExit(error);
  }

  /** What runs cannot go on: says why, closes as much of it as can be closed, and ends the process. */
  failRunning(error: Error): void {
    this.#say(error);
    if (this.#closing) return;
    this.#closing = true;
    const exit = (): void => this.host.exit(1);
    setTimeout(exit, lastCloseMaxMs).unref();
    // That it does not close well either is no news.
    this.#closed().then(exit, exit);
  }

  #sayAndExit(error: Error): void {
    this.#say(error);
    this.host.exit(1);
  }

  #say(error: Error): void {
    const expected =
      error instanceof UsageError || error instanceof StartError || error instanceof StoreUnavailableError;
    this.host.stderr.write(`wherry: ${expected ? error.message : (error.stack ?? error.message)}\n`);
  }
}
