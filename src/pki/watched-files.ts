/**
 * Files that are read again when they change: certificates and authorities that others renew. The system reports
 * changes where it can; elsewhere the files are checked periodically. Content that cannot be used is logged, and the
 * former content stays in use.
 */
import { type FSWatcher, readFileSync, statSync, watch } from 'node:fs';
import path from 'node:path';

/** Maximum size of a file, enough for bundles. */
const fileBytesMax = 4 * 1024 * 1024;
const lookMs = 60_000;
/** Delay before reading: a certificate and its key are replaced one after the other. */
const settleMs = 200;

export interface WatchedFilesOptions {
  readonly paths: readonly string[];
  /** Called with the contents of the files, in the order of their paths. Throws when they cannot be used. */
  readonly take: (texts: readonly string[]) => void;
  readonly log: (message: string) => void;
}

export class WatchedFiles {
  readonly #watchers: FSWatcher[] = [];
  readonly #timer: NodeJS.Timeout;
  #settling: NodeJS.Timeout | undefined;
  #texts: readonly string[];
  /** The last logged failure, so that it is not repeated every minute. */
  #said = '';

  /** Throws when the files cannot be used now. */
  constructor(private readonly options: WatchedFilesOptions) {
    this.#texts = this.#read();
    options.take(this.#texts);
    const folders = new Set(options.paths.map((file) => path.dirname(path.resolve(file))));
    for (const folder of folders) this.#watch(folder);
    this.#timer = setInterval(() => this.look(), lookMs);
    this.#timer.unref();
  }

  /** Reads the files, and uses them if they have changed. */
  look(): void {
    try {
      const texts = this.#read();
      if (texts.every((text, at) => text === this.#texts[at])) return;
      this.options.take(texts);
      this.#texts = texts;
      this.#said = '';
    } catch (error) {
      const { message } = error as Error;
      if (message === this.#said) return;
      this.#said = message;
      this.options.log(
        `${this.options.paths.join(', ')} cannot be used, so what was there before stays: ${message}`,
      );
    }
  }

  close(): void {
    clearInterval(this.#timer);
    clearTimeout(this.#settling);
    for (const watcher of this.#watchers) watcher.close();
  }

  #watch(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, () => this.#lookSoon());
      watcher.on('error', () => watcher.close());
      this.#watchers.push(watcher);
    } catch {
      // The system has no watches left: the timer is enough.
    }
  }

  #lookSoon(): void {
    clearTimeout(this.#settling);
    this.#settling = setTimeout(() => this.look(), settleMs);
    this.#settling.unref();
  }

  #read(): readonly string[] {
    return this.options.paths.map((file) => {
      if (statSync(file).size > fileBytesMax) throw new Error(`${file} is larger than ${fileBytesMax} bytes`);
      return readFileSync(file, 'utf8');
    });
  }
}
