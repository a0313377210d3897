/** Relays: passing on what comes from one stream to another that belongs to somebody else, and may go away first. */
import type { Readable, Writable } from 'node:stream';
import { passed } from '../streams/passingbytes.ts';

/** Waiting for it is the cheapest way to be called in a moment. */
const resolved = Promise.resolve();

/**
 * Hands everything on, no faster than it is taken, and in one write what was read at once. What comes after the target
 * has gone is dropped, so that the source never waits for the dead. The target is not ended. Returns how to stop; the
 * source then flows on unread.
 */
export function relay(source: Readable, target: Writable | undefined): () => void {
  const resume = (): void => void source.resume();
  let corked = false;
  const uncork = (): void => {
    corked = false;
    target?.uncork();
  };
  const pass = (chunk: Buffer): void => {
    if (!target || target.destroyed || target.writableEnded) return;
    if (!corked) {
      corked = true;
      target.cork();
      void resolved.then(uncork);
    }
    if (!target.write(chunk)) source.pause();
    passed(chunk.length);
  };
  source.on('data', pass);
  target?.on('drain', resume).on('close', resume).on('error', resume);
  return () => {
    source.off('data', pass);
    target?.off('drain', resume).off('close', resume).off('error', resume);
    source.resume();
  };
}

/** For streams of others, which may break at any time: their owner deals with it. */
export function ignoreErrors(...streams: (Readable | Writable | undefined)[]): void {
  for (const stream of streams) stream?.on('error', () => undefined);
}

/** Resolves when a stream has given all it had, or was given up. */
export const ended = (stream: Readable | undefined): Promise<void> =>
  new Promise((resolve) => {
    if (!stream || stream.readableEnded || stream.destroyed) return resolve();
    stream.once('end', resolve).once('close', resolve);
  });

/** Resolves when a signal is aborted; `forget` lets go of it. */
export function aborted(signal: AbortSignal): { readonly promise: Promise<void>; forget(): void } {
  let forget = (): void => undefined;
  const promise = new Promise<void>((resolve) => {
    if (signal.aborted) return resolve();
    const abort = (): void => resolve();
    signal.addEventListener('abort', abort, { once: true });
    forget = () => signal.removeEventListener('abort', abort);
  });
  return { promise, forget };
}
