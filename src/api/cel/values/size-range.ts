/**
 * The possible sizes of a value: characters of a string, entries of a list or map, 1 for numbers and the like. Infinite
 * when nothing bounds it.
 */
export interface SizeRange {
  readonly min: number;
  readonly max: number;
}

export const unknownSize: SizeRange = { min: 0, max: Number.POSITIVE_INFINITY };

export const exactly = (size: number): SizeRange => ({ min: size, max: size });

export const sumOf = (a: SizeRange, b: SizeRange): SizeRange => ({ min: a.min + b.min, max: a.max + b.max });

export const productOf = (a: SizeRange, b: SizeRange): SizeRange => ({
  min: product(a.min, b.min),
  max: product(a.max, b.max),
});

/** Either of the two. */
export const unionOf = (a: SizeRange, b: SizeRange): SizeRange => ({
  min: Math.min(a.min, b.min),
  max: Math.max(a.max, b.max),
});

/** Zero times unbounded is zero. */
export const product = (a: number, b: number): number => (a === 0 || b === 0 ? 0 : a * b);

/** Steps to walk over a string of this size. */
export const walk = (size: number): number => Math.ceil(size * 0.1);

/** Steps to match strings of this size with a pattern of that size. */
export const matchSteps = (text: number, pattern: number): number =>
  product(walk(text + 1), Math.ceil(pattern * 0.25));
