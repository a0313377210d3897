/**
 * Triggers minor garbage collections for stream buffers. Node allocates a buffer for every piece it reads. V8
 * sees few small objects but much external memory, so instead of scavenging young objects it marks the whole
 * heap every 32 MB, which takes a third of the processor time of a stream. A minor collection every 16 MB
 * prevents that and costs next to nothing.
 *
 * Only if `globalThis.gc` is exposed: the `wherry` command does that (`cli/collector.ts`), and embedding
 * programs can run Node with `--expose-gc`. Without it streams work the same, at a higher cost.
 */
import { optimized } from '../../switches.ts';

/** Bytes passed between two collections; large enough that the collection is cheap compared with the copying. */
const collectionBytes = 16 * 1024 * 1024;

type Collect = (options: { type: 'minor' }) => void;

let passedBytes = 0;

/** Counts the bytes of buffers that were passed on and are garbage now, or soon. */
export function passed(bytes: number): void {
  passedBytes += bytes;
  if (passedBytes < collectionBytes) return;
  passedBytes = 0;
  if (optimized) (globalThis as { gc?: Collect }).gc?.({ type: 'minor' });
}
