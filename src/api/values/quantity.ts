/**
 * Quantities: amounts such as `500m`, `1.5Gi` or `12e6`, exact to the nano.
 *
 * A quantity is a whole number of nanos and the family of suffixes in which it was written, which decides how it is
 * written back. Kubernetes returns some texts unchanged (`+1`, `1.250`, `1E3`), because it does not rewrite numbers
 * that are already scaled canonically. Such a text is kept in `text` until the first arithmetic.
 */

/** Longest text that is parsed, in characters. */
const textCharsMax = 1024;
/** Values stay below ten to this power, so that they fit a float and BigInt operations stay small. */
const valueDigitsMax = 308;
/** Kubernetes keeps exponents in 32 bits. */
const exponentMax = 2 ** 31 - 1;
/** Most digits for which Kubernetes takes its shortcut: decimal, and binary before the suffix takes its share. */
const shortcutDigitsMax = 18;
const shortcutBinaryDigitsMax = 14;

const oneNano = -9;
const one = 10n ** 9n;
const binaryMax = (2n ** 63n - 1n) * one;

type QuantityFamily = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

export interface Quantity {
  readonly nano: bigint;
  readonly family: QuantityFamily;
  /** The text as sent, when Kubernetes would write it back unchanged. */
  readonly text?: string;
}

export class QuantityError extends Error {
  override readonly name = 'QuantityError';
}

const shapeText =
  "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const suffixText = "unable to parse quantity's suffix";
const numericText = 'unable to parse numeric part of quantity';

/** Sign, whole digits with an optional fraction (or a fraction alone), suffix. Unambiguous, so matching is linear. */
const shape = /^([+-]?)(?:(\d+)(?:\.(\d*))?|\.(\d*))((?:[eEinumkKMGTP]+[-+]?|[-+])\d*)?$/;

const decimalSuffixes = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const exaExponent = 18;

interface Suffix {
  readonly family: QuantityFamily;
  /** Power of ten, or of 1024 in the binary family. */
  readonly exponent: number;
}

const suffixes = new Map<string, Suffix>();
for (const [index, suffix] of binarySuffixes.entries())
  suffixes.set(suffix, { family: 'BinarySI', exponent: index });
// After the binary ones, because a text without a suffix is decimal.
for (const [index, suffix] of decimalSuffixes.entries())
  suffixes.set(suffix, { family: 'DecimalSI', exponent: oneNano + 3 * index });

/** Reads a quantity; blanks around it are ignored. Throws a QuantityError with Kubernetes' text. */
export function parseQuantity(input: string): Quantity {
  const text = input.trim();
  if (text.length > textCharsMax) throw new QuantityError(numericText);
  const parts = shape.exec(text);
  if (!parts) throw new QuantityError(shapeText);
  const suffix = readSuffix(parts[5] ?? '');
  const fraction = parts[3] ?? parts[4] ?? '';
  const digits = (parts[2] ?? '0') + fraction;
  const size = magnitude(digits, fraction.length, suffix);
  const quantity = {
    nano: parts[1] === '-' ? -size : size,
    // An amount below one byte has no binary form; it stays decimal in sums, too.
    family: suffix.family === 'BinarySI' && size > 0n && size < one ? 'DecimalSI' : suffix.family,
  } as const;
  return staysAsSent(digits, fraction.length, suffix) ? { ...quantity, text } : quantity;
}

/** Simple amounts in canonical form: whole numbers that do not end in three zeros, with or without a suffix. */
const plainDecimal = /^[1-9]\d{0,14}[mkMGTPE]?$/;
const plainBinary = /^[1-9]\d{0,5}[KMG]i$/;

/** Whether a text is certainly in canonical form; false also when that would need parsing. */
function isCanonical(text: string): boolean {
  if (plainDecimal.test(text)) return !/000[mkMGTPE]?$/.test(text);
  return plainBinary.test(text) && Number.parseInt(text, 10) % 1024 !== 0;
}

/** The canonical form of a JSON string or number. */
export function canonicalQuantity(input: string | number | bigint): string {
  const text = String(input);
  return isCanonical(text) ? text : formatQuantity(parseQuantity(text));
}

/** The canonical form in a resource list, where defaulting rounds to whole milli units, away from zero. */
export function roundUpToMilli(input: string | number): string {
  // Canonical amounts with these suffixes are whole milli units.
  const text = String(input);
  if (isCanonical(text)) return text;
  const quantity = parseQuantity(text);
  const milli = 10n ** 6n;
  const nano = divideUp(quantity.nano, milli) * milli;
  return formatQuantity(nano === quantity.nano ? quantity : { nano, family: quantity.family });
}

export function formatQuantity(quantity: Quantity): string {
  if (quantity.text !== undefined) return quantity.text;
  if (quantity.nano === 0n) return '0';
  const whole = quantity.nano / one;
  const binary = quantity.family === 'BinarySI' && isInteger(quantity) && (whole <= -1024n || whole >= 1024n);
  return binary ? formatBinary(whole) : formatDecimal(quantity);
}

export function compareQuantities(a: Quantity, b: Quantity): -1 | 0 | 1 {
  return a.nano < b.nano ? -1 : a.nano > b.nano ? 1 : 0;
}

/** The sum has the first operand's family, unless that is zero: `0` plus `1Gi` is `1Gi`. */
export function addQuantities(a: Quantity, b: Quantity): Quantity {
  return { nano: a.nano + b.nano, family: a.nano === 0n ? b.family : a.family };
}

export function subtractQuantities(a: Quantity, b: Quantity): Quantity {
  return { nano: a.nano - b.nano, family: a.nano === 0n ? b.family : a.family };
}

export function isInteger(quantity: Quantity): boolean {
  return quantity.nano % one === 0n;
}

export function sign(quantity: Quantity): -1 | 0 | 1 {
  return quantity.nano < 0n ? -1 : quantity.nano > 0n ? 1 : 0;
}

/** The nearest float. */
export function toNumber(quantity: Quantity): number {
  const { nano } = quantity;
  if (nano % one === 0n) return Number(nano / one);
  const size = nano < 0n ? -nano : nano;
  const value = Number(`${size / one}.${(size % one).toString().padStart(9, '0')}`);
  return nano < 0n ? -value : value;
}

/** Thousandths, rounded away from zero. Exact up to 2^53 of them. */
export function milliValue(quantity: Quantity): number {
  return Number(divideUp(quantity.nano, 10n ** 6n));
}

function readSuffix(text: string): Suffix {
  const known = suffixes.get(text);
  if (known) return known;
  const exponent = /^[eE]([-+]?\d+)$/.test(text) ? Number(text.slice(1)) : Number.NaN;
  if (!(Math.abs(exponent) <= exponentMax)) throw new QuantityError(suffixText);
  return { family: 'DecimalExponent', exponent };
}

/** The value in nanos, rounded up. Checks the number of digits before it creates a BigInt. */
function magnitude(digits: string, fractionDigits: number, suffix: Suffix): bigint {
  const significant = digits.replace(/^0+/, '');
  if (significant === '') return 0n;
  if (suffix.family === 'BinarySI') {
    const scaled = (BigInt(significant) << BigInt(10 * suffix.exponent)) * one;
    const nano = divideUp(scaled, 10n ** BigInt(fractionDigits));
    if (nano > binaryMax) return binaryMax;
    return nano;
  }
  const scale = suffix.exponent - fractionDigits;
  if (significant.length + scale > valueDigitsMax) throw new QuantityError(numericText);
  const shift = scale - oneNano;
  if (shift >= 0) return BigInt(significant) * 10n ** BigInt(shift);
  if (-shift > significant.length) return 1n;
  return divideUp(BigInt(significant), 10n ** BigInt(-shift));
}

/** Kubernetes' shortcut: a short number already in canonical scale is not rewritten. */
function staysAsSent(digits: string, fractionDigits: number, suffix: Suffix): boolean {
  if (digits.startsWith('0')) return false;
  if (suffix.family === 'BinarySI') {
    // 1024 costs about three decimal digits.
    const digitsMax = shortcutBinaryDigitsMax - 3 * suffix.exponent;
    return fractionDigits === 0 && digits.length <= digitsMax && Number(digits) % 8 !== 0;
  }
  const scale = suffix.exponent - fractionDigits;
  return digits.length <= shortcutDigitsMax && scale >= oneNano && scale % 3 === 0 && !digits.endsWith('000');
}

/** As few digits as the largest exact exponent allows; the SI suffixes end at exa. */
function formatDecimal({ nano, family }: Quantity): string {
  const exponentTop = family === 'DecimalExponent' ? Number.POSITIVE_INFINITY : exaExponent;
  let mantissa = nano;
  let exponent = oneNano;
  while (exponent < exponentTop && mantissa % 1000n === 0n) {
    mantissa /= 1000n;
    exponent += 3;
  }
  if (family !== 'DecimalExponent') return `${mantissa}${decimalSuffixes[(exponent - oneNano) / 3]}`;
  return exponent === 0 ? `${mantissa}` : `${mantissa}e${exponent}`;
}

function formatBinary(whole: bigint): string {
  let mantissa = whole;
  let index = 0;
  while (index < binarySuffixes.length - 1 && mantissa % 1024n === 0n) {
    mantissa /= 1024n;
    index += 1;
  }
  return `${mantissa}${binarySuffixes[index]}`;
}

/** Division that rounds away from zero. The divisor is positive. */
function divideUp(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  if (value % divisor === 0n) return quotient;
  return value < 0n ? quotient - 1n : quotient + 1n;
}
