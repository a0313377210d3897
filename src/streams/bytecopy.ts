/** Copying bytes from one stream to another that belongs to somebody else, and may go away first. */
import type { Readable, Writable } from 'node:stream';
import { passed } from './passingbytes.ts';
import { reusedReads } from './reusedreads.ts';

/** How a target likes to be written to. */
export interface Pace {
  /** What the source may be ahead of it. With too little, every piece waits for the one before it to leave. */
  readonly aheadBytesMax: number;
  /** Pieces until then leave in one write. */
  soon(write: () => void): void;
}

/** Every write wakes somebody up, so few and large ones are best. */
export const socketPace: Pace = { aheadBytesMax: 512 * 1024, soon: (write) => void setImmediate(write) };

/** Waiting for it is the cheapest way to be called in a moment. */
const resolved = Promise.resolve();

/** It takes 64 KB at a time. More would only have left the processor's cache when its turn comes. */
export const pipePace: Pace = { aheadBytesMax: 128 * 1024, soon: (write) => void resolved.then(write) };

/** A stream that passes on what it is given. */
export interface Passage extends Writable {
  /** What it was given and has not left this process; undefined when somebody here may keep it. */
  readonly unsentBytes?: number | undefined;
}

/**
 * Hands everything on, no faster than it is taken, and in one write what comes in one turn, such as the pieces of a
 * frame. What comes after the target has gone is dropped, so that the source never waits for the dead. The target is not
 * ended. Returns how to stop; the source then flows on unread.
 */
export function copy(source: Readable, target: Passage | undefined, pace: Pace): () => void {
  const resume = (): void => void source.resume();
  const reads = reusedReads(source);
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
    if (!reads) passed(chunk.length);
    else if (target.unsentBytes !== undefined) {
      if (target.unsentBytes === 0) reads.takeBack();
      reads.lend(chunk);
    }
    if (!target.write(chunk) && (target.unsentBytes ?? target.writableLength) >= pace.aheadBytesMax)
      source.pause();
  };
  source.on('data', pass);
  target?.on('drain', resume).on('close', resume).on('error', resume);
  if (target?.writableNeedDrain && (target.unsentBytes ?? target.writableLength) >= pace.aheadBytesMax)
    source.pause();
  else source.resume();
  return () => {
    uncork();
    source.off('data', pass);
    target?.off('drain', resume).off('close', resume).off('error', resume);
    source.resume();
  };
}
