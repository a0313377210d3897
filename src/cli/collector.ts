/**
 * Exposes V8's garbage collector as `globalThis.gc`, as `node --expose-gc` does, for streams that collect
 * their buffers early (`streams/bytes/minor-collections.ts`). That sets a V8 flag for a moment, and flags are
 * process-wide: only the command, which owns the process, may set them. It happens at the first use of `gc`,
 * so it costs nothing at start.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export function exposeCollector(): void {
  if ('gc' in globalThis) return;
  Object.defineProperty(globalThis, 'gc', {
    configurable: true,
    get: () => {
      const value = collector();
      Object.defineProperty(globalThis, 'gc', { configurable: true, writable: true, value });
      return value;
    },
  });
}

/** A context made while the flag is set gets the `gc` function. */
function collector(): unknown {
  setFlagsFromString('--expose-gc');
  const exposed: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  return exposed;
}
