/**
 * The file of the audit log: lines are buffered and written in the background, in batches. The buffer is bounded:
 * when the disk is slower than the requests, lines are dropped and counted; the log never slows the server down.
 *
 *   closed ──► idle ──► waiting (for more lines to come) ──► writing ──► idle
 *
 * A file that has reached its size is renamed after the time (`audit-2026-01-31T09-05-00.123.log`), and the oldest
 * renamed files are deleted.
 */
import { type FileHandle, open, readdir, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, extname, join } from 'node:path';
import type { AuditSink } from './audit-sink.ts';

/** Characters that may be buffered. */
const queueCharsMax = 8 * 1024 * 1024;
/** A batch is written after this time, or at this many characters. */
const gatherMs = 50;
const gatherChars = 256 * 1024;
/** Delay of the next attempt after a failure. */
const retryMs = 1_000;
/** On close, the time to write the remaining lines. */
const closeMs = 5_000;
/** Readable by the owner only: the log shows who did what. */
const fileMode = 0o600;

export interface AuditFileOptions {
  readonly file: string;
  /** Size at which the file is rotated. */
  readonly bytesMax: number;
  /** Rotated files that are kept. */
  readonly backupsMax: number;
  /** Age at which rotated files are deleted. Default: no age. */
  readonly ageMaxMs?: number;
  readonly nowMs: () => number;
  /** Called when a write fails; not again until one has succeeded. */
  readonly report: (error: Error) => void;
  /** Default: 8 Mi characters. */
  readonly queueCharsMax?: number;
}

export class AuditFile implements AuditSink {
  #lines: string[] = [];
  #chars = 0;
  #bytes: number;
  #handle: FileHandle | undefined;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #failing = false;
  #closed = false;
  #written = 0;
  #dropped = 0;

  private constructor(
    private readonly options: AuditFileOptions,
    handle: FileHandle,
    bytes: number,
    /** Devices and pipes cannot be renamed. */
    private readonly isRotated: boolean,
  ) {
    this.#handle = handle;
    this.#bytes = bytes;
  }

  /** Rejects when the file cannot be written at all. */
  static async open(options: AuditFileOptions): Promise<AuditFile> {
    const handle = await open(options.file, 'a', fileMode);
    const stats = await handle.stat();
    return new AuditFile(options, handle, stats.size, stats.isFile());
  }

  /** Lines written. */
  get written(): number {
    return this.#written;
  }

  /** Lines lost, because the disk was too slow or failed. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Buffers a line, which ends in a line feed. */
  append(line: string): void {
    if (this.#closed || this.#chars + line.length > (this.options.queueCharsMax ?? queueCharsMax)) {
      this.#dropped++;
      return;
    }
    this.#lines.push(line);
    this.#chars += line.length;
    if (this.#writing) return;
    if (this.#chars >= gatherChars && !this.#failing) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), this.#failing ? retryMs : gatherMs);
  }

  async flushed(): Promise<boolean> {
    await this.#writing;
    this.#flush();
    await this.#writing;
    return !this.#failing;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const rest = this.#writeRest();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, closeMs);
    });
    await Promise.race([rest, late]);
    clearTimeout(timer);
  }

  async #writeRest(): Promise<void> {
    await this.#writing;
    this.#flush();
    await this.#writing;
    await this.#handle?.close().catch(this.options.report);
    this.#handle = undefined;
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#lines.length === 0) return;
    const lines = this.#lines;
    this.#lines = [];
    this.#chars = 0;
    this.#writing = this.#write(lines).finally(() => {
      this.#writing = undefined;
      // Lines that arrived meanwhile are collected for the next batch.
      if (this.#lines.length > 0 && !this.#closed)
        this.#timer = setTimeout(() => this.#flush(), this.#failing ? retryMs : gatherMs);
    });
  }

  /** Never rejects. */
  async #write(lines: readonly string[]): Promise<void> {
    const bytes = Buffer.from(lines.join(''));
    try {
      this.#handle ??= await this.#reopen();
      if (this.isRotated && this.#bytes > 0 && this.#bytes + bytes.length > this.options.bytesMax) {
        await this.#putAside();
        this.#handle = await this.#reopen();
      }
      await this.#handle.appendFile(bytes);
      this.#bytes += bytes.length;
      this.#written += lines.length;
      this.#failing = false;
    } catch (error) {
      this.#dropped += lines.length;
      if (!this.#failing) this.options.report(error as Error);
      this.#failing = true;
      // Reopen the file at the next attempt, whatever the error was.
      await this.#handle?.close().catch(() => undefined);
      this.#handle = undefined;
    }
  }

  async #reopen(): Promise<FileHandle> {
    const handle = await open(this.options.file, 'a', fileMode);
    this.#bytes = (await handle.stat()).size;
    return handle;
  }

  async #putAside(): Promise<void> {
    const { file, backupsMax } = this.options;
    await this.#handle?.close();
    this.#handle = undefined;
    // It may have been removed already, by an administrator or a log rotator.
    await rename(file, await this.#backupName()).catch(ignoreMissing);
    const folder = dirname(file);
    const names = (await readdir(folder)).filter((name) => isBackup(name, file)).sort();
    const surplus = names.length - backupsMax;
    for (const name of names.filter((name, i) => i < surplus || this.#isOld(name)))
      await unlink(join(folder, name)).catch(ignoreMissing);
  }

  #isOld(name: string): boolean {
    const { file, ageMaxMs = Number.POSITIVE_INFINITY, nowMs } = this.options;
    const time = name.slice(stem(file).length + 1, name.length - extname(file).length);
    const [date, clock] = time.split('T') as [string, string];
    return nowMs() - Date.parse(`${date}T${clock.replaceAll('-', ':')}Z`) > ageMaxMs;
  }

  async #backupName(): Promise<string> {
    const { file } = this.options;
    for (let ms = this.options.nowMs(); ; ms++) {
      const time = new Date(ms).toISOString().slice(0, -1).replaceAll(':', '-');
      const name = join(dirname(file), `${stem(file)}-${time}${extname(file)}`);
      if (!(await stat(name).catch(ignoreMissing))) return name;
    }
  }
}

const stem = (file: string): string => basename(file, extname(file));

const backupTime = /^-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}$/;

/** Only files that this log has rotated itself are deleted. */
function isBackup(name: string, file: string): boolean {
  const start = stem(file);
  const end = extname(file);
  return (
    name.startsWith(start) &&
    name.endsWith(end) &&
    backupTime.test(name.slice(start.length, name.length - end.length))
  );
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
