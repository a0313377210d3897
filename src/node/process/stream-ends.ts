/** Helpers for the ends of streams: wait for them, or ignore their errors. */
import type { Readable, Writable } from 'node:stream';

/** For streams owned by others, which may fail at any time and whose owner handles the error. */
export function ignoreErrors(...streams: (Readable | Writable | undefined)[]): void {
  for (const stream of streams) stream?.on('error', () => undefined);
}

/** Resolves when a stream has delivered all its data, or was destroyed. */
export const ended = (stream: Readable | undefined): Promise<void> =>
  new Promise((resolve) => {
    if (!stream || stream.readableEnded || stream.destroyed) return resolve();
    stream.once('end', resolve).once('close', resolve);
  });

/** Resolves when a signal is aborted; `forget` removes the listener. */
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
