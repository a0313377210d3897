/**
 * A cache of the objects parsed last, so that all readers of a change share one: admission, controllers and selectors
 * usually read it in the event loop tick in which it was made. The number is bounded, because cached objects survive
 * minor garbage collections. So do weakly referenced ones: with weak references, 8,000 merge patches moved 21 MB into
 * the old generation, and 7 MB since.
 */

/** Maximum number of cached objects, and bytes of their text; the newest is kept whatever its size. */
const countMax = 128;
const bytesMax = 1024 * 1024;

interface Holder {
  /** Length of the text. */
  readonly length: number;
  /** Drops the parsed object. */
  forget(): void;
}

/** A ring: the oldest is at `start`. */
const ring: (Holder | undefined)[] = new Array(countMax).fill(undefined);
/** The lengths as they were when the objects were parsed. */
const lengths = new Array<number>(countMax).fill(0);
let start = 0;
let count = 0;
let bytes = 0;

/** Called by a holder that has parsed its object. `forget` is called when enough others came after it. */
export function keepRecent(holder: Holder): void {
  const { length } = holder;
  bytes += length;
  while (count > 0 && (count === countMax || bytes > bytesMax)) dropOldest();
  const at = (start + count) % countMax;
  ring[at] = holder;
  lengths[at] = length;
  count++;
}

function dropOldest(): void {
  const oldest = ring[start]!;
  ring[start] = undefined;
  bytes -= lengths[start]!;
  start = (start + 1) % countMax;
  count--;
  oldest.forget();
}
