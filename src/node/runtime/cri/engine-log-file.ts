/**
 * The log of a run that a container engine writes to a file. The agent rotates it: it renames the file, and asks the
 * engine to begin a new one. Readers see whole lines only.
 */
import { closeSync, type FSWatcher, fstatSync, openSync, readdirSync, readSync, watch } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { newline } from '../../logs/cri-log.ts';
import type { LogSegment, LogSource } from '../../logs/log-file.ts';
import { FileLog } from '../../logs/log-reader.ts';
import type { ContainerLog, LogQuery } from '../runtime.ts';

const segmentBytesDefault = 10 * 1024 * 1024;
const segmentsMax = 5;
/** Polling interval where the system does not report that a file grows. */
const pollMs = 500;

interface Segment extends LogSegment {
  path: string;
}

export class EngineLogFile implements LogSource, ContainerLog {
  readonly segments: Segment[] = [];
  readonly #listeners = new Set<() => void>();
  #ended = false;
  #watcher: FSWatcher | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly path: string,
    /** Asks the engine to begin a new file at the path. */
    private readonly reopen: () => Promise<unknown>,
    private readonly segmentBytes = segmentBytesDefault,
  ) {}

  get ended(): boolean {
    return this.#ended;
  }

  get bytes(): number {
    return this.segments.reduce((sum, segment) => sum + segment.bytes, 0);
  }

  read(query: LogQuery, gone: AbortSignal): AsyncIterable<Buffer> {
    this.refresh();
    return new FileLog(this).read(query, gone);
  }

  watch(listener: () => void): () => void {
    if (!this.#watcher && !this.#timer) this.#listen();
    // Before the listener is added, because it must not be called before it can be removed.
    this.refresh();
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
      if (!this.#listeners.size) this.#deafen();
    };
  }

  /** Reads how far the file has been written. */
  refresh(): void {
    if (!this.segments.length) this.#find();
    const current = this.segments.at(-1);
    if (!current || this.#ended) return;
    const bytes = wholeLines(current.path);
    if (bytes <= current.bytes) return;
    current.bytes = bytes;
    this.#tell();
  }

  /** Called when no more lines will come. */
  end(): void {
    this.refresh();
    this.#ended = true;
    this.#tell();
    this.#deafen();
  }

  /** Begins a new file if the current one is large; returns whether it did. */
  async rotate(): Promise<boolean> {
    this.refresh();
    const current = this.segments.at(-1);
    if (!current || current.bytes < this.segmentBytes || this.#ended) return false;
    const aside = `${this.path}.${numberOf(this.segments.at(-2)?.path ?? '') + 1}`;
    await rename(this.path, aside);
    current.path = aside;
    try {
      await this.reopen();
    } catch (error) {
      // The engine continues with the old file: give it its former name again.
      await rename(aside, this.path);
      current.path = this.path;
      throw error;
    }
    // Include what was written between the two steps.
    this.refresh();
    this.segments.push({ path: this.path, bytes: 0 });
    while (this.segments.length > segmentsMax) await rm(this.segments.shift()!.path, { force: true });
    return true;
  }

  async remove(): Promise<void> {
    for (const { path } of this.segments) await rm(path, { force: true });
  }

  #find(): void {
    let names: string[] = [];
    try {
      names = readdirSync(dirname(this.path));
    } catch {
      // The file does not exist yet.
    }
    const own = basename(this.path);
    const aside = names.filter((name) => name.startsWith(`${own}.`) && numberOf(name) > 0);
    const paths = aside
      .sort((a, b) => numberOf(a) - numberOf(b))
      .map((name) => join(dirname(this.path), name));
    for (const path of paths) this.segments.push({ path, bytes: wholeLines(path) });
    this.segments.push({ path: this.path, bytes: 0 });
  }

  #listen(): void {
    try {
      this.#watcher = watch(dirname(this.path), { persistent: false }, () => this.refresh());
      this.#watcher.on('error', () => this.#deafen());
    } catch {
      this.#timer = setInterval(() => this.refresh(), pollMs).unref();
    }
  }

  #deafen(): void {
    this.#watcher?.close();
    clearInterval(this.#timer);
    this.#watcher = undefined;
    this.#timer = undefined;
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

/** The number of a rotated file; 0 for another. */
const numberOf = (path: string): number => Number(/\.log\.(\d{1,9})$/.exec(path)?.[1] ?? 0);

/** The size of a file that ends with a whole line; 0 while a line is being written. */
function wholeLines(path: string): number {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    const { size } = fstatSync(file);
    const last = Buffer.alloc(1);
    return size && readSync(file, last, 0, 1, size - 1) && last[0] === newline ? size : 0;
  } catch {
    return 0;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}
