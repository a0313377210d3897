/**
 * The log of one run of a container, as files: `<attempt>.log`, and rotated ones as `<attempt>.log.1` and so
 * on. The oldest files are deleted. The writer notifies readers of this process about new lines, so they
 * never poll.
 */
import { readdirSync, statSync } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { TurnQueue } from '../../turn-queue.ts';
import { LineEncoder, type LogStream, StampClock } from './cri-log.ts';

/** A log file is rotated at this size. One chunk of output may exceed it. */
const segmentBytesDefault = 10 * 1024 * 1024;
/** Number of files kept per run. */
const segmentsDefault = 5;
/** Encoded lines waiting for the disk; above this, the container is paused (back-pressure). */
const queuedBytesMax = 1024 * 1024;
/**
 * Maximum rate of a container's log; above it, the container is paused, so that one with endless output does
 * not occupy the agent.
 */
const bytesPerSecondMax = 16 * 1024 * 1024;
/** Output of all containers that is made into lines in one turn of the event loop: short lines take longer than long ones. */
const turnBytesMax = 64 * 1024;
const turns = new TurnQueue(1);
let turnBytesLeft = turnBytesMax;

/** How many of these bytes may be made into lines in this turn. */
function shareOfTurn(bytes: number): number {
  if (turnBytesLeft === turnBytesMax)
    setImmediate(() => {
      turnBytesLeft = turnBytesMax;
    });
  const share = Math.min(turnBytesLeft, bytes);
  turnBytesLeft -= share;
  return share;
}

/** Minimum interval between reports of disk errors. */
const complaintMs = 10_000;

export interface LogSegment {
  readonly path: string;
  /** Length up to the last complete line; readers must not read beyond it. */
  bytes: number;
}

/** A log as its readers see it. */
export interface LogSource {
  /** Oldest first. Only the last one grows. */
  readonly segments: readonly LogSegment[];
  /** Whether no more lines will come. */
  readonly ended: boolean;
  /** Calls the listener after every change, until the returned function is called. */
  watch(listener: () => void): () => void;
}

export interface LogWriterOptions {
  readonly now: () => number;
  readonly onError: (error: Error) => void;
  readonly segmentBytes?: number;
  readonly segments?: number;
  /** Called when a new file was begun. */
  readonly rotated?: () => void;
}

export class LogWriter implements LogSource {
  readonly segments: LogSegment[] = [];
  readonly #clock: StampClock;
  readonly #encoders = { stdout: new LineEncoder('stdout'), stderr: new LineEncoder('stderr') };
  readonly #listeners = new Set<() => void>();
  readonly #waiting = new Set<() => void>();
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  #flushing: Promise<void> | undefined;
  /** Resolves when no output waits for its turn. */
  #turning: Promise<unknown> = Promise.resolve();
  #handle: FileHandle | undefined;
  #made = 0;
  #ending = false;
  #ended = false;
  #complainedMs = Number.NEGATIVE_INFINITY;
  #allowance = bytesPerSecondMax;
  #refilledAt = performance.now();

  constructor(
    private readonly folder: string,
    private readonly attempt: number,
    private readonly options: LogWriterOptions,
  ) {
    this.#clock = new StampClock(options.now);
  }

  /** Creates the file, so that an empty log exists from the start. */
  open(): Promise<void> {
    return this.#nextSegment();
  }

  get ended(): boolean {
    return this.#ended;
  }

  get bytes(): number {
    return this.segments.reduce((sum, segment) => sum + segment.bytes, 0);
  }

  watch(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Adds output. If it returns a promise, the source must wait for it before it passes more (back-pressure). */
  write(stream: LogStream, chunk: Buffer): Promise<void> | undefined {
    if (this.#ending) return undefined;
    const share = shareOfTurn(chunk.length);
    if (share === chunk.length) return this.#write(stream, chunk);
    const written = this.#writeInTurns(stream, chunk, share);
    this.#turning = Promise.all([this.#turning, written]);
    return written;
  }

  #write(stream: LogStream, chunk: Buffer): Promise<void> | undefined {
    const lines = this.#encoders[stream].encode(chunk, this.#clock.next());
    this.#put(lines);
    const waitMs = this.#overspent(lines.length);
    if (waitMs <= 0 && this.#queuedBytes <= queuedBytesMax) return undefined;
    return this.#room(waitMs);
  }

  /** @param share bytes that are written now */
  async #writeInTurns(stream: LogStream, chunk: Buffer, share: number): Promise<void> {
    // Its memory may be used again before its turn.
    const rest = Buffer.from(chunk.subarray(share));
    if (share > 0) await this.#write(stream, chunk.subarray(0, share));
    for (let at = 0; at < rest.length; ) {
      await turns.next();
      const now = shareOfTurn(rest.length - at);
      if (now > 0) await this.#write(stream, rest.subarray(at, at + now));
      at += now;
    }
  }

  /** Writes the rest and closes the file. Readers that follow the log end. */
  async end(): Promise<void> {
    if (this.#ending) return this.#flushing;
    this.#ending = true;
    await this.#turning;
    const time = this.#clock.next();
    for (const encoder of Object.values(this.#encoders)) this.#put(encoder.end(time));
    await this.#flushing;
    await this.#handle?.close().catch(this.options.onError);
    this.#handle = undefined;
    this.#ended = true;
    this.#tell();
  }

  #put(lines: Buffer): void {
    if (!lines.length) return;
    this.#queue.push(lines);
    this.#queuedBytes += lines.length;
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined;
    });
  }

  async #flush(): Promise<void> {
    while (this.#queue.length) {
      const batch = this.#queue;
      this.#queue = [];
      for (const lines of batch) {
        await this.#append(lines).catch((error: Error) => this.#failed(error));
        this.#queuedBytes -= lines.length;
        if (this.#queuedBytes <= queuedBytesMax) this.#release();
      }
      this.#tell();
    }
  }

  async #append(lines: Buffer): Promise<void> {
    const { segmentBytes = segmentBytesDefault } = this.options;
    const current = this.segments.at(-1);
    if (!this.#handle || (current && current.bytes > 0 && current.bytes + lines.length > segmentBytes))
      await this.#nextSegment();
    const { bytesWritten } = await this.#handle!.write(lines);
    if (bytesWritten < lines.length)
      throw new Error(`the log could take only a part of ${lines.length} bytes`);
    this.segments.at(-1)!.bytes += lines.length;
  }

  async #nextSegment(): Promise<void> {
    await this.#handle?.close();
    this.#handle = undefined;
    const path = join(this.folder, segmentName(this.attempt, this.#made));
    this.#handle = await open(path, 'w', 0o640);
    this.#made++;
    this.segments.push({ path, bytes: 0 });
    const { segments = segmentsDefault } = this.options;
    while (this.segments.length > segments) await rm(this.segments.shift()!.path, { force: true });
    this.options.rotated?.();
  }

  /** A full or broken disk loses lines, but does not stop the container. Half-written lines are never read. */
  async #failed(error: Error): Promise<void> {
    await this.#handle?.close().catch(() => undefined);
    this.#handle = undefined;
    if (performance.now() - this.#complainedMs < complaintMs) return;
    this.#complainedMs = performance.now();
    this.options.onError(new Error(`log ${segmentName(this.attempt, this.#made)}: ${error.message}`));
  }

  /** Takes bytes from the rate allowance; returns for how many milliseconds it is overdrawn. */
  #overspent(bytes: number): number {
    const at = performance.now();
    const refill = ((at - this.#refilledAt) * bytesPerSecondMax) / 1000;
    this.#refilledAt = at;
    this.#allowance = Math.min(bytesPerSecondMax, this.#allowance + refill) - bytes;
    return (-this.#allowance * 1000) / bytesPerSecondMax;
  }

  async #room(waitMs: number): Promise<void> {
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    if (this.#queuedBytes > queuedBytesMax)
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
      });
  }

  #release(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

const segmentName = (attempt: number, number: number): string =>
  number ? `${attempt}.log.${number}` : `${attempt}.log`;

const segmentNames = /^(\d{1,10})\.log(?:\.(\d{1,10}))?$/;

/** The log files in a folder, by attempt, oldest first. */
function logFiles(folder: string): Map<number, string[]> {
  const found: { attempt: number; number: number; path: string }[] = [];
  for (const name of namesIn(folder)) {
    const parts = segmentNames.exec(name);
    if (parts)
      found.push({ attempt: Number(parts[1]), number: Number(parts[2] ?? 0), path: join(folder, name) });
  }
  found.sort((a, b) => a.attempt - b.attempt || a.number - b.number);
  const files = new Map<number, string[]>();
  for (const { attempt, path } of found) files.set(attempt, [...(files.get(attempt) ?? []), path]);
  return files;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** The log of a finished run, read from disk, or undefined. */
export function finishedLog(folder: string, attempt: number): LogSource | undefined {
  const paths = logFiles(folder).get(attempt);
  if (!paths) return undefined;
  const segments = paths.map((path) => ({ path, bytes: sizeOf(path) }));
  return { segments, ended: true, watch: () => () => undefined };
}

function sizeOf(path: string): number {
  try {
    return statSync(path).size;
  } catch {
    return 0;
  }
}

/** Removes the logs of all runs before `attempt`. */
export async function forgetLogs(folder: string, attempt: number): Promise<void> {
  for (const [old, paths] of logFiles(folder))
    if (old < attempt) for (const path of paths) await rm(path, { force: true });
}
