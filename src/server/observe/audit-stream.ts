/** The audit log on standard output: written line by line, never rotated. */
import type { AuditSink } from './audit-sink.ts';

export class AuditStream implements AuditSink {
  #written = 0;
  #dropped = 0;
  #failed = false;

  /** @param stream its errors are handled by its owner */
  constructor(private readonly stream: Pick<NodeJS.WriteStream, 'write' | 'writableLength'>) {}

  get written(): number {
    return this.#written;
  }

  get dropped(): number {
    return this.#dropped;
  }

  append(line: string): void {
    if (this.stream.writableLength > bufferedBytesMax) {
      this.#dropped++;
      return;
    }
    this.stream.write(line, (error) => {
      this.#failed = Boolean(error);
      if (error) this.#dropped++;
      else this.#written++;
    });
  }

  /** Resolves when the reader has taken what was written before. */
  flushed(): Promise<boolean> {
    return new Promise((resolve) => this.stream.write('', () => resolve(!this.#failed)));
  }

  async close(): Promise<void> {
    await this.flushed();
  }
}

/** Bytes that may wait for a slow reader. */
const bufferedBytesMax = 8 * 1024 * 1024;
