/**
 * Files that are read again when they change: certificates and authorities that others renew. The system reports
 * changes where it can; because it cannot everywhere, the files are also looked at now and then. What cannot be used is
 * logged, and what was read before stays.
 */
import { type FSWatcher, readFileSync, statSync, watch } from 'node:fs';
import path from 'node:path';

/** Certificates and keys, also in bundles. */
const fileBytesMax = 4 * 1024 * 1024;
const lookMs = 60_000;
/** A certificate and its key are replaced one after the other: the second is waited for. */
const settleMs = 200;

export interface WatchedFilesOptions {
  readonly paths: readonly string[];
  /** Takes what is in the files, in the order of their paths. Throws when it cannot be used. */
  readonly take: (texts: readonly string[]) => void;
  readonly log: (message: string) => void;
}

export class WatchedFiles {
  readonly #watchers: FSWatcher[] = [];
  readonly #timer: NodeJS.Timeout;
  #settling: NodeJS.Timeout | undefined;
  #texts: readonly string[];
  /** The failure that was logged last: it is not said again every minute. */
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

  /** Reads the files, and takes them when they have changed. */
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
      // The system has no watches left: the timer remains.
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
