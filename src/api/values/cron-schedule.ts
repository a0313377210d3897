/**
 * Cron schedules in crontab syntax: five fields for minute, hour, day of month, month and day of week, a word such as
 * `@daily`, or `@every 1h30m`.
 *
 * A schedule with fields matches every minute whose local time fits them. When clocks are set forward, local times
 * that do not exist are skipped; when they are set back, local times that exist twice match twice. Error messages are
 * those of the library that Kubernetes uses.
 */
import type { TimeZone } from './time-zone.ts';

const textCharsMax = 1024;
/** Years that a search covers. 29 February is never more than eight years away. */
const searchDays = 8 * 366 + 1;
/** The longest interval: Go's maximum, in nanoseconds. */
const intervalMaxMs = 2 ** 63 / 1e6;

const dayMs = 24 * 3600 * 1000;
const minuteMs = 60_000;
/** Local time is never further from UTC than this. */
const offsetMaxMs = 16 * 3600 * 1000;

export class ScheduleError extends Error {
  override readonly name = 'ScheduleError';
}

export interface CronSchedule {
  /** The first matching time after a moment; undefined when no time matches for years. */
  next(afterMs: number, zone: TimeZone): number | undefined;
  /** The times up to a moment and after another, newest first. Intervals are counted from `afterMs`. */
  backwards(afterMs: number, untilMs: number, zone: TimeZone): Generator<number, void, undefined>;
}

/** Parses a schedule. Throws a ScheduleError. */
export function parseSchedule(text: string): CronSchedule {
  if (text.length > textCharsMax) throw new ScheduleError(`more than ${textCharsMax} characters`);
  const [word] = text.split(' ', 1);
  if (word === '@every' && text !== word) return new Interval(parseInterval(text));
  if (text.startsWith('@')) {
    const meant = Object.hasOwn(words, text) ? words[text] : undefined;
    if (meant === undefined) throw new ScheduleError(`unrecognized descriptor: ${text}`);
    return parseSchedule(meant);
  }
  const parts = text.split(/\s+/).filter((part) => part !== '');
  if (parts.length !== ranges.length)
    throw new ScheduleError(
      `expected exactly ${ranges.length} fields, found ${parts.length}: [${parts.join(' ')}]`,
    );
  const [minute, hour, day, month, weekday] = parts.map((part, i) => parseField(part, ranges[i]!));
  return new Calendar(minute!, hour!, day!, month!, weekday!);
}

const words: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

// Intervals

/** A fixed interval. */
class Interval implements CronSchedule {
  constructor(private readonly lengthMs: number) {}

  next(afterMs: number): number {
    return wholeSecond(afterMs) + this.lengthMs;
  }

  *backwards(afterMs: number, untilMs: number): Generator<number, void, undefined> {
    const startMs = wholeSecond(afterMs);
    for (let i = Math.floor((untilMs - startMs) / this.lengthMs); i > 0; i--)
      yield startMs + i * this.lengthMs;
  }
}

const wholeSecond = (ms: number): number => Math.floor(ms / 1000) * 1000;

const unitsMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** `@every` and a Go duration: whole seconds, at least one. */
function parseInterval(text: string): number {
  const duration = text.slice('@every '.length);
  const refused = (problem: string): ScheduleError =>
    new ScheduleError(
      `failed to parse duration ${text}: time: ${problem} duration ${JSON.stringify(duration)}`,
    );
  const [, sign, unsigned = ''] = /^([+-]?)(.*)$/s.exec(duration) ?? [];
  let totalMs = 0;
  if (unsigned !== '0') {
    let rest = unsigned;
    do {
      const number = /^(\d+\.?\d*|\.\d+)/.exec(rest)?.[0];
      if (number === undefined) throw refused('invalid');
      const unit = /^[^\d.]*/.exec(rest.slice(number.length))![0];
      if (unit === '') throw refused('missing unit in');
      if (!Object.hasOwn(unitsMs, unit)) throw refused(`unknown unit ${JSON.stringify(unit)} in`);
      totalMs += Number(number) * unitsMs[unit]!;
      rest = rest.slice(number.length + unit.length);
    } while (rest !== '');
  }
  if (totalMs >= intervalMaxMs) throw refused('invalid');
  return sign === '-' ? 1000 : Math.max(1000, wholeSecond(totalMs));
}

// Fields

/** The values of a field, in order. `any`: it was a star, so the field restricts nothing. */
interface Field {
  readonly values: readonly number[];
  readonly any: boolean;
}

interface Range {
  readonly min: number;
  readonly max: number;
  readonly names: readonly string[];
}

const months = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ');
const weekdays = 'sun mon tue wed thu fri sat'.split(' ');

const ranges: readonly Range[] = [
  { min: 0, max: 59, names: [] },
  { min: 0, max: 23, names: [] },
  { min: 1, max: 31, names: [] },
  { min: 1, max: 12, names: months },
  { min: 0, max: 6, names: weekdays },
];

function parseField(text: string, range: Range): Field {
  const values = new Set<number>();
  let any = false;
  for (const part of text.split(',')) if (part !== '' && addPart(part, range, values)) any = true;
  return { values: [...values].sort((a, b) => a - b), any };
}

/** Adds the values of one part of a list; true when it is a star. */
function addPart(part: string, range: Range, values: Set<number>): boolean {
  const [span = '', stepText, ...moreSteps] = part.split('/');
  const [first = '', last, ...moreHyphens] = span.split('-');
  const star = first === '*' || first === '?';
  const low = star ? range.min : parseValue(first, range);
  if (!star && moreHyphens.length) throw new ScheduleError(`too many hyphens: ${part}`);
  let high = star ? range.max : last === undefined ? low : parseValue(last, range);
  if (moreSteps.length) throw new ScheduleError(`too many slashes: ${part}`);
  const step = stepText === undefined ? 1 : parseNumber(stepText);
  // With a step, a single value is the start of a range.
  if (stepText !== undefined && last === undefined) high = range.max;
  if (low < range.min)
    throw new ScheduleError(`beginning of range (${low}) below minimum (${range.min}): ${part}`);
  if (high > range.max)
    throw new ScheduleError(`end of range (${high}) above maximum (${range.max}): ${part}`);
  if (low > high)
    throw new ScheduleError(`beginning of range (${low}) beyond end of range (${high}): ${part}`);
  if (step === 0) throw new ScheduleError(`step of range should be a positive number: ${part}`);
  for (let value = low; value <= high; value += step) values.add(value);
  return star && step === 1;
}

function parseValue(text: string, { min, names }: Range): number {
  const at = names.indexOf(text.toLowerCase());
  return at < 0 ? parseNumber(text) : at + min;
}

function parseNumber(text: string): number {
  const problem = (words: string): ScheduleError =>
    new ScheduleError(
      `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: ${words}`,
    );
  if (!/^[+-]?\d+$/.test(text)) throw problem('invalid syntax');
  const number = Number(text);
  if (Math.abs(number) >= 2 ** 63) throw problem('value out of range');
  if (number < 0) throw new ScheduleError(`negative number (${number}) not allowed: ${text}`);
  return number;
}

// The calendar

/** Local days are visited one by one, each as the UTC time of its midnight. */
class Calendar implements CronSchedule {
  constructor(
    private readonly minute: Field,
    private readonly hour: Field,
    private readonly day: Field,
    private readonly month: Field,
    private readonly weekday: Field,
  ) {}

  next(afterMs: number, zone: TimeZone): number | undefined {
    const first = localDay(afterMs, zone);
    for (let i = 0; i < searchDays; i++) {
      const day = first + i * dayMs;
      if (!this.#hasDay(day)) continue;
      for (const { offsetMs, fromMs, toMs } of spansOf(day, zone)) {
        const earliest = Math.max(fromMs, afterMs + 1) + offsetMs - day;
        const minute = this.#firstMinute(Math.ceil(earliest / minuteMs));
        if (minute === undefined) continue;
        const atMs = day + minute * minuteMs - offsetMs;
        if (atMs < toMs) return atMs;
      }
    }
    return undefined;
  }

  *backwards(afterMs: number, untilMs: number, zone: TimeZone): Generator<number, void, undefined> {
    for (let latestMs = untilMs; ; ) {
      const atMs = this.#previous(latestMs, zone);
      if (atMs === undefined || atMs <= afterMs) return;
      yield atMs;
      latestMs = atMs - 1;
    }
  }

  /** The last matching time up to a moment. */
  #previous(untilMs: number, zone: TimeZone): number | undefined {
    const last = localDay(untilMs, zone);
    for (let i = 0; i < searchDays; i++) {
      const day = last - i * dayMs;
      if (!this.#hasDay(day)) continue;
      for (const { offsetMs, fromMs, toMs } of spansOf(day, zone).toReversed()) {
        const latest = Math.min(toMs - 1, untilMs) + offsetMs - day;
        const minute = this.#lastMinute(Math.floor(latest / minuteMs));
        if (minute === undefined) continue;
        const atMs = day + minute * minuteMs - offsetMs;
        if (atMs >= fromMs) return atMs;
      }
    }
    return undefined;
  }

  /** Cron's rule: where both kinds of days are restricted, a match of one is enough. */
  #hasDay(dayStartMs: number): boolean {
    // An empty list matches nothing.
    if (this.minute.values.length === 0 || this.hour.values.length === 0) return false;
    const date = new Date(dayStartMs);
    if (!this.month.values.includes(date.getUTCMonth() + 1)) return false;
    const fits = this.day.values.includes(date.getUTCDate());
    const fitsWeek = this.weekday.values.includes(date.getUTCDay());
    return this.day.any || this.weekday.any ? fits && fitsWeek : fits || fitsWeek;
  }

  /** The first matching minute of a day, from a minute on. */
  #firstMinute(from: number): number | undefined {
    for (const hour of this.hour.values) {
      if (hour * 60 + 59 < from) continue;
      const minute = this.minute.values.find((one) => hour * 60 + one >= from);
      if (minute !== undefined) return hour * 60 + minute;
    }
    return undefined;
  }

  #lastMinute(until: number): number | undefined {
    for (const hour of this.hour.values.toReversed()) {
      if (hour * 60 > until) continue;
      const minute = this.minute.values.findLast((one) => hour * 60 + one <= until);
      if (minute !== undefined) return hour * 60 + minute;
    }
    return undefined;
  }
}

/** The local day that a moment is in. */
const localDay = (atMs: number, zone: TimeZone): number =>
  Math.floor((atMs + zone.offsetMs(atMs)) / dayMs) * dayMs;

/** The UTC offset spans that a local day can overlap; times outside of the day do not match. */
const spansOf = (day: number, zone: TimeZone) => zone.spans(day - offsetMaxMs, day + dayMs + offsetMaxMs);
