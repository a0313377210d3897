/** How streams of other owners come to an end: told, waited for, or ignored. */
import type { Readable, Writable } from 'node:stream';

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
