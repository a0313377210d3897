/**
 * Bytes that pass through. Node reads every piece of a stream into a buffer of its own. V8 sees few small objects in
 * that, and much memory outside of its heap: instead of sweeping up the young ones it marks the whole heap, every 32 MB,
 * which took a third of the processor time of a stream. So the young are collected here, which costs next to nothing.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Passed bytes between two collections; large enough that a collection is lost among the copying. */
const collectionBytes = 16 * 1024 * 1024;

type Collect = (options: { type: 'minor' }) => void;

let collect: Collect | undefined;
let passedBytes = 0;

export function passed(bytes: number): void {
  passedBytes += bytes;
  if (passedBytes < collectionBytes) return;
  passedBytes = 0;
  collect ??= collector();
  collect({ type: 'minor' });
}

/** V8 hands its collector to a context that is made while it is exposed. */
function collector(): Collect {
  setFlagsFromString('--expose-gc');
  const exposed = runInNewContext('gc') as Collect;
  setFlagsFromString('--no-expose-gc');
  return exposed;
}
