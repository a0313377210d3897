/** `"%s has %d".format([…])`: the clauses of a format, and values as they show them. */
import type { Budget } from '../values/budget.ts';
import { walk } from '../values/size-range.ts';
import {
  CelError,
  Duration,
  ListValue,
  MapValue,
  Optional,
  Timestamp,
  TypeName,
  typeName,
  Uint,
  type Value,
} from '../values/values.ts';
import { doubleText } from './standard.ts';
import { durationText, timestampText } from './times.ts';

/** Characters of a string that functions make of others. */
const resultCharsMax = 10_000_000;
const precisionMax = 100;
/** Steps of a clause, and of each value that is shown. */
const clauseCost = 10;
const shownCost = 5;

export interface Clause {
  readonly letter: string;
  readonly precision: number | undefined;
}

/** Texts and clauses in turn. Throws a CelError that tells what is wrong with the format. */
export function parseFormat(format: string): (string | Clause)[] {
  const parts: (string | Clause)[] = [];
  let at = 0;
  while (at < format.length) {
    const percent = format.indexOf('%', at);
    if (percent < 0) break;
    if (percent > at) parts.push(format.slice(at, percent));
    if (percent === format.length - 1) throw new CelError('unexpected end of string');
    const clause = /%(?:(%)|(?:\.(\d*))?(.))/suy;
    clause.lastIndex = percent;
    const found = clause.exec(format);
    if (found === null) throw new CelError('could not parse formatting clause: unexpected end of string');
    at = clause.lastIndex;
    if (found[1] !== undefined) {
      parts.push('%');
      continue;
    }
    const letter = found[3] as string;
    if (!'sdfebxXo'.includes(letter))
      throw new CelError(`could not parse formatting clause: unrecognized formatting clause "${letter}"`);
    const precision = found[2] === undefined || found[2] === '' ? undefined : Number(found[2]);
    if (precision !== undefined && precision > precisionMax)
      throw new CelError(`could not parse formatting clause: precision may not exceed ${precisionMax}`);
    parts.push({ letter, precision });
  }
  if (at < format.length) parts.push(format.slice(at));
  return parts;
}

export function format(budget: Budget, text: string, args: ListValue): string {
  let out = '';
  let next = 0;
  for (const part of parseFormat(text)) {
    if (typeof part === 'string') out += part;
    else {
      if (next >= args.size) throw new CelError(`index ${next} out of range`);
      out += formatClause(part, args.at(next), budget);
      next++;
    }
    bounded(out.length);
  }
  return out;
}

/** Throws when a result would be too long to be made. */
export function bounded(chars: number): void {
  if (chars > resultCharsMax) throw new CelError(`string is longer than ${resultCharsMax} characters`);
}

function formatClause({ letter, precision }: Clause, value: Value, budget: Budget): string {
  budget.charge(clauseCost);
  switch (letter) {
    case 's':
      return shown(value, budget);
    case 'd':
      if (typeof value === 'bigint') return String(value);
      if (value instanceof Uint) return String(value.value);
      if (typeof value === 'number' && !Number.isFinite(value)) return special(value);
      throw wrongValue('decimal clause can only be used on integers', value);
    case 'f':
    case 'e': {
      const number =
        typeof value === 'bigint' ? Number(value) : value instanceof Uint ? Number(value.value) : value;
      if (typeof number !== 'number')
        throw wrongValue(
          `${letter === 'f' ? 'fixed-point' : 'scientific'} clause can only be used on doubles`,
          value,
        );
      if (!Number.isFinite(number)) return special(number);
      if (letter === 'f') return number.toFixed(precision ?? 6);
      const [digits = '', exponent = '0'] = number.toExponential(precision ?? 6).split('e');
      return `${digits}e${exponent.startsWith('-') ? '-' : '+'}${exponent.replace(/^[+-]/, '').padStart(2, '0')}`;
    }
    case 'b':
      if (typeof value === 'boolean') return value ? '1' : '0';
      return inBase(value, 2, 'only integers and bools can be formatted as binary');
    case 'o':
      return inBase(value, 8, 'octal clause can only be used on integers');
    default: {
      const raw = typeof value === 'string' ? new TextEncoder().encode(value) : value;
      if (raw instanceof Uint8Array) budget.charge(raw.length * shownCost);
      const digits =
        raw instanceof Uint8Array
          ? Array.from(raw, (byte) => byte.toString(16).padStart(2, '0')).join('')
          : inBase(value, 16, 'only integers, byte buffers, and strings can be formatted as hex');
      return letter === 'X' ? digits.toUpperCase() : digits;
    }
  }
}

/** Whether a clause takes values of a type, by its name; a message when it does not. */
export function clauseProblem(letter: string, type: string): string | undefined {
  const taken: Record<string, readonly [readonly string[], string]> = {
    d: [['int', 'uint'], 'decimal clause can only be used on integers'],
    f: [['double', 'int', 'uint'], 'fixed-point clause can only be used on doubles'],
    e: [['double', 'int', 'uint'], 'scientific clause can only be used on doubles'],
    b: [['int', 'uint', 'bool'], 'only integers and bools can be formatted as binary'],
    o: [['int', 'uint'], 'octal clause can only be used on integers'],
    x: [
      ['int', 'uint', 'string', 'bytes'],
      'only integers, byte buffers, and strings can be formatted as hex',
    ],
  };
  const clause = taken[letter.toLowerCase()];
  if (clause === undefined || clause[0].includes(type)) return undefined;
  return `error during formatting: ${clause[1]}, was given ${type}`;
}

function inBase(value: Value, base: number, message: string): string {
  if (typeof value === 'bigint') return value.toString(base);
  if (value instanceof Uint) return value.value.toString(base);
  throw wrongValue(message, value);
}

function wrongValue(message: string, value: Value): CelError {
  return new CelError(`error during formatting: ${message}, was given ${typeName(value)}`);
}

const special = (value: number): string =>
  Number.isNaN(value) ? 'NaN' : value > 0 ? 'Infinity' : '-Infinity';

/** A value as `%s` formats it. */
function shown(value: Value, budget: Budget): string {
  budget.charge(shownCost + (typeof value === 'string' ? walk(value.length) : 0));
  if (typeof value === 'string') return value;
  if (value === null || typeof value === 'boolean' || typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return Number.isFinite(value) ? doubleText(value) : special(value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Uint8Array) {
    budget.charge(walk(value.length));
    return new TextDecoder().decode(value);
  }
  if (value instanceof Timestamp) return timestampText(value);
  if (value instanceof Duration) return durationText(value);
  if (value instanceof TypeName) return value.text;
  if (value instanceof ListValue) return `[${all(value, budget)}]`;
  if (value instanceof MapValue) {
    const entries = value
      .keys()
      .map((key) => `${shown(key, budget)}: ${shown(value.find(key) as Value, budget)}`);
    return `{${entries.sort().join(', ')}}`;
  }
  if (value instanceof Optional)
    throw new CelError(
      'error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps, was given optional_type',
    );
  throw wrongValue(
    'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps',
    value,
  );
}

function all(list: ListValue, budget: Budget): string {
  const parts: string[] = [];
  let chars = 0;
  for (const item of list) {
    const text = shown(item, budget);
    chars += text.length;
    bounded(chars);
    parts.push(text);
  }
  return parts.join(', ');
}
