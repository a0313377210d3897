/**
 * A sample in two bytes: a whole number that is not negative, as an exponent of six bits and ten bits behind it.
 * Numbers below 2,048 are exact, others are rounded to the nearest that can be written, by at most 1 in 2,048.
 *
 *   code           value
 *   0 to 1,023     the code itself
 *   e · 1,024 + m  (1,024 + m) · 2^(e - 1)
 *   65,535         no sample
 */

export const noSample = 0xffff;

const steps = 1_024;
/** 1,024 · 2^62: more than any figure here; larger ones are written as this. */
const largest = 63 * steps;

export function encodeSample(value: number): number {
  const whole = Math.round(value);
  if (!(whole > 0)) return 0;
  if (whole < steps) return whole;
  if (whole >= steps * 2 ** 62) return largest;
  // Next to a power of two the logarithm may be off by a little, which the rounding mends.
  const exponent = Math.floor(Math.log2(whole)) - 9;
  return (exponent - 1) * steps + Math.round(whole / 2 ** (exponent - 1));
}

export function decodeSample(code: number): number {
  const exponent = Math.floor(code / steps);
  return exponent === 0 ? code : (steps + (code % steps)) * 2 ** (exponent - 1);
}
