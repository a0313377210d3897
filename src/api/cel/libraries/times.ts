/** Timestamps and durations: reading, writing and parts of them. */
import { TimeZone } from '../../values/time-zone.ts';
import { define, type Overload } from '../values/functions.ts';
import { CelError, Duration, Timestamp } from '../values/values.ts';

const second = 1_000_000_000n;
const dayMs = 86_400_000;
/** The years 1 to 9999. */
const timestampMin = -62_135_596_800n * second;
const timestampMax = 253_402_300_800n * second - 1n;
const durationMax = 2n ** 63n - 1n;
/** Longest text that is read. */
const textCharsMax = 128;
/** Steps to find the time in a zone, beyond those that cel-go counts. */
const zoneWork = 400;

const timestampShape =
  /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,30}))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;
const dateShape = /^\d{4}-\d\d-\d\d$/;

/** Parses an RFC 3339 time; undefined when the text is not one. */
export function parseTimestamp(text: string): Timestamp | undefined {
  const parts = text.length > textCharsMax ? null : timestampShape.exec(text);
  if (parts === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, seconds = 0] = parts.slice(1, 7).map(Number);
  const zone = (Number(parts[9] ?? 0) * 60 + Number(parts[10] ?? 0)) * (parts[8] === '-' ? -1 : 1);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  if (hour > 23 || minute > 59 || seconds > 59 || Number(parts[9] ?? 0) > 23 || Number(parts[10] ?? 0) > 59)
    return undefined;
  const whole = date.getTime() / 1000 + hour * 3600 + (minute - zone) * 60 + seconds;
  const fraction = (parts[7] ?? '').slice(0, 9).padEnd(9, '0');
  const ns = BigInt(whole) * second + BigInt(fraction);
  return ns < timestampMin || ns > timestampMax ? undefined : new Timestamp(ns);
}

/** `2024-01-31`, as schemas with `format: date` have it. */
export function parseDate(text: string): Timestamp | undefined {
  return dateShape.test(text) ? parseTimestamp(`${text}T00:00:00Z`) : undefined;
}

const units: Record<string, bigint> = {
  ns: 1n,
  us: 1000n,
  µs: 1000n,
  μs: 1000n,
  ms: 1_000_000n,
  s: second,
  m: 60n * second,
  h: 3600n * second,
};
const durationPart = /(\d*)(?:\.(\d*))?(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/y;

/** Parses a duration as Go writes it: `1h30m`. */
export function parseDuration(text: string): Duration | undefined {
  const negative = text.startsWith('-');
  const rest = text.replace(/^[+-]/, '');
  if (rest === '0') return new Duration(0n);
  if (rest === '' || text.length > textCharsMax) return undefined;
  let ns = 0n;
  durationPart.lastIndex = 0;
  while (durationPart.lastIndex < rest.length) {
    const part = durationPart.exec(rest);
    if (part === null) return undefined;
    const [, whole = '', fraction = '', unit = ''] = part;
    if (whole === '' && fraction === '') return undefined;
    const size = units[unit] as bigint;
    ns += BigInt(whole === '' ? 0 : whole) * size;
    if (fraction !== '') ns += (BigInt(fraction) * size) / 10n ** BigInt(fraction.length);
  }
  return ns > durationMax ? undefined : new Duration(negative ? -ns : ns);
}

/** RFC 3339 with as many digits of the second as there are. */
export function timestampText({ ns }: Timestamp): string {
  const { ms, rest } = split(ns);
  const base = new Date(ms).toISOString().slice(0, 19);
  return `${base}${fractionText(rest)}Z`;
}

/** Seconds: `3600s`, `1.5s`. */
export function durationText({ ns }: Duration): string {
  const size = ns < 0n ? -ns : ns;
  return `${ns < 0n ? '-' : ''}${size / second}${fractionText(size % second)}s`;
}

function fractionText(ns: bigint): string {
  return ns === 0n ? '' : `.${ns.toString().padStart(9, '0').replace(/0+$/, '')}`;
}

/** Milliseconds of the whole second, and the nanoseconds in it. */
function split(ns: bigint): { ms: number; rest: bigint } {
  const rest = ((ns % second) + second) % second;
  return { ms: Number((ns - rest) / 1_000_000n), rest };
}

function checkedTimestamp(ns: bigint): Timestamp {
  if (ns < timestampMin || ns > timestampMax) throw new CelError('timestamp overflow');
  return new Timestamp(ns);
}

function checkedDuration(ns: bigint): Duration {
  if (ns < -durationMax - 1n || ns > durationMax) throw new CelError('integer overflow');
  return new Duration(ns);
}

/** Local time as if it were UTC, so that the parts can be read from it. */
function local({ ns }: Timestamp, zone: string): Date {
  const { ms } = split(ns);
  return new Date(ms + zoneOffsetMs(zone, ms));
}

const offsetShape = /^([+-]?)(\d\d):(\d\d)$/;

function zoneOffsetMs(zone: string, atMs: number): number {
  if (zone === '' || zone === 'UTC') return 0;
  const offset = offsetShape.exec(zone);
  if (offset !== null)
    return (Number(offset[2]) * 60 + Number(offset[3])) * (offset[1] === '-' ? -60_000 : 60_000);
  const known = zone.length > textCharsMax ? undefined : TimeZone.find(zone);
  if (known === undefined) throw new CelError(`unknown time zone ${zone}`);
  return known.offsetMs(atMs);
}

const dateParts: Record<string, (date: Date) => number> = {
  getFullYear: (date) => date.getUTCFullYear(),
  getMonth: (date) => date.getUTCMonth(),
  getDayOfMonth: (date) => date.getUTCDate() - 1,
  getDate: (date) => date.getUTCDate(),
  getDayOfWeek: (date) => date.getUTCDay(),
  getDayOfYear: (date) => Math.floor((date.getTime() - Date.UTC(date.getUTCFullYear(), 0, 1)) / dayMs),
  getHours: (date) => date.getUTCHours(),
  getMinutes: (date) => date.getUTCMinutes(),
  getSeconds: (date) => date.getUTCSeconds(),
};

export const timeLibrary = (): readonly Overload[] => [
  ...Object.entries(dateParts).flatMap(([name, part]) => [
    define(`timestamp.${name}(): int`, (at: Timestamp) => BigInt(part(local(at, '')))),
    define(`timestamp.${name}(string): int`, (at: Timestamp, zone: string) => BigInt(part(local(at, zone))), {
      work: () => zoneWork,
    }),
  ]),
  define('timestamp.getMilliseconds(): int', (at: Timestamp) => split(at.ns).rest / 1_000_000n),
  define('timestamp.getMilliseconds(string): int', (at: Timestamp, zone: string) => {
    zoneOffsetMs(zone, 0);
    return split(at.ns).rest / 1_000_000n;
  }),
  define('duration.getHours(): int', ({ ns }: Duration) => ns / (3600n * second)),
  define('duration.getMinutes(): int', ({ ns }: Duration) => ns / (60n * second)),
  define('duration.getSeconds(): int', ({ ns }: Duration) => ns / second),
  define('duration.getMilliseconds(): int', ({ ns }: Duration) => (ns % second) / 1_000_000n),
  define('_+_(timestamp, duration): timestamp', (at: Timestamp, by: Duration) =>
    checkedTimestamp(at.ns + by.ns),
  ),
  define('_+_(duration, timestamp): timestamp', (by: Duration, at: Timestamp) =>
    checkedTimestamp(at.ns + by.ns),
  ),
  define('_+_(duration, duration): duration', (a: Duration, b: Duration) => checkedDuration(a.ns + b.ns)),
  define('_-_(timestamp, timestamp): duration', (a: Timestamp, b: Timestamp) => checkedDuration(a.ns - b.ns)),
  define('_-_(timestamp, duration): timestamp', (at: Timestamp, by: Duration) =>
    checkedTimestamp(at.ns - by.ns),
  ),
  define('_-_(duration, duration): duration', (a: Duration, b: Duration) => checkedDuration(a.ns - b.ns)),
  define('timestamp(timestamp): timestamp', (at: Timestamp) => at),
  define('timestamp(int): timestamp', (seconds: bigint) => checkedTimestamp(seconds * second)),
  define(
    'timestamp(string): timestamp',
    (text: string) => parseTimestamp(text) ?? failedConversion('google.protobuf.Timestamp'),
  ),
  define('duration(duration): duration', (by: Duration) => by),
  define('duration(int): duration', (ns: bigint) => new Duration(ns)),
  define(
    'duration(string): duration',
    (text: string) => parseDuration(text) ?? failedConversion('google.protobuf.Duration'),
  ),
  define('int(timestamp): int', ({ ns }: Timestamp) => BigInt(split(ns).ms) / 1000n),
  define('int(duration): int', ({ ns }: Duration) => ns),
  define('string(timestamp): string', (at: Timestamp) => timestampText(at)),
  define('string(duration): string', (by: Duration) => durationText(by)),
];

function failedConversion(to: string): never {
  throw new CelError(`type conversion error from 'string' to '${to}'`);
}
