/** Proves that samples are kept within the stated rounding and the bound of memory, and that the oldest go first. */
import { describe, expect, it } from 'vitest';
import { SampleBlocks, type SeriesName } from './sample-blocks.ts';
import { decodeSample, encodeSample, noSample } from './sample-code.ts';
import { averaged, summed } from './sample-lines.ts';

/** Reproducible numbers from 0 to 1. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}

const everyMs = 10_000;
const name = (n: number): SeriesName => ['pod', 'default', `pod-${n}`, 'main', 'bytes'];

describe('a sample in two bytes', () => {
  it('is exact below 2,048, and rounded by at most 1 in 2,048 above', () => {
    for (let value = 0; value < 2_048; value++) expect(decodeSample(encodeSample(value))).toBe(value);
    const random = numbers(1);
    for (let i = 0; i < 5_000; i++) {
      const value = Math.floor(2 ** (53 * random()));
      const kept = decodeSample(encodeSample(value));
      expect(Math.abs(kept - value), String(value)).toBeLessThanOrEqual(value / 2_048);
    }
    for (let power = 1; power < 53; power++)
      for (const value of [2 ** power - 1, 2 ** power, 2 ** power + 1])
        expect(Math.abs(decodeSample(encodeSample(value)) - value)).toBeLessThanOrEqual(value / 2_048);
  });

  it('has a code of its own for no sample, whatever comes', () => {
    for (const value of [Number.MAX_VALUE, Number.POSITIVE_INFINITY, Number.NaN, -1, 2 ** 80]) {
      const code = encodeSample(value);
      expect(code).toBeGreaterThanOrEqual(0);
      expect(code).toBeLessThan(noSample);
    }
  });
});

describe('blocks of samples', () => {
  it('tell every sample and every gap, while series come and go', () => {
    const blocks = new SampleBlocks({ ageMaxMs: 1e9, bytesMax: 1e8 });
    const random = numbers(2);
    const expected = new Map<number, (number | null)[]>();
    const rounds = 300;
    for (let n = 0; n < 40; n++) expected.set(n, new Array<null>(rounds).fill(null));
    for (let round = 0; round < rounds; round++) {
      const values: [SeriesName, number][] = [];
      for (const [n, list] of expected) {
        // Series n is there for a while, with gaps.
        if (round < n * 5 || round > n * 5 + 120 || random() < 0.1) continue;
        const value = Math.floor(random() * 1e10);
        list[round] = decodeSample(encodeSample(value));
        values.push([name(n), value]);
      }
      expect(blocks.add({ atMs: (round + 1) * everyMs, values })).toBe(0);
    }
    expect(blocks.times(0, 1e9)).toEqual(Array.from({ length: rounds }, (_, i) => (i + 1) * everyMs));
    for (const [n, list] of expected) expect(blocks.values(name(n), 0, 1e9), String(n)).toEqual(list);
    expect(blocks.values(name(3), 50 * everyMs, 60 * everyMs)).toEqual(expected.get(3)!.slice(49, 60));
    expect(blocks.values(name(999), 0, 20_000)).toEqual([null, null]);
  });

  it('need 2.2 bytes a sample, beside the names', () => {
    const blocks = new SampleBlocks({ ageMaxMs: 1e9, bytesMax: 1e9 });
    const [series, rounds] = [200, 640];
    const all = Array.from({ length: series }, (_, n) => [name(n), 1_000 * n] as const);
    for (let round = 1; round <= rounds; round++) blocks.add({ atMs: round * everyMs, values: all });
    const perSample = (blocks.bytes - 300 * blocks.seriesCount) / (series * rounds);
    // 2.14, and the part of the open block that is not filled.
    expect(perSample).toBeLessThan(2.2);
    expect(perSample).toBeGreaterThan(2);
  });

  it('hold their bound: the oldest samples go first, then series that do not fit are left out', () => {
    const bytesMax = 60_000;
    const blocks = new SampleBlocks({ ageMaxMs: 1e12, bytesMax });
    let highest = 0;
    let left = 0;
    let oldest = 0;
    for (let round = 1; round <= 3_000; round++) {
      // Pods that live for a hundred rounds each: names come and go, too.
      const from = Math.floor(round / 10);
      const values = Array.from({ length: 10 }, (_, i) => [name(from + i), round] as const);
      left += blocks.add({ atMs: round * everyMs, values });
      highest = Math.max(highest, blocks.bytes);
      const first = blocks.times(0, 1e12)[0]!;
      expect(first).toBeGreaterThanOrEqual(oldest);
      oldest = first;
    }
    expect(left).toBe(0);
    expect(highest).toBeLessThanOrEqual(bytesMax);
    expect(highest).toBeGreaterThan(bytesMax / 2);
    expect(oldest).toBeGreaterThan(everyMs);
    expect(blocks.times(0, 1e12).at(-1)).toBe(3_000 * everyMs);
    const many = Array.from({ length: 1_000 }, (_, n) => [name(100_000 + n), 1] as const);
    expect(blocks.add({ atMs: 3_001 * everyMs, values: many })).toBeGreaterThan(900);
    expect(blocks.bytes).toBeLessThanOrEqual(bytesMax);
  });

  it('go when they are too old, and begin anew when the clock was set back', () => {
    const blocks = new SampleBlocks({ ageMaxMs: 100 * everyMs, bytesMax: 1e8 });
    for (let round = 1; round <= 1_000; round++)
      blocks.add({ atMs: round * everyMs, values: [[name(Math.floor(round / 100)), 1]] });
    // The block that holds the oldest sample is kept whole.
    expect(blocks.times(0, 1e12).length).toBeLessThan(100 + 2 * 64);
    expect(blocks.seriesCount).toBeLessThanOrEqual(4);
    blocks.add({ atMs: 5, values: [[name(0), 7]] });
    expect(blocks.times(0, 1e12)).toEqual([5]);
    expect(blocks.values(name(0), 0, 1e12)).toEqual([7]);
  });
});

describe('lines of samples', () => {
  it('are added up, and averaged to few points', () => {
    const line = (values: (number | null)[]) => ({ figure: 'bytes', values: () => values });
    expect(summed([line([1, null, null]), line([2, 5, null])])).toEqual([
      { figure: 'bytes', values: [3, 5, null] },
    ]);
    const items = [
      { figure: 'bytes', values: [1, 3, null, 8, null] },
      { figure: 'longestMicros', values: [1, 3, null, 8, null] },
    ];
    expect(averaged([1_000, 2_000, 3_000, 4_000, 5_000], items, 3)).toEqual({
      times: [2, 4, 5],
      items: [
        { figure: 'bytes', values: [2, 8, null] },
        { figure: 'longestMicros', values: [3, 8, null] },
      ],
    });
  });
});
