/** Job indexes: sets of the completion indexes of an Indexed job, written `0-2,5`. */

/** An interval of indexes, both ends included. */
export type Interval = readonly [first: number, last: number];

export class IndexesError extends Error {}

/** Parses intervals, which must ascend and stay below the number of completions. */
export function parseIndexes(text: string, completions: number): Interval[] {
  const intervals: Interval[] = [];
  if (text === '') return intervals;
  for (const part of text.split(',')) {
    const [first, last] = parseInterval(part, completions);
    const before = intervals.at(-1);
    if (before && before[1] >= first) throw outOfOrder(before[1], first);
    intervals.push([first, last]);
  }
  return intervals;
}

export const indexCount = (intervals: readonly Interval[]): number =>
  intervals.reduce((count, [first, last]) => count + last - first + 1, 0);

/** The lowest index in both lists; both must ascend. */
export function commonIndex(a: readonly Interval[], b: readonly Interval[]): number | undefined {
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    const first = Math.max(a[i]![0], b[j]![0]);
    if (first <= Math.min(a[i]![1], b[j]![1])) return first;
    if (a[i]![1] < b[j]![1]) i++;
    else j++;
  }
  return undefined;
}

function parseInterval(text: string, completions: number): Interval {
  const ends = text.split('-');
  if (ends.length > 2)
    throw new IndexesError(
      `the fragment ${JSON.stringify(text)} violates the requirement that an index interval can have at most two parts separated by '-'`,
    );
  const [first, last = first] = ends.map((end) => parseIndex(end, completions)) as [number, number?];
  if (ends.length === 2 && first >= last) throw outOfOrder(first, last);
  return [first, last];
}

function parseIndex(text: string, completions: number): number {
  if (!/^\+?\d{1,15}$/.test(text))
    throw new IndexesError(`cannot convert string to integer for index: ${JSON.stringify(text)}`);
  const index = Number(text);
  if (index >= completions) throw new IndexesError(`too large index: ${JSON.stringify(text)}`);
  return index;
}

const outOfOrder = (previous: number, current: number): IndexesError =>
  new IndexesError(`non-increasing order, previous: ${previous}, current: ${current}`);
