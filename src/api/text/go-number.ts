/** Numbers as Go's `%v` prints them. */

const int64Limit = 2 ** 63;
/** Powers of ten of which floating point numbers are written without an exponent. */
const plainPowerMin = -4;
const plainPowerMax = 5;

/** Whole numbers of 64 bits are written in full; all others are floating point numbers. */
export function goNumber(value: number | bigint): string {
  if (typeof value === 'number' && !Number.isInteger(value)) return goFloat(value);
  return value >= -int64Limit && value < int64Limit ? BigInt(value).toString() : goFloat(Number(value));
}

/** A floating point number, also when it is whole. */
export function goFloat(value: number): string {
  const [digits, exponent] = value.toExponential().split('e') as [string, string];
  const power = Number(exponent);
  if (power >= plainPowerMin && power <= plainPowerMax) return String(value);
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}
