/** Job index sets: the indexes of an Indexed job that are done with, as its status writes them (`0-2,5`). */
import { IndexesError, parseIndexes } from '../api/kinds/jobindexes.ts';

/** The indexes of a text below a bound; none when it makes no sense. */
export function readIndexes(text: string | undefined, below: number): Set<number> {
  const indexes = new Set<number>();
  try {
    for (const [first, last] of parseIndexes(text ?? '', Number.POSITIVE_INFINITY))
      for (let index = first; index <= last && index < below; index++) indexes.add(index);
  } catch (error) {
    if (!(error instanceof IndexesError)) throw error;
  }
  return indexes;
}

export function writeIndexes(indexes: ReadonlySet<number>): string {
  const parts: string[] = [];
  const sorted = [...indexes].sort((a, b) => a - b);
  for (let i = 0; i < sorted.length; ) {
    const start = i;
    while (i + 1 < sorted.length && sorted[i + 1] === sorted[i]! + 1) i++;
    const [first, last] = [sorted[start]!, sorted[i]!];
    // Two in a row are written one by one.
    if (last - first > 1) parts.push(`${first}-${last}`);
    else parts.push(...(last === first ? [String(first)] : [String(first), String(last)]));
    i++;
  }
  return parts.join(',');
}
