/**
 * Conversion of read objects by webhooks. A webhook takes time, so entries are converted before they are read in
 * another version, and keep the result.
 */
import type { Kind } from '../../api/kind/kind.ts';
import type { Entry } from './entry.ts';

/** Maximum bytes of objects converted in one call; its answer is bounded, too. */
const batchBytesMax = 2 * 1024 * 1024;

/** Converts entries so that they can be read as a kind; undefined when that is not needed. */
export function converted(kind: Kind, entries: readonly Entry[]): Promise<void> | undefined {
  if (!kind.conversion) return undefined;
  const missing = entries.filter((entry) => !entry.isReadableAs(kind));
  return missing.length ? convertAll(kind, missing) : undefined;
}

async function convertAll(kind: Kind, entries: readonly Entry[]): Promise<void> {
  for (let from = 0; from < entries.length; ) {
    let to = from;
    for (let bytes = 0; to < entries.length && (to === from || bytes < batchBytesMax); to++)
      bytes += entries[to]!.length;
    const batch = entries.slice(from, to);
    const objects = await kind.conversion!.convert(
      batch.map((entry) => entry.stored()),
      kind,
    );
    for (const [i, entry] of batch.entries()) entry.keepConverted(kind, objects[i]!);
    from = to;
  }
}
