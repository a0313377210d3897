/**
 * Proves that schedules are parsed as in Kubernetes, match exactly the minutes whose local time fits, also at
 * daylight saving changes, and that every search ends.
 */
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { parseSchedule, ScheduleError } from './cron-schedule.ts';
import { TimeZone } from './time-zone.ts';

const minuteMs = 60_000;
const zoneOf = (name: string): TimeZone => TimeZone.find(name)!;
const utc = zoneOf('UTC');
const ms = (text: string): number => Date.parse(text);

/** The next times of a schedule, in local time. */
function following(schedule: string, after: string, count: number, zone = utc): string[] {
  const parsed = parseSchedule(schedule);
  const times: string[] = [];
  for (let atMs = ms(after); times.length < count; ) {
    const next = parsed.next(atMs, zone);
    if (next === undefined) break;
    times.push(zone.text(next));
    atMs = next;
  }
  return times;
}

/** The same, backwards. */
function preceding(schedule: string, after: string, until: string, zone = utc): string[] {
  return [...parseSchedule(schedule).backwards(ms(after), ms(until), zone)].map((one) => zone.text(one));
}

test.each([
  ['* * * * *', '2024-02-28T23:58:30Z', ['2024-02-28T23:59:00Z', '2024-02-29T00:00:00Z']],
  ['*/15 * * * *', '2024-05-01T12:00:00Z', ['2024-05-01T12:15:00Z', '2024-05-01T12:30:00Z']],
  ['7/20 3 * * *', '2024-05-01T03:08:00Z', ['2024-05-01T03:27:00Z', '2024-05-01T03:47:00Z']],
  ['0 9-17/4 * * mon-fri', '2024-05-03T13:00:00Z', ['2024-05-03T17:00:00Z', '2024-05-06T09:00:00Z']],
  ['30 1,13 * JAN,Jul ?', '2024-05-01T00:00:00Z', ['2024-07-01T01:30:00Z', '2024-07-01T13:30:00Z']],
  ['0 0 29 2 *', '2024-03-01T00:00:00Z', ['2028-02-29T00:00:00Z', '2032-02-29T00:00:00Z']],
  ['0 0 29 2 *', '2096-03-01T00:00:00Z', ['2104-02-29T00:00:00Z']],
  ['0 0 31 * *', '2024-04-01T00:00:00Z', ['2024-05-31T00:00:00Z', '2024-07-31T00:00:00Z']],
  ['@hourly', '2024-05-01T12:00:00Z', ['2024-05-01T13:00:00Z', '2024-05-01T14:00:00Z']],
  ['@daily', '2024-05-01T12:00:00Z', ['2024-05-02T00:00:00Z']],
  ['@midnight', '2024-05-01T12:00:00Z', ['2024-05-02T00:00:00Z']],
  ['@weekly', '2024-05-01T12:00:00Z', ['2024-05-05T00:00:00Z', '2024-05-12T00:00:00Z']],
  ['@monthly', '2024-05-01T12:00:00Z', ['2024-06-01T00:00:00Z']],
  ['@yearly', '2024-05-01T12:00:00Z', ['2025-01-01T00:00:00Z']],
  ['@annually', '2024-05-01T12:00:00Z', ['2025-01-01T00:00:00Z', '2026-01-01T00:00:00Z']],
  ['@every 1h30m', '2024-05-01T12:00:10.5Z', ['2024-05-01T13:30:10Z', '2024-05-01T15:00:10Z']],
  ['@every 1.5s', '2024-05-01T12:00:00Z', ['2024-05-01T12:00:01Z', '2024-05-01T12:00:02Z']],
  ['@every -3h', '2024-05-01T12:00:00Z', ['2024-05-01T12:00:01Z']],
] as const)('%s after %s', (schedule, after, times) => {
  expect(following(schedule, after, times.length)).toEqual(times);
});

describe('days', () => {
  it('fit one of two restrictions, where both are there', () => {
    expect(following('0 0 13 * FRI', '2024-09-01T00:00:00Z', 4)).toEqual([
      '2024-09-06T00:00:00Z',
      '2024-09-13T00:00:00Z',
      '2024-09-20T00:00:00Z',
      '2024-09-27T00:00:00Z',
    ]);
  });

  it.each(['0 0 13 * *', '0 0 13 * ?', '0 0 13 * */1'])('of the month alone: %s', (schedule) => {
    expect(following(schedule, '2024-09-01T00:00:00Z', 2)).toEqual([
      '2024-09-13T00:00:00Z',
      '2024-10-13T00:00:00Z',
    ]);
  });

  it('a star with a step is a restriction', () => {
    expect(following('0 0 */30 * SUN', '2024-09-01T12:00:00Z', 3)).toEqual([
      '2024-09-08T00:00:00Z',
      '2024-09-15T00:00:00Z',
      '2024-09-22T00:00:00Z',
    ]);
  });
});

describe('where clocks change', () => {
  const berlin = zoneOf('Europe/Berlin');

  it('times that are skipped do not happen', () => {
    // 31 March 2024: 02:00 becomes 03:00.
    expect(following('30 2 * * *', '2024-03-30T00:00:00Z', 3, berlin)).toEqual([
      '2024-03-30T02:30:00+01:00',
      '2024-04-01T02:30:00+02:00',
      '2024-04-02T02:30:00+02:00',
    ]);
    expect(following('*/30 1-3 * * *', '2024-03-31T00:00:00Z', 3, berlin)).toEqual([
      '2024-03-31T01:30:00+01:00',
      '2024-03-31T03:00:00+02:00',
      '2024-03-31T03:30:00+02:00',
    ]);
  });

  it('times that are there twice happen twice', () => {
    // 27 October 2024: 03:00 becomes 02:00.
    expect(following('30 2 * * *', '2024-10-26T12:00:00Z', 3, berlin)).toEqual([
      '2024-10-27T02:30:00+02:00',
      '2024-10-27T02:30:00+01:00',
      '2024-10-28T02:30:00+01:00',
    ]);
    expect(preceding('30 2 * * *', '2024-10-25T12:00:00Z', '2024-10-28T01:29:00Z', berlin)).toEqual([
      '2024-10-27T02:30:00+01:00',
      '2024-10-27T02:30:00+02:00',
      '2024-10-26T02:30:00+02:00',
    ]);
  });

  it('midnight may not exist', () => {
    // 8 September 2024, Santiago: 00:00 becomes 01:00.
    const santiago = zoneOf('America/Santiago');
    expect(following('0 0 * * *', '2024-09-07T12:00:00Z', 1, santiago)).toEqual([
      '2024-09-09T00:00:00-03:00',
    ]);
    expect(following('0 * 8 9 *', '2024-09-07T12:00:00Z', 1, santiago)).toEqual([
      '2024-09-08T01:00:00-03:00',
    ]);
  });

  it('intervals go on', () => {
    expect(following('@every 1h', '2024-03-31T00:30:00Z', 2, berlin)).toEqual([
      '2024-03-31T03:30:00+02:00',
      '2024-03-31T04:30:00+02:00',
    ]);
  });
});

describe('times that are past', () => {
  it('come newest first, and only those after the beginning', () => {
    expect(preceding('0 */6 * * *', '2024-05-01T00:00:00Z', '2024-05-01T18:00:00Z')).toEqual([
      '2024-05-01T18:00:00Z',
      '2024-05-01T12:00:00Z',
      '2024-05-01T06:00:00Z',
    ]);
    expect(preceding('0 */6 * * *', '2024-05-01T18:00:00Z', '2024-05-01T23:59:59Z')).toEqual([]);
  });

  it('of an interval are counted from its beginning', () => {
    expect(preceding('@every 40m', '2024-05-01T00:00:10Z', '2024-05-01T02:00:09Z')).toEqual([
      '2024-05-01T01:20:10Z',
      '2024-05-01T00:40:10Z',
    ]);
  });

  it.each([
    ['* * * * *', '2024-05-01T12:34:00Z'],
    ['@every 1s', '2024-05-01T12:34:56Z'],
    ['0 0 1 1 *', '2024-01-01T00:00:00Z'],
  ])('are found without a walk through all that came before: %s', (schedule, newest) => {
    const times = parseSchedule(schedule).backwards(0, ms('2024-05-01T12:34:56Z'), utc);
    expect(times.next().value).toBe(ms(newest));
  });
});

it.each(['0 0 30 2 *', '0 0 31 4,6,9,11 *', ', * * * *'])('%s never happens', (schedule) => {
  expect(following(schedule, '2024-05-01T00:00:00Z', 1)).toEqual([]);
  expect(preceding(schedule, '2000-05-01T00:00:00Z', '2024-05-01T00:00:00Z')).toEqual([]);
});

test.each([
  ['', 'expected exactly 5 fields, found 0: []'],
  ['* * * *', 'expected exactly 5 fields, found 4: [* * * *]'],
  ['0 * * * * *', 'expected exactly 5 fields, found 6: [0 * * * * *]'],
  ['a * * * *', 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'],
  ['60 * * * *', 'end of range (60) above maximum (59): 60'],
  ['* 24 * * *', 'end of range (24) above maximum (23): 24'],
  ['* * 0 * *', 'beginning of range (0) below minimum (1): 0'],
  ['* * * 13 *', 'end of range (13) above maximum (12): 13'],
  ['* * * * 7', 'end of range (7) above maximum (6): 7'],
  ['* * * * fri-mon', 'beginning of range (5) beyond end of range (1): fri-mon'],
  ['1-2-3 * * * *', 'too many hyphens: 1-2-3'],
  ['*/2/3 * * * *', 'too many slashes: */2/3'],
  ['*/0 * * * *', 'step of range should be a positive number: */0'],
  ['*/-5 * * * *', 'negative number (-5) not allowed: -5'],
  [
    '99999999999999999999 * * * *',
    'failed to parse int from 99999999999999999999: strconv.Atoi: parsing "99999999999999999999": value out of range',
  ],
  ['@sometimes', 'unrecognized descriptor: @sometimes'],
  ['@every', 'unrecognized descriptor: @every'],
  ['@every ', 'failed to parse duration @every : time: invalid duration ""'],
  ['@every x', 'failed to parse duration @every x: time: invalid duration "x"'],
  ['@every 5', 'failed to parse duration @every 5: time: missing unit in duration "5"'],
  ['@every 5d', 'failed to parse duration @every 5d: time: unknown unit "d" in duration "5d"'],
  ['@every 9999999h', 'failed to parse duration @every 9999999h: time: invalid duration "9999999h"'],
  [`${'1,'.repeat(600)}1 * * * *`, 'more than 1024 characters'],
])('%s is refused', (schedule, message) => {
  expect(() => parseSchedule(schedule)).toThrow(new ScheduleError(message));
});

describe('any schedule', () => {
  const range = (min: number, max: number) => {
    const value = fc.integer({ min, max });
    const part = fc.oneof(
      value.map(String),
      fc.tuple(value, value).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
      fc.tuple(value, fc.integer({ min: 1, max })).map(([a, step]) => `${a}/${step}`),
      fc.integer({ min: 1, max }).map((step) => `*/${step}`),
    );
    const list = fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(','));
    return fc.oneof({ weight: 2, arbitrary: fc.constant('*') }, list);
  };
  const schedules = fc
    .tuple(range(0, 59), range(0, 23), range(1, 31), range(1, 12), range(0, 6))
    .map((fields) => fields.join(' '));
  // Two days around changes of the clocks, by an hour and by half an hour, and a day without any.
  const places = fc.constantFrom(
    ['Europe/Berlin', '2024-03-30T12:00:00Z'],
    ['Europe/Berlin', '2024-10-26T12:00:00Z'],
    ['Australia/Lord_Howe', '2024-04-06T00:00:00Z'],
    ['Australia/Lord_Howe', '2024-10-05T00:00:00Z'],
    ['America/Santiago', '2024-04-06T12:00:00Z'],
    ['Asia/Kathmandu', '2024-12-31T00:00:00Z'],
  );
  const hoursMax = 36;

  it('means every minute whose local time fits it, forwards and backwards', () => {
    fc.assert(
      fc.property(schedules, places, (schedule, [name, begin]) => {
        const zone = zoneOf(name!);
        const parsed = parseSchedule(schedule);
        const startMs = ms(begin!);
        const endMs = startMs + hoursMax * 60 * minuteMs;
        const expected: number[] = [];
        for (let atMs = startMs + minuteMs; atMs <= endMs; atMs += minuteMs)
          if (fits(schedule, atMs + zone.offsetMs(atMs))) expected.push(atMs);
        const found: number[] = [];
        for (let atMs = parsed.next(startMs, zone); atMs !== undefined && atMs <= endMs; ) {
          found.push(atMs);
          atMs = parsed.next(atMs, zone);
        }
        expect(found).toEqual(expected);
        expect([...parsed.backwards(startMs, endMs, zone)].reverse()).toEqual(expected);
      }),
      { numRuns: 40 },
    );
  });

  /** The reference implementation: tests every minute. */
  function fits(schedule: string, localMs: number): boolean {
    const local = new Date(localMs);
    const fields = schedule.split(' ');
    const [minute, hour, day, month, weekday] = [
      [local.getUTCMinutes(), 59],
      [local.getUTCHours(), 23],
      [local.getUTCDate(), 31],
      [local.getUTCMonth() + 1, 12],
      [local.getUTCDay(), 6],
    ].map(([value, max], i) => fields[i]!.split(',').some((part) => hits(part, value!, max!, i)));
    // A step of one matches every value.
    const free = (field: string): boolean => field.split(',').some((part) => part === '*' || part === '*/1');
    const days = free(fields[2]!) || free(fields[4]!) ? day && weekday : day || weekday;
    return Boolean(minute && hour && month && days);
  }

  function hits(part: string, value: number, max: number, field: number): boolean {
    const [span, step] = part.split('/') as [string, string?];
    const [low, high] =
      span === '*' ? [field === 2 || field === 3 ? 1 : 0, max] : span.split('-').map(Number);
    const end = high ?? (step === undefined ? low! : max);
    return value >= low! && value <= end && (value - low!) % Number(step ?? 1) === 0;
  }
});
