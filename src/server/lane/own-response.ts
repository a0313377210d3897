/** The answer to a request of this process, kept until it is whole. To handlers it looks like any other. */
import { EventEmitter } from 'node:events';
import type { ApiResponse } from '../http/context.ts';

export interface OwnAnswer {
  readonly code: number;
  readonly text: string;
}

export class OwnResponse extends EventEmitter implements ApiResponse {
  statusCode = 200;
  headersSent = false;
  destroyed = false;
  writableEnded = false;
  writableFinished = false;
  /** Nothing waits for a reader. */
  readonly writableLength = 0;
  readonly #parts: Buffer[] = [];

  constructor(
    private readonly answered: (answer: OwnAnswer) => void,
    /** Called when it is broken off. */
    private readonly lost: (error: Error) => void,
  ) {
    super();
  }

  setHeader(): this {
    return this;
  }

  writeHead(code: number): this {
    this.statusCode = code;
    this.headersSent = true;
    return this;
  }

  cork(): void {
    // It is handed over as a whole anyway.
  }

  write(bytes: Buffer | string): boolean {
    this.#parts.push(typeof bytes === 'string' ? Buffer.from(bytes) : bytes);
    return true;
  }

  end(bytes?: Buffer | string): this {
    if (this.writableEnded || this.destroyed) return this;
    this.writableEnded = this.writableFinished = true;
    if (bytes) this.write(bytes);
    const [only] = this.#parts;
    const whole = this.#parts.length === 1 ? only! : Buffer.concat(this.#parts);
    this.answered({ code: this.statusCode, text: whole.toString('utf8') });
    this.emit('close');
    return this;
  }

  destroy(): void {
    if (this.destroyed || this.writableEnded) return;
    this.destroyed = true;
    this.lost(Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' }));
    this.emit('close');
  }
}
