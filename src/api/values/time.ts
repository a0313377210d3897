/**
 * Times on the wire: RFC 3339 texts, and ages for people.
 *
 * Error messages are those of Go's time package, which clients show: they name the part of the layout that did not
 * match and the remaining text. So parsing walks the same layout part by part.
 */
import { LastMemo } from '../../memo.ts';

/** Longest text that is parsed, in characters; a fraction may have any number of digits within it. */
const textCharsMax = 256;

const timeLayout = '2006-01-02T15:04:05Z07:00';
const microTimeLayout = '2006-01-02T15:04:05.000000Z07:00';
/** Go's zero time, the first second of year 1, which Kubernetes treats as unset. */
const zeroTimeMs = -62_135_596_800_000;
const microDigits = 6;

export class TimeError extends Error {
  override readonly name = 'TimeError';
}

interface Moment {
  /** Whole seconds since 1970, in UTC. */
  readonly seconds: number;
  /** Digits after the decimal point as they were written; may be empty. */
  readonly fraction: string;
}

/** Times in the form in which they are written, but for 29 February: most that are parsed have it. */
const canonicalTime =
  /^\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\dZ$/;

/** Any RFC 3339 time as UTC in whole seconds; a fraction is cut off. Throws a TimeError. */
export function parseTime(text: string): string {
  return canonicalTime.test(text) ? text : formatTime(readMoment(text, timeLayout).seconds * 1000);
}

/** An RFC 3339 time with exactly six fractional digits, as UTC. Throws a TimeError. */
export function parseMicroTime(text: string): string {
  const { seconds, fraction } = readMoment(text, microTimeLayout);
  return `${formatTime(seconds * 1000).slice(0, -1)}.${fraction}Z`;
}

/** Milliseconds since 1970 of a time or micro time; below a millisecond they have a fraction. */
export function timeToMs(text: string): number {
  if (canonicalTime.test(text)) return Date.parse(text);
  const { seconds, fraction } = readMoment(text, timeLayout);
  return seconds * 1000 + (fraction ? Number(`0.${fraction}`) * 1000 : 0);
}

/** Cached: all times of one second have the same text. */
const secondText = new LastMemo(
  (seconds: number) => `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`,
);

export const formatTime = (ms: number): string => secondText.of(Math.floor(ms / 1000));

export function formatMicroTime(ms: number): string {
  // Rounded to the nearest microsecond: most are inexact as floats, and truncation would be one too low.
  const micros = Math.round(ms * 1000);
  const wholeSeconds = Math.floor(micros / 1e6);
  const rest = String(micros - wholeSeconds * 1e6).padStart(microDigits, '0');
  return `${formatTime(wholeSeconds * 1000).slice(0, -1)}.${rest}Z`;
}

/** Milliseconds since 1970; undefined for unset, zero and unreadable times. */
export function momentMs(timestamp: string | undefined | null): number | undefined {
  if (!timestamp) return undefined;
  try {
    const ms = timeToMs(timestamp);
    return ms === zeroTimeMs ? undefined : ms;
  } catch (error) {
    if (error instanceof TimeError) return undefined;
    throw error;
  }
}

/** A duration in at most two units; large durations have only one (Kubernetes' HumanDuration). */
export function durationText(ms: number): string {
  if (!Number.isFinite(ms)) return '<unknown>';
  const seconds = Math.trunc(ms / 1000);
  // Clocks differ: a time up to one second in the future counts as now.
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.trunc(seconds / 60);
  if (minutes < 10) return twoUnits(minutes, 'm', seconds % 60, 's');
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.trunc(minutes / 60);
  if (hours < 8) return twoUnits(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return `${hours}h`;
  const days = Math.trunc(hours / 24);
  if (days < 8) return twoUnits(days, 'd', hours % 24, 'h');
  if (days < 2 * 365) return `${days}d`;
  const years = Math.trunc(days / 365);
  if (years < 8) return twoUnits(years, 'y', days % 365, 'd');
  return `${years}y`;
}

function twoUnits(major: number, majorUnit: string, minor: number, minorUnit: string): string {
  return minor === 0 ? `${major}${majorUnit}` : `${major}${majorUnit}${minor}${minorUnit}`;
}

function readMoment(text: string, layout: string): Moment {
  if (text.length > textCharsMax) {
    const head = quote(`${text.slice(0, 64)}...`);
    throw new TimeError(`parsing time ${head}: more than ${textCharsMax} characters`);
  }
  return new Reader(text, layout).read();
}

/** Parses a time from left to right; `rest` is the remaining text. */
class Reader {
  private rest: string;

  constructor(
    private readonly text: string,
    private readonly layout: string,
  ) {
    this.rest = text;
  }

  read(): Moment {
    const year = this.number('2006', /^\d{4}/);
    this.literal('-');
    const month = this.number('01', /^\d\d/, 'month', 1, 12);
    this.literal('-');
    const day = this.number('02', /^\d\d/);
    this.literal('T');
    // Go accepts a single digit for the hour only.
    const hour = this.number('15', /^\d\d?/, 'hour', 0, 23);
    this.literal(':');
    const minute = this.number('04', /^\d\d/, 'minute', 0, 59);
    this.literal(':');
    const second = this.number('05', /^\d\d/, 'second', 0, 59);
    const fraction = this.layout === microTimeLayout ? this.microFraction() : this.anyFraction();
    const offsetSeconds = this.zone();
    if (this.rest) throw this.problem(`: extra text: ${quote(this.rest)}`);
    if (day < 1 || day > daysIn(year, month)) throw this.problem(': day out of range');
    const date = new Date(0);
    date.setUTCFullYear(year, month - 1, day);
    date.setUTCHours(hour, minute, second);
    const seconds = date.getTime() / 1000 - offsetSeconds;
    // With its offset, a time of the first or last day may be outside the years of RFC 3339.
    const utcYear = new Date(seconds * 1000).getUTCFullYear();
    if (utcYear < 0 || utcYear > 9999) throw this.problem(': year out of range');
    return { seconds, fraction };
  }

  private number(
    element: string,
    pattern: RegExp,
    name = '',
    min = 0,
    max = Number.POSITIVE_INFINITY,
  ): number {
    const found = pattern.exec(this.rest)?.[0];
    if (found === undefined) throw this.mismatch(element);
    const value = Number(found);
    if (value < min || value > max) throw this.problem(`: ${name} out of range`);
    this.rest = this.rest.slice(found.length);
    return value;
  }

  private literal(element: string): void {
    if (!this.rest.startsWith(element)) throw this.mismatch(element);
    this.rest = this.rest.slice(element.length);
  }

  private anyFraction(): string {
    return this.fraction(/^[.,](\d+)/) ?? '';
  }

  private microFraction(): string {
    const digits = this.fraction(/^[.,](\d{6})/);
    if (digits === undefined) throw this.mismatch('.000000');
    return digits;
  }

  private fraction(pattern: RegExp): string | undefined {
    const found = pattern.exec(this.rest);
    if (found) this.rest = this.rest.slice(found[0].length);
    return found?.[1];
  }

  private zone(): number {
    const element = 'Z07:00';
    if (this.rest.startsWith('Z')) {
      this.rest = this.rest.slice(1);
      return 0;
    }
    const found = /^(.)(\d\d):(\d\d)/s.exec(this.rest);
    if (!found) throw this.mismatch(element);
    const [matched, sign, hoursText, minutesText] = found;
    const hours = Number(hoursText);
    const minutes = Number(minutesText);
    // Go checks the range before the sign, the minute before the hour, and accepts 24:60.
    if (minutes > 60) throw this.problem(': time zone offset minute out of range');
    if (hours > 24) throw this.problem(': time zone offset hour out of range');
    if (sign !== '+' && sign !== '-') throw this.mismatch(element);
    this.rest = this.rest.slice(matched.length);
    const offsetSeconds = (hours * 60 + minutes) * 60;
    return sign === '-' ? -offsetSeconds : offsetSeconds;
  }

  private mismatch(element: string): TimeError {
    return this.problem(` as ${quote(this.layout)}: cannot parse ${quote(this.rest)} as ${quote(element)}`);
  }

  private problem(message: string): TimeError {
    return new TimeError(`parsing time ${quote(this.text)}${message}`);
  }
}

function daysIn(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** Quotes like Go's time package: escapes quotes and backslashes, and writes control and non-ASCII bytes in hex. */
function quote(text: string): string {
  let out = '"';
  for (const byte of new TextEncoder().encode(text)) {
    const char = String.fromCharCode(byte);
    if (byte < 0x20 || byte >= 0x80) out += `\\x${byte.toString(16).padStart(2, '0')}`;
    else out += char === '"' || char === '\\' ? `\\${char}` : char;
  }
  return `${out}"`;
}
