/**
 * Conversion by a webhook: it takes time, so objects are converted before they are read as another version or stored.
 * The rest of the registry then finds the results at the entry, or by the object. Kinds without a webhook never come
 * here with anything to do.
 */
import type { Kind } from '../api/kind.ts';
import type { ApiObject } from '../api/object.ts';
import type { Entry } from './entry.ts';

/** Bytes of objects that are converted with one call; its answer is bounded, too. */
const batchBytesMax = 2 * 1024 * 1024;

/** Makes entries ready to be read as a kind; undefined when they are. */
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

/** The stored forms of objects that are about to be written. */
const prepared = new WeakMap<ApiObject, ApiObject>();

/** Converts an object to the version in which its kind is stored; undefined when that is not needed. */
export function preparedToStore(kind: Kind, object: ApiObject): Promise<void> | undefined {
  if (!kind.conversion || kind === kind.storage) return undefined;
  return kind.conversion.convert([object], kind.storage).then(([stored]) => {
    prepared.set(object, stored!);
  });
}

/** The stored form of an object, for `stored.toStored` of its kind. */
export function preparedForm(object: ApiObject): ApiObject {
  const stored = prepared.get(object);
  if (!stored) throw new Error('an object was not converted before it was stored');
  return stored;
}
