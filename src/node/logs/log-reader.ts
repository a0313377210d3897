/**
 * Reads container logs: the last lines without reading the rest, since a time, with timestamps, up to a
 * number of bytes, and following while the container writes. Memory use does not depend on the size of the
 * log.
 */
import { type FileHandle, open } from 'node:fs/promises';
import { turnToAnswer } from '../../time-slices.ts';
import type { ContainerLog, LogQuery } from '../runtime/runtime.ts';
import { headLength, isPartial, isPlain, newline, stamp, stampBytes, storedLineBytesMax } from './cri-log.ts';
import type { LogSegment, LogSource } from './log-file.ts';

/** Bytes per read. Much longer than the longest line, so that every block contains the end of one. */
const blockBytes = 8 * storedLineBytesMax;

/** A block with more takes a part of a turn of the event loop. */
const longBytes = 16 * 1024;
/** For shorter lines, a call of `copy` takes longer than to copy each byte. */
const shortLineMax = 48;

interface Position {
  readonly segment: LogSegment;
  readonly offset: number;
}

export class FileLog implements ContainerLog {
  constructor(private readonly source: LogSource) {}

  async *read(query: LogQuery, gone: AbortSignal): AsyncGenerator<Buffer, void, undefined> {
    const cursor = new LogCursor(this.source, query.follow, gone);
    const text = new LogText(query);
    try {
      await cursor.start(query.tailLines);
      for (let block = await cursor.next(); block; block = await cursor.next()) {
        // Files of many readers are read at the same time, and all their blocks would be made into lines in one turn.
        if (block.length >= longBytes) await turnToAnswer();
        const piece = text.of(block);
        if (piece.length) yield piece;
        if (text.full) return;
      }
    } finally {
      await cursor.close();
    }
  }
}

/** Walks through the files of a log; returns blocks of complete stored lines. */
class LogCursor {
  #segment: LogSegment | undefined;
  #offset = 0;
  #handle: FileHandle | undefined;
  #opened: LogSegment | undefined;
  /** Without follow: where the log ended when the request came. */
  readonly #stop: Position | undefined;

  constructor(
    private readonly source: LogSource,
    private readonly follow: boolean,
    private readonly gone: AbortSignal,
  ) {
    const last = source.segments.at(-1);
    this.#segment = source.segments[0];
    this.#stop = follow || !last ? undefined : { segment: last, offset: last.bytes };
  }

  async start(tailLines: number | undefined): Promise<void> {
    if (tailLines === undefined) return;
    const start = await this.#tail(tailLines);
    this.#segment = start?.segment;
    this.#offset = start?.offset ?? 0;
  }

  /** Undefined at the end. */
  async next(): Promise<Buffer | undefined> {
    while (!this.gone.aborted) {
      const { source } = this;
      const { ended } = source;
      this.#segment ??= source.segments[0];
      const segment = this.#segment;
      if (segment) {
        const limit = segment === this.#stop?.segment ? this.#stop.offset : segment.bytes;
        if (this.#offset < limit) {
          const block = await this.#block(segment, limit);
          if (block?.length) return block;
          continue;
        }
        if (segment === this.#stop?.segment) return undefined;
        // If the file was deleted by rotation, its successors may be gone as well.
        const after = source.segments[source.segments.indexOf(segment) + 1];
        if (after) {
          this.#segment = after;
          this.#offset = 0;
          continue;
        }
      }
      if (!this.follow || ended) return undefined;
      await this.#change(segment);
    }
    return undefined;
  }

  async close(): Promise<void> {
    await this.#handle?.close().catch(() => undefined);
    this.#handle = undefined;
    this.#opened = undefined;
  }

  /** The next complete lines of a file; undefined when it cannot be read, with the offset moved to its end. */
  async #block(segment: LogSegment, limit: number): Promise<Buffer | undefined> {
    const handle = await this.#open(segment);
    const wanted = Math.min(blockBytes, limit - this.#offset);
    const block = Buffer.allocUnsafe(wanted);
    const bytesRead = handle ? (await handle.read(block, 0, wanted, this.#offset)).bytesRead : 0;
    if (!bytesRead) {
      this.#offset = limit;
      return undefined;
    }
    const read = block.subarray(0, bytesRead);
    const end = read.lastIndexOf(newline) + 1;
    // A block without a line end was not written by Wherry: skip it.
    this.#offset += end || bytesRead;
    return read.subarray(0, end);
  }

  async #open(segment: LogSegment): Promise<FileHandle | undefined> {
    if (this.#opened === segment) return this.#handle;
    await this.close();
    this.#opened = segment;
    this.#handle = await open(segment.path).catch(() => undefined);
    return this.#handle;
  }

  /** Waits until there is more than at the last read. */
  #change(seen: LogSegment | undefined): Promise<void> {
    const { source, gone } = this;
    return new Promise((resolve) => {
      const look = (): void => {
        const more = source.segments.at(-1) !== seen || (seen && seen.bytes > this.#offset);
        if (!more && !source.ended && !gone.aborted) return;
        forget();
        gone.removeEventListener('abort', look);
        resolve();
      };
      const forget = source.watch(look);
      gone.addEventListener('abort', look);
      look();
    });
  }

  /** The position where the last `lines` lines begin, searched backwards. */
  async #tail(lines: number): Promise<Position | undefined> {
    const files = this.source.segments.map((segment) => ({ segment, bytes: segment.bytes }));
    let left = lines;
    for (const { segment, bytes } of files.reverse()) {
      if (left <= 0) return { segment, offset: bytes };
      const found = await this.#tailOf(segment, bytes, left);
      if (found.offset > 0 || found.lines >= left) return { segment, offset: found.offset };
      left -= found.lines;
    }
    const first = files.at(-1);
    return first && { segment: first.segment, offset: 0 };
  }

  /** How many of the wanted lines one file has, and where they begin. */
  async #tailOf(
    segment: LogSegment,
    bytes: number,
    wanted: number,
  ): Promise<{ lines: number; offset: number }> {
    const handle = await this.#open(segment);
    if (!handle) return { lines: 0, offset: 0 };
    let lines = 0;
    let end = bytes;
    const block = Buffer.allocUnsafe(blockBytes);
    while (end > 0) {
      const start = Math.max(0, end - blockBytes);
      const { bytesRead } = await handle.read(block, 0, end - start, start);
      for (let at = block.lastIndexOf(newline, bytesRead - 1); at >= 0 && bytesRead; ) {
        // This is the end of the line before the wanted ones.
        if (lines === wanted) return { lines, offset: start + at + 1 };
        lines++;
        at = at ? block.lastIndexOf(newline, at - 1) : -1;
      }
      end = start;
    }
    return { lines, offset: 0 };
  }
}

/** Turns stored lines into the client's output. */
class LogText {
  readonly #since: Buffer | undefined;
  #left: number;
  #continued = false;

  constructor(private readonly query: LogQuery) {
    this.#since = query.sinceMs === undefined ? undefined : Buffer.from(sinceStamp(query.sinceMs));
    this.#left = query.limitBytes ?? Number.POSITIVE_INFINITY;
  }

  /** Whether the byte limit of the request is reached. */
  get full(): boolean {
    return this.#left <= 0;
  }

  /** The block is written over: output is never longer than the stored lines, and another buffer would be garbage soon. */
  of(block: Buffer): Buffer {
    let at = 0;
    for (let start = 0; start < block.length && at < this.#left; ) {
      const end = block.indexOf(newline, start);
      const head = headLength(block, start, end);
      if (head && !this.#tooOld(block, start, head)) at = this.#line(block, start, head, end, at);
      start = end + 1;
    }
    const text = block.subarray(0, Math.min(at, this.#left));
    this.#left -= text.length;
    return text;
  }

  #line(block: Buffer, start: number, head: number, end: number, from: number): number {
    let at = from;
    const isContinued = isPartial(block, start, head);
    // The time and the space behind it; only once for a line stored in pieces.
    if (this.query.timestamps && !this.#continued)
      at += block.copy(block, at, start, block.indexOf(' ', start) + 1);
    at = moved(block, start + head, end, at);
    this.#continued = isContinued;
    if (!isContinued) block[at++] = newline;
    return at;
  }

  #tooOld(block: Buffer, start: number, head: number): boolean {
    const since = this.#since;
    if (since === undefined) return false;
    if (isPlain(block, start)) return block.compare(since, 0, stampBytes, start, start + stampBytes) < 0;
    const [time = ''] = block.toString('latin1', start, start + head).split(' ');
    return Date.parse(time) < this.query.sinceMs!;
  }
}

/** The timestamp for a time, clamped to the range that log lines can have. */
function sinceStamp(ms: number): string {
  const latest = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
  return stamp(Math.trunc(Math.min(Math.max(ms, 0), latest)));
}

/** Moves bytes of a block towards its begin, and tells where they end there. */
function moved(block: Buffer, start: number, end: number, at: number): number {
  if (end - start > shortLineMax) return at + block.copy(block, at, start, end);
  let next = at;
  for (let i = start; i < end; i++) block[next++] = block[i]!;
  return next;
}
