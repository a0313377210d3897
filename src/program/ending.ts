/** How the command ends: closes everything on a signal; on a fatal error prints a message and exits with code 1. */
import { StartError } from '../cluster/index.ts';
import { terminalText } from '../cluster/shared/terminal-text.ts';
import { StoreUnavailableError } from '../store/store.ts';
import { UsageError } from './usage-error.ts';

/** Time limit for closing after a fatal error. */
const lastCloseMaxMs = 10_000;

/** Time limit for closing after a signal: longer than the server, its requests and the containers of engines take. */
const closeMaxMs = 60_000;
/** When closing takes longer, what it waits for is printed. */
const closeQuietMs = 10_000;

/** SIGHUP is sent when a terminal is closed. */
const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** The process, or a fake in tests. */
export interface Host {
  on(signal: (typeof signals)[number], listener: () => void): unknown;
  on(event: 'uncaughtException', listener: (error: Error) => void): unknown;
  exit(code: number): void;
  readonly stderr: { write(text: string): unknown };
  readonly stdout?: { write(text: string): unknown };
}

interface Closable {
  close(): Promise<void>;
  /** The message when it is closed on a signal; default: none. */
  closingLine?(): string;
  /** What `close()` waits for now, in words. */
  readonly closingPart?: string | undefined;
}

export class Ending {
  #starting: Promise<Closable> | undefined;
  /** The message on a signal while the start is under way. */
  #startingLine: string | undefined;
  /** What is being closed, once its start is over. */
  #running: Closable | undefined;
  #closing = false;

  constructor(private readonly host: Host) {}

  /**
   * Registers what is being started, so that signals and failures close it before the process exits, even
   * during the start.
   * @param line the message when a signal comes during the start; default: none
   */
  of<T extends Closable>(starting: Promise<T>, line?: string): Promise<T> {
    this.#starting = starting;
    this.#startingLine = line;
    const begun = (): void => void (this.#startingLine = undefined);
    starting.then(begun, begun);
    for (const signal of signals) this.host.on(signal, () => this.#close());
    this.host.on('uncaughtException', (error) => this.failRunning(error));
    return starting;
  }

  /** Whether a signal or a failure ends it: nothing more is to be said of the start. */
  get isClosing(): boolean {
    return this.#closing;
  }

  #close(): void {
    // A second signal: exit at once.
    if (this.#closing) return this.host.exit(1);
    this.#closing = true;
    setTimeout(() => this.#tellWaiting(), closeQuietMs).unref();
    setTimeout(() => this.#leave(), closeMaxMs).unref();
    this.#closed(true).then(
      () => this.host.exit(0),
      (error: Error) => this.#sayAndExit(error),
    );
  }

  /** Resolves when everything is closed; a failed start has closed itself. */
  async #closed(says = false): Promise<void> {
    const early = says ? this.#startingLine : undefined;
    if (early !== undefined) this.host.stdout?.write(early);
    const running = await this.#starting?.catch(() => undefined);
    this.#running = running;
    if (says && early === undefined && running?.closingLine) this.host.stdout?.write(running.closingLine());
    await running?.close();
  }

  #tellWaiting(): void {
    this.host.stdout?.write(`Still stopping: waiting for ${this.#waitedFor}\n`);
  }

  /** Exits although not everything is closed: a part that hangs must not keep the process for ever. */
  #leave(): void {
    this.host.stderr.write(
      `wherry: left after ${closeMaxMs / 1_000} seconds without waiting any longer for ${this.#waitedFor}\n`,
    );
    this.host.exit(1);
  }

  get #waitedFor(): string {
    if (!this.#running) return 'the start, which was under way';
    return this.#running.closingPart ?? 'parts without a name';
  }

  /** Called when the command failed: prints the error and exits. Errors during an intended close are not printed. */
  fail(error: Error): void {
    if (!this.#closing) this.#sayAndExit(error);
  }

  /** Called on a fatal error of the running cluster: prints it, closes what can be closed, and exits. */
  failRunning(error: Error): void {
    this.#say(error);
    if (this.#closing) return;
    this.#closing = true;
    const exit = (): void => this.host.exit(1);
    setTimeout(exit, lastCloseMaxMs).unref();
    // Ignore errors of closing.
    this.#closed().then(exit, exit);
  }

  #sayAndExit(error: Error): void {
    this.#say(error);
    this.host.exit(1);
  }

  #say(error: Error): void {
    const expected =
      error instanceof UsageError || error instanceof StartError || error instanceof StoreUnavailableError;
    // Sentences may repeat what a server answered.
    const told = error.message.split('\n').map(terminalText).join('\n');
    this.host.stderr.write(`wherry: ${expected ? told : (error.stack ?? error.message)}\n`);
  }
}
