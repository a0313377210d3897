/**
 * Exposes V8's garbage collector as `globalThis.gc`, as `node --expose-gc` does, for streams that collect their buffers
 * early (`streams/passingbytes.ts`). It needs a V8 flag for a moment, and flags are the whole process's: only the command,
 * which has the process to itself, may set them. That happens when the collector is first asked for, so a start pays
 * nothing for it.
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

/** V8 hands its collector to a context that is made while it is exposed. */
function collector(): unknown {
  setFlagsFromString('--expose-gc');
  const exposed: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  return exposed;
}
