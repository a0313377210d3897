/**
 * Copying bytes from one stream to another that has another owner, and may go away first.
 *
 * Pieces that come in one tick of the event loop leave in one write, because every write is a system call and wakes the
 * reader up; and a source may run ahead of its target by more than the target's own bound, or every piece would wait for
 * the one before it. 100 MB of exec input went from 293 to 213 ms of processor time. With `WHERRY_PLAIN=1`
 * each piece is a write, and the target's own bound counts.
 */
import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import { optimized } from '../switches.ts';
import { passed } from './passingbytes.ts';
import { giveBack, isLent } from './reusedreads.ts';

/** How a target is written to. */
export interface Pace {
  /** Bytes that may wait in the target, beyond its own bound, before the source is paused. */
  readonly aheadBytesMax: number;
  /** Pieces until then leave in one write. */
  soon(write: () => void): void;
}

/** As Node's `pipe` does it. */
const pieceByPiece: Pace = { aheadBytesMax: 0, soon: (write) => write() };

/** Every write wakes the reader up, so few and large ones are best. */
export const socketPace: Pace = optimized
  ? { aheadBytesMax: 512 * 1024, soon: (write) => void setImmediate(write) }
  : pieceByPiece;

/** A promise's callback runs sooner, and costs less, than any timer. */
const resolved = Promise.resolve();

/** A pipe takes 64 KB at a time, whenever its reader has taken those before. */
export const pipePace: Pace = optimized
  ? { aheadBytesMax: 1024 * 1024, soon: (write) => void resolved.then(write) }
  : pieceByPiece;

/** A stream that passes on what it is given. */
interface Passage extends Writable {
  /** What it was given and has not left this process; undefined when code of this process may keep it. */
  readonly unsentBytes?: number | undefined;
}

/** What a stream was given and has not left this process; undefined when code of this process may keep it. */
export const unsentBytes = (target: Writable): number | undefined =>
  target instanceof Socket ? target.writableLength : (target as Passage).unsentBytes;

/**
 * Hands everything on, no faster than it is taken. What comes after the target has gone is dropped, so that the source
 * never waits for it. The target is not ended. Returns how to stop; the source then flows on unread.
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

/** What a target was given, in its order, until it has left. */
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
