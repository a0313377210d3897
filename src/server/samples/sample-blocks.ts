/**
 * Samples of many series in bounded memory. All series are sampled in rounds, and a block holds some rounds of all of
 * them: the times once, then a row for each series, two bytes a sample (`sample-code.ts`). A full block is packed: its
 * rows keep what is between their first and their last sample, behind each other. Per series and block that is nine
 * bytes more, 0.14 for each of 64 samples.
 *
 *   round        0    1    2    3      packed:  ids      1    4
 *   series 1    12   13    –   15               firsts   0    2
 *   series 4     –    –    7    7               offsets  0    4    6
 *                                               values   12 13 – 15   7 7
 *
 * The oldest block goes when it is too old, or when all blocks together are larger than the bound.
 */
import { composedKey } from '../../composed-key.ts';
import { decodeSample, encodeSample, noSample } from './sample-code.ts';

/** Rounds in a block. */
const blockRounds = 64;
const rowBytes = 2 * blockRounds;
/** Estimated bytes of a series that is known by its name, once for all blocks. */
const seriesBytes = 300;
/** Bytes of a time. */
const timeBytes = 8;

export interface SampleBounds {
  /** Samples are kept this long. */
  readonly ageMaxMs: number;
  /** Bytes of all blocks and names. */
  readonly bytesMax: number;
}

/** What a series is about: for a container `['pod', namespace, pod, container, 'cpu']`. */
export type SeriesName = readonly string[];

interface Series {
  readonly id: number;
  readonly name: SeriesName;
  /** The number of the last block that has a sample of it. */
  lastBlock: number;
}

interface PackedBlock {
  readonly number: number;
  readonly times: Float64Array;
  /** Ascending. */
  readonly ids: Uint32Array;
  readonly firsts: Uint8Array;
  readonly offsets: Uint32Array;
  readonly values: Uint16Array;
}

export interface SampledRound {
  readonly atMs: number;
  readonly values: Iterable<readonly [SeriesName, number]>;
}

export class SampleBlocks {
  readonly #series = new Map<string, Series>();
  readonly #packed: PackedBlock[] = [];
  #packedBytes = 0;
  #nextId = 0;
  /** The block that is being filled: times, and rows in the order in which series came. */
  #number = 0;
  #times: number[] = [];
  #rowOfId = new Map<number, number>();
  #rows = new Uint16Array(0);

  constructor(private readonly bounds: SampleBounds) {}

  /** Bytes in use, by the sizes of the arrays and an estimate for names. */
  get bytes(): number {
    return (
      this.#packedBytes +
      this.#rows.byteLength +
      this.#times.length * timeBytes +
      this.#series.size * seriesBytes
    );
  }

  get seriesCount(): number {
    return this.#series.size;
  }

  /** Adds a round. Returns how many samples were left out, because more series do not fit into the bound. */
  add({ atMs, values }: SampledRound): number {
    // A clock that was set back: what is here would be of the future.
    if (atMs <= this.newestMs) this.#forgetAll();
    if (this.#times.length === blockRounds) this.#pack();
    const round = this.#times.push(atMs) - 1;
    let left = 0;
    for (const [name, value] of values) {
      const row = this.#row(name);
      if (row === undefined) left++;
      else this.#rows[row * blockRounds + round] = encodeSample(value);
    }
    this.#trim(atMs);
    return left;
  }

  /** The time of the newest round. */
  get newestMs(): number {
    return this.#times.at(-1) ?? this.#packed.at(-1)?.times.at(-1) ?? Number.NEGATIVE_INFINITY;
  }

  /** The row of a series in the open block; undefined when it does not fit. */
  #row(name: SeriesName): number | undefined {
    const key = composedKey(...name);
    const known = this.#series.get(key);
    const row = known && this.#rowOfId.get(known.id);
    if (row !== undefined) return row;
    const next = this.#rowOfId.size;
    if ((next + 1) * rowBytes > this.#rows.byteLength && !this.#grow()) return undefined;
    const series = known ?? this.#newSeries(key, name);
    series.lastBlock = this.#number;
    this.#rowOfId.set(series.id, next);
    return next;
  }

  #newSeries(key: string, name: SeriesName): Series {
    const series = { id: this.#nextId++, name, lastBlock: this.#number };
    this.#series.set(key, series);
    return series;
  }

  /**
   * Makes room for more rows, by a quarter. The open block may take half of the bound with the names of its series, so
   * that there is room for the past.
   */
  #grow(): boolean {
    const rowsMax = Math.floor(this.bounds.bytesMax / 2 / (rowBytes + seriesBytes));
    const rows = Math.min(rowsMax, Math.ceil(this.#rowOfId.size * 1.25) + 8);
    if (rows <= this.#rowOfId.size) return false;
    const larger = new Uint16Array(rows * blockRounds).fill(noSample, this.#rows.length);
    larger.set(this.#rows);
    this.#rows = larger;
    return true;
  }

  #pack(): void {
    const rows = [...this.#rowOfId].sort(([a], [b]) => a - b);
    const parts = rows.map(([id, row]) => ({ id, ...this.#usedPart(row) }));
    const offsets = new Uint32Array(parts.length + 1);
    for (const [i, { values }] of parts.entries()) offsets[i + 1] = offsets[i]! + values.length;
    const values = new Uint16Array(offsets.at(-1)!);
    for (const [i, part] of parts.entries()) values.set(part.values, offsets[i]);
    const block: PackedBlock = {
      number: this.#number,
      times: Float64Array.from(this.#times),
      ids: Uint32Array.from(parts, ({ id }) => id),
      firsts: Uint8Array.from(parts, ({ first }) => first),
      offsets,
      values,
    };
    this.#packed.push(block);
    this.#packedBytes += bytesOf(block);
    this.#number++;
    this.#times = [];
    // Most series go on: the memory is used again, unless many have ended.
    const isLarge = this.#rows.length > 4 * blockRounds * (this.#rowOfId.size + 8);
    this.#rows = isLarge ? new Uint16Array(0) : this.#rows.fill(noSample);
    this.#rowOfId = new Map();
  }

  #usedPart(row: number): { first: number; values: Uint16Array } {
    const all = this.#rows.subarray(row * blockRounds, row * blockRounds + this.#times.length);
    const first = all.findIndex((code) => code !== noSample);
    const last = all.findLastIndex((code) => code !== noSample);
    return {
      first: Math.max(0, first),
      values: first < 0 ? all.subarray(0, 0) : all.subarray(first, last + 1),
    };
  }

  /** Drops blocks that are too old or too many, oldest first, and series that no block has any more. */
  #trim(nowMs: number): void {
    const oldestMs = nowMs - this.bounds.ageMaxMs;
    let dropped = false;
    while (
      this.#packed[0] &&
      (this.#packed[0].times.at(-1)! < oldestMs || this.bytes > this.bounds.bytesMax)
    ) {
      this.#packedBytes -= bytesOf(this.#packed.shift()!);
      dropped = true;
      this.#dropNames();
    }
    if (!dropped && this.bytes > this.bounds.bytesMax) this.#dropNames();
  }

  #dropNames(): void {
    const oldest = this.#packed[0]?.number ?? this.#number;
    for (const [key, { lastBlock }] of this.#series) if (lastBlock < oldest) this.#series.delete(key);
  }

  #forgetAll(): void {
    this.#series.clear();
    this.#packed.length = 0;
    this.#packedBytes = 0;
    this.#number++;
    this.#times = [];
    this.#rowOfId = new Map();
    this.#rows = new Uint16Array(0);
  }

  /** The names of series that fit, and are kept. */
  names(fits: (name: SeriesName) => boolean): SeriesName[] {
    return Array.from(this.#series.values(), ({ name }) => name).filter(fits);
  }

  /** The times of the rounds from a time until another, both included. */
  times(fromMs: number, untilMs: number): number[] {
    const found: number[] = [];
    for (const { times } of this.#blocks())
      for (const time of times) if (time >= fromMs && time <= untilMs) found.push(time);
    return found;
  }

  /** The samples of a series at those times; null where there is no sample. */
  values(name: SeriesName, fromMs: number, untilMs: number): (number | null)[] {
    const id = this.#series.get(composedKey(...name))?.id;
    const found: (number | null)[] = [];
    for (const block of this.#blocks())
      for (const [round, time] of block.times.entries()) {
        if (time < fromMs || time > untilMs) continue;
        const code = id === undefined ? noSample : block.code(id, round);
        found.push(code === noSample ? null : decodeSample(code));
      }
    return found;
  }

  *#blocks(): Generator<{ times: Float64Array | number[]; code(id: number, round: number): number }> {
    for (const block of this.#packed)
      yield { times: block.times, code: (id, at) => packedCode(block, id, at) };
    yield {
      times: this.#times,
      code: (id, round) => {
        const row = this.#rowOfId.get(id);
        return row === undefined ? noSample : this.#rows[row * blockRounds + round]!;
      },
    };
  }
}

function packedCode({ ids, firsts, offsets, values }: PackedBlock, id: number, round: number): number {
  let [low, high] = [0, ids.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ids[middle]! < id) low = middle + 1;
    else high = middle;
  }
  if (ids[low] !== id) return noSample;
  const at = offsets[low]! + round - firsts[low]!;
  return at < offsets[low]! || at >= offsets[low + 1]! ? noSample : values[at]!;
}

const bytesOf = ({ times, ids, firsts, offsets, values }: PackedBlock): number =>
  times.byteLength + ids.byteLength + firsts.byteLength + offsets.byteLength + values.byteLength;
