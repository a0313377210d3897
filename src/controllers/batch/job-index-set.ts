/**
 * Job index sets: finished indexes of an Indexed job, as its status writes them (`0-2,5`). They are kept as
 * intervals, because a short text can stand for billions of indexes.
 */
import { IndexesError, type Interval, indexCount, parseIndexes } from '../../api/rules/job/job-indexes.ts';

export class IndexSet {
  /** In ascending order, not adjacent to each other. */
  readonly #intervals: Interval[] = [];

  /** The indexes of a text below a bound; none when it is invalid. */
  static read(text: string | undefined, below: number): IndexSet {
    const set = new IndexSet();
    try {
      for (const [first, last] of parseIndexes(text ?? '', Number.POSITIVE_INFINITY))
        if (first < below) set.#append(first, Math.min(last, below - 1));
    } catch (error) {
      if (!(error instanceof IndexesError)) throw error;
      return new IndexSet();
    }
    return set;
  }

  #append(first: number, last: number): void {
    const before = this.#intervals.at(-1);
    if (before && before[1] + 1 === first) this.#intervals.splice(-1, 1, [before[0], last]);
    else this.#intervals.push([first, last]);
  }

  get size(): number {
    return indexCount(this.#intervals);
  }

  has(index: number): boolean {
    return this.after(index) > index;
  }

  /** The lowest index from this one on that is not in the set. */
  after(index: number): number {
    const interval = this.#intervals[this.#position(index)];
    return interval && interval[0] <= index ? interval[1] + 1 : index;
  }

  add(index: number): void {
    if (this.has(index)) return;
    const position = this.#position(index);
    const [before, behind] = [this.#intervals[position - 1], this.#intervals[position]];
    const joins = before && before[1] + 1 === index;
    const isJoined = behind && behind[0] === index + 1;
    const merged: Interval = [joins ? before[0] : index, isJoined ? behind[1] : index];
    this.#intervals.splice(position - (joins ? 1 : 0), (joins ? 1 : 0) + (isJoined ? 1 : 0), merged);
  }

  /** How many indexes are in both. */
  common(other: IndexSet): number {
    const [a, b] = [this.#intervals, other.#intervals];
    let count = 0;
    for (let i = 0, j = 0; i < a.length && j < b.length; ) {
      count += Math.max(Math.min(a[i]![1], b[j]![1]) - Math.max(a[i]![0], b[j]![0]) + 1, 0);
      if (a[i]![1] < b[j]![1]) i++;
      else j++;
    }
    return count;
  }

  /** Two consecutive indexes are written one by one. */
  toString(): string {
    return this.#intervals
      .map(([first, last]) =>
        first === last ? `${first}` : `${first}${last - first > 1 ? '-' : ','}${last}`,
      )
      .join(',');
  }

  /** Position of the first interval that does not end before an index. */
  #position(index: number): number {
    let low = 0;
    let high = this.#intervals.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#intervals[middle]![1] < index) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
