/** When a cron job runs next, by its schedule: five fields, a word such as `@daily`, or `@every 1h30m`. */

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** Days without a run after which none comes: 29 February is never more than eight years away. */
const searchDays = 8 * 366 + 1;
/** Clocks are never set by more than this. */
const shiftMaxMs = 3 * 60 * minuteMs;

const words: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

interface Field {
  readonly values: readonly number[];
  /** A star, which restricts nothing. */
  readonly isAny: boolean;
}

const ranges = [
  { min: 0, max: 59, names: [] },
  { min: 0, max: 23, names: [] },
  { min: 1, max: 31, names: [] },
  { min: 1, max: 12, names: 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ') },
  { min: 0, max: 6, names: 'sun mon tue wed thu fri sat'.split(' ') },
];

type Range = (typeof ranges)[number];

export interface Timing {
  readonly schedule: string;
  /** A name such as `Europe/Berlin`; undefined: the zone of the browser. */
  readonly timeZone: string | undefined;
  /** The last run, which intervals are counted from. */
  readonly lastMs: number;
}

/** The next runs after a moment, at most `count`; empty when none comes, or the schedule is not understood. */
export function nextRuns({ schedule, timeZone, lastMs }: Timing, afterMs: number, count: number): number[] {
  const text = schedule.trim().replace(/^(?:CRON_)?TZ=\S+\s+/, '');
  if (text.startsWith('@every ')) return everyRuns(durationMs(text.slice(7)), lastMs, afterMs, count);
  try {
    const parts = (words[text] ?? text).split(/\s+/);
    if (parts.length !== ranges.length) return [];
    const fields = parts.map((part, i) => fieldOf(part, ranges[i]!));
    return calendarRuns(fields, offsetsOf(timeZone), afterMs, count);
  } catch {
    return [];
  }
}

function everyRuns(lengthMs: number, lastMs: number, afterMs: number, count: number): number[] {
  if (!(lengthMs > 0)) return [];
  const passed = Math.max(0, Math.floor((afterMs - lastMs) / lengthMs));
  return Array.from({ length: count }, (_, i) => lastMs + (passed + 1 + i) * lengthMs);
}

const unitsMs: Readonly<Record<string, number>> = { h: 3_600_000, m: minuteMs, s: 1_000, ms: 1 };

/** `1h30m`, in whole seconds. */
function durationMs(text: string): number {
  let total = 0;
  for (const [, number, unit] of text.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s)/g))
    total += Number(number) * unitsMs[unit!]!;
  return Math.max(1_000, Math.floor(total / 1_000) * 1_000);
}

function fieldOf(text: string, range: Range): Field {
  const values = new Set<number>();
  let isAny = false;
  for (const part of text.split(',').filter(Boolean)) {
    const [span = '', step] = part.split('/');
    const [first = '', last] = span.split('-');
    const isStar = first === '*' || first === '?';
    const low = isStar ? range.min : numberOf(first, range);
    const single = step === undefined ? low : range.max;
    const high = isStar ? range.max : last === undefined ? single : numberOf(last, range);
    const by = step === undefined ? 1 : Number(step);
    if (!(by > 0) || low < range.min || high > range.max) throw new RangeError(part);
    for (let value = low; value <= high; value += by) values.add(value);
    isAny ||= isStar && by === 1;
  }
  return { values: [...values].sort((a, b) => a - b), isAny };
}

function numberOf(text: string, { min, names }: Range): number {
  const at = names.indexOf(text.toLowerCase());
  const value = at < 0 ? Number(text) : at + min;
  if (!Number.isInteger(value) || text === '') throw new RangeError(text);
  return value;
}

type Offsets = (atMs: number) => number;

/** How far local time is from UTC at a moment. Throws for a zone that does not exist. */
function offsetsOf(timeZone: string | undefined): Offsets {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  return (atMs) => {
    const parts = Object.fromEntries(
      format.formatToParts(atMs).map(({ type, value }) => [type, Number(value)]),
    );
    const { year, month, day, hour, minute, second } = parts as Record<string, number>;
    return Date.UTC(year!, month! - 1, day, hour, minute, second) - Math.floor(atMs / 1000) * 1000;
  };
}

function calendarRuns(fields: readonly Field[], offset: Offsets, afterMs: number, count: number): number[] {
  const [minutes, hours] = fields as [Field, Field];
  const localMs = afterMs + offset(afterMs);
  const first = Math.floor(localMs / dayMs) * dayMs;
  const runs: number[] = [];
  let latest = 0;
  for (let i = 0; i - latest < searchDays && runs.length < count; i++) {
    const day = first + i * dayMs;
    if (!hasDay(fields, day)) continue;
    const found = new Set<number>();
    for (const hour of hours.values)
      for (const minute of minutes.values) {
        const local = day + (hour * 60 + minute) * minuteMs;
        if (local < localMs - shiftMaxMs || found.size >= count * 2) continue;
        for (const at of momentsOf(local, offset)) if (at > afterMs) found.add(at);
      }
    if (found.size > 0) latest = i;
    runs.push(...[...found].sort((a, b) => a - b));
  }
  return runs.slice(0, count);
}

/** Cron's rule: where both kinds of days are restricted, a match of one is enough. */
function hasDay([, , day, month, weekday]: readonly Field[], dayStartMs: number): boolean {
  const date = new Date(dayStartMs);
  if (!month!.values.includes(date.getUTCMonth() + 1)) return false;
  const fits = day!.values.includes(date.getUTCDate());
  const fitsWeek = weekday!.values.includes(date.getUTCDay());
  return day!.isAny || weekday!.isAny ? fits && fitsWeek : fits || fitsWeek;
}

/** The moments of a local time: none when clocks are set forward over it, two when they are set back. */
const momentsOf = (localMs: number, offset: Offsets): number[] =>
  [...new Set([offset(localMs - dayMs), offset(localMs + dayMs)])]
    .map((offsetMs) => ({ atMs: localMs - offsetMs, offsetMs }))
    .filter(({ atMs, offsetMs }) => offset(atMs) === offsetMs)
    .map(({ atMs }) => atMs);
