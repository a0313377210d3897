/**
 * JSON with numbers as exact as they were sent. JSON.parse makes a double of every number, which holds whole numbers up to 2^53;
 * int64 fields, quantities and raw values may hold larger ones. These are read as bigint, and written as they were. No other
 * number is a bigint, so equal numbers are equal values. Text without such numbers, which is nearly all, is left to
 * JSON.parse after one look at it.
 *
 * What neither a double nor a bigint holds exactly is refused when it is decoded: what is too large is read as Infinity,
 * a fraction with too many digits as NaN.
 */
import { setKey } from './object.ts';

/** Digits that a double always holds. */
const doubleDigits = 15;
const int64Min = -(2n ** 63n);
const int64Max = 2n ** 63n - 1n;

/** Parses text that JSON.parse is known to accept, such as what is stored. */
export const parseExact = (text: string): unknown =>
  mayHoldLongNumbers(text) ? parseLongNumbers(text) : JSON.parse(text);

/**
 * Whether a text has a run of digits and points that is longer than a double holds, inside or outside of strings. Only
 * every sixteenth character is looked at, because a longer run covers one of them: a twentieth of the time of parsing.
 */
export function mayHoldLongNumbers(text: string): boolean {
  for (let at = doubleDigits; at < text.length; at += doubleDigits + 1) {
    if (!isOfNumber(text.charCodeAt(at))) continue;
    let start = at;
    while (isOfNumber(text.charCodeAt(start - 1))) start--;
    let end = at + 1;
    while (isOfNumber(text.charCodeAt(end))) end++;
    if (end - start > doubleDigits) return true;
  }
  return false;
}

const isOfNumber = (code: number): boolean => (code >= 0x30 && code <= 0x39) || code === 0x2e;

export const parseLongNumbers = (text: string): unknown => new ExactReader(text).value();

/** The value of a number in JSON or YAML notation, without a base. */
export function exactNumber(token: string): number | bigint {
  const number = Number(token);
  // More than 309 digits end here, so what follows stays small.
  if (!Number.isFinite(number)) return number;
  if (/^[-+]?\d+$/.test(token))
    return Number.isSafeInteger(number) ? number + 0 : BigInt(token.replace('+', ''));
  const sent = significant(token);
  if (sent.digits.length <= doubleDigits && (number !== 0 || sent.digits === '')) return number + 0;
  const held = significant(String(number));
  return sent.digits === held.digits && sent.exponent === held.exponent ? number : Number.NaN;
}

export const isInt64 = (value: bigint): boolean => value >= int64Min && value <= int64Max;

/** The digits that count, and the power of ten of the last of them. */
function significant(token: string): { digits: string; exponent: number } {
  const [, whole = '', fraction = '', power = '0'] = /^[-+]?(\d*)\.?(\d*)(?:[eE](.+))?$/.exec(token) ?? [];
  const all = whole + fraction;
  let end = all.length;
  while (all[end - 1] === '0') end--;
  return {
    digits: all.slice(0, end).replace(/^0+/, ''),
    exponent: Number(power) - fraction.length + (all.length - end),
  };
}

/** Position of the quote that closes the string opened at `open`, or -1. */
export function stringEnd(text: string, open: number): number {
  let end = text.indexOf('"', open + 1);
  while (end > 0 && text.charCodeAt(end - 1) === 0x5c) {
    // The quote is escaped when an odd number of backslashes stands before it.
    let slash = end - 2;
    while (text.charCodeAt(slash) === 0x5c) slash -= 1;
    if ((end - slash) % 2 !== 0) break;
    end = text.indexOf('"', end + 1);
  }
  return end;
}

/** Reads valid JSON; its depth is bounded by the readers of JSON from outside. */
class ExactReader {
  #at = 0;

  constructor(private readonly text: string) {}

  value(): unknown {
    this.#space();
    switch (this.text[this.#at]) {
      case '{':
        return this.#object();
      case '[':
        return this.#list();
      case '"':
        return this.#string();
      case 't':
        return this.#word('true', true);
      case 'f':
        return this.#word('false', false);
      case 'n':
        return this.#word('null', null);
      default:
        return this.#number();
    }
  }

  #object(): Record<string, unknown> {
    const object: Record<string, unknown> = {};
    while (this.#next('}')) {
      this.#space();
      const key = this.#string();
      this.#space();
      this.#at++;
      setKey(object, key, this.value());
    }
    return object;
  }

  #list(): unknown[] {
    const list: unknown[] = [];
    while (this.#next(']')) list.push(this.value());
    return list;
  }

  /** Steps over the opening bracket or a comma; false when the bracket closes, which is stepped over, too. */
  #next(close: string): boolean {
    this.#space();
    if (this.text[this.#at] === close) {
      this.#at++;
      return false;
    }
    this.#at++;
    this.#space();
    if (this.text[this.#at] !== close) return true;
    this.#at++;
    return false;
  }

  #string(): string {
    const start = this.#at;
    this.#at = stringEnd(this.text, start) + 1;
    return JSON.parse(this.text.slice(start, this.#at)) as string;
  }

  #number(): number | bigint {
    const token = /[\d.eE+-]*/y;
    token.lastIndex = this.#at;
    const [found = ''] = token.exec(this.text) ?? [];
    this.#at += found.length;
    return exactNumber(found);
  }

  #word<T>(word: string, value: T): T {
    this.#at += word.length;
    return value;
  }

  #space(): void {
    while (this.text.charCodeAt(this.#at) <= 0x20) this.#at++;
  }
}
