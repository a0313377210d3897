/**
 * Collects buffers of streams while they are young. Node reads every piece of a stream into a buffer of its own. V8 sees
 * few small objects in that and much memory outside of its heap, so instead of sweeping up young objects it marks the
 * whole heap, every 32 MB: a third of the processor time of a stream. A minor collection every 16 MB prevents that and
 * costs next to nothing.
 *
 * Only a process that exposes the collector has it (`globalThis.gc`): the `wherry` command does (`cli/collector.ts`), and
 * so does a program that embeds Wherry when Node runs with `--expose-gc`. Without it streams work the same and cost more.
 */
import { optimized } from '../switches.ts';

/** Passed bytes between two collections; large enough that a collection is lost among the copying. */
const collectionBytes = 16 * 1024 * 1024;

type Collect = (options: { type: 'minor' }) => void;

let passedBytes = 0;

/** Counts bytes of buffers that were passed on and are garbage now, or soon. */
export function passed(bytes: number): void {
  passedBytes += bytes;
  if (passedBytes < collectionBytes) return;
  passedBytes = 0;
  if (optimized) (globalThis as { gc?: Collect }).gc?.({ type: 'minor' });
}
