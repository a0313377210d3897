/**
 * Copies bytes from one stream to another that has a different owner and may be destroyed first.
 *
 * Pieces that arrive in one event loop tick are sent in one write, because every write is a system call and
 * wakes the reader up. A source may also run ahead of its target by more than the target's highWaterMark;
 * otherwise every piece would wait for the one before it. 100 MB of exec input went from 293 to 213 ms of
 * processor time. With
 * `WHERRY_PLAIN=1` each piece is one write, and the target's highWaterMark applies.
 */
import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { optimized } from '../../switches.ts';
import { passed } from './minor-collections.ts';
import { giveBack, isLent } from './reused-reads.ts';

/** How a target is written to. */
export interface Pace {
  /** Bytes that may wait in the target, beyond its own bound, before the source is paused. */
  readonly aheadBytesMax: number;
  /** Calls `write` soon; pieces until then are sent in one write. */
  soon(write: () => void): void;
}

/** As Node's `pipe` does it. */
const pieceByPiece: Pace = { aheadBytesMax: 0, soon: (write) => write() };

/** For sockets: every write wakes the reader up, so few large writes are best. */
export const socketPace: Pace = optimized
  ? { aheadBytesMax: 512 * 1024, soon: (write) => void setImmediate(write) }
  : pieceByPiece;

/** A promise callback runs sooner, and costs less, than any timer. */
const resolved = Promise.resolve();

/** For pipes, which take 64 KB at a time. */
export const pipePace: Pace = optimized
  ? { aheadBytesMax: 1024 * 1024, soon: (write) => void resolved.then(write) }
  : pieceByPiece;

/** A stream that only passes its data on. */
interface Passage extends Writable {
  /** Bytes accepted but not yet sent by this process; undefined when code in this process may keep the data. */
  readonly unsentBytes?: number | undefined;
}

/**
 * Bytes accepted by a stream but not yet sent by this process; undefined when code in this process may keep
 * the data.
 */
export const unsentBytes = (target: Writable): number | undefined =>
  target instanceof Socket ? target.writableLength : (target as Passage).unsentBytes;

/**
 * Copies everything, with back-pressure. Data after the target was destroyed is dropped, so that the source
 * never blocks. The target is not ended. Returns a function that stops the copy; the source then flows on,
 * and its data is discarded.
 */
export function copy(source: Readable, target: Writable | undefined, pace: Pace): () => void {
  const underWay = new PiecesUnderWay();
  const isAhead = (of: Writable): boolean => (unsentBytes(of) ?? of.writableLength) >= pace.aheadBytesMax;
  const resume = (): void => void source.resume();
  let corked = false;
  const uncork = (): void => {
    if (!corked) return;
    corked = false;
    target?.uncork();
  };
  const pass = (chunk: Buffer): void => {
    if (!target || target.destroyed || target.writableEnded) return;
    if (!corked) {
      corked = true;
      target.cork();
      pace.soon(uncork);
    }
    if (!isLent(chunk)) passed(chunk.length);
    const unsent = unsentBytes(target);
    if (unsent !== undefined) {
      underWay.giveBackSent(unsent);
      underWay.add(chunk);
    }
    if (!target.write(chunk) && isAhead(target)) source.pause();
  };
  source.on('data', pass);
  target?.on('drain', resume).on('close', resume).on('error', resume);
  if (target?.writableNeedDrain && isAhead(target)) source.pause();
  else source.resume();
  return () => {
    uncork();
    source.off('data', pass);
    target?.off('drain', resume).off('close', resume).off('error', resume);
    source.resume();
  };
}

/** The pieces written to a target that are not sent yet, in order. */
class PiecesUnderWay {
  readonly #pieces: Buffer[] = [];
  #bytes = 0;

  add(piece: Buffer): void {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
  }

  giveBackSent(unsent: number): void {
    const pieces = this.#pieces;
    let gone = 0;
    while (gone < pieces.length && this.#bytes - pieces[gone]!.length >= unsent) {
      const piece = pieces[gone++]!;
      this.#bytes -= piece.length;
      giveBack(piece);
    }
    if (gone > 0) pieces.splice(0, gone);
  }
}
