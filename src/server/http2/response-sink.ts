/** The answer of a stream as a stream of Node, for bodies that come from one. */
import { Writable } from 'node:stream';

/** What it needs of an answer. */
export interface SunkResponse {
  readonly destroyed: boolean;
  readonly writableFinished: boolean;
  write(bytes: Buffer): boolean;
  end(): unknown;
  destroy(): unknown;
  once(event: 'drain' | 'close', listener: () => void): unknown;
}

export class ResponseSink extends Writable {
  /** Called when the client has taken what was written. */
  #done: ((error?: Error | null) => void) | undefined;

  constructor(private readonly response: SunkResponse) {
    super();
    if (response.destroyed) this.destroy();
    else response.once('close', () => this.#closed());
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.response.write(chunk)) return done();
    this.#done = done;
    this.response.once('drain', () => this.#goOn());
  }

  #goOn(): void {
    const done = this.#done;
    this.#done = undefined;
    done?.();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#done = done;
    this.response.end();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    if (!this.response.destroyed) this.response.destroy();
    done(error);
  }

  #closed(): void {
    if (this.response.writableFinished) this.#goOn();
    if (!this.writableFinished) this.destroy();
  }
}
