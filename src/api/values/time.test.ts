/** Proves that times are read, refused and written as a Kubernetes server does, and ages read well. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  durationText,
  formatMicroTime,
  formatTime,
  parseMicroTime,
  parseTime,
  TimeError,
  timeToMs,
} from './time.ts';

function messageOf(parse: (text: string) => unknown, text: string): string {
  try {
    return `accepted as ${parse(text)}`;
  } catch (error) {
    expect(error).toBeInstanceOf(TimeError);
    return (error as TimeError).message;
  }
}

describe('time', () => {
  test.each([
    ['2020-01-01T00:00:00Z', '2020-01-01T00:00:00Z'],
    ['2020-01-01T00:00:00.999999999Z', '2020-01-01T00:00:00Z'],
    ['2020-01-01T00:00:00,5Z', '2020-01-01T00:00:00Z'],
    ['2020-01-01T02:30:00+02:30', '2020-01-01T00:00:00Z'],
    ['2019-12-31T19:00:00-05:00', '2020-01-01T00:00:00Z'],
    ['2020-02-29T23:59:59Z', '2020-02-29T23:59:59Z'],
    ['2000-02-29T00:00:00Z', '2000-02-29T00:00:00Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z'],
    ['0099-12-31T23:59:59Z', '0099-12-31T23:59:59Z'],
    ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59Z'],
    ['1960-06-15T12:00:00.5Z', '1960-06-15T12:00:00Z'],
    ['2020-01-01T5:00:00Z', '2020-01-01T05:00:00Z'],
    ['2020-01-02T00:00:00+24:00', '2020-01-01T00:00:00Z'],
  ])('%s is %s', (text, expected) => {
    expect(parseTime(text)).toBe(expected);
  });

  const layout = '2006-01-02T15:04:05Z07:00';
  test.each([
    ['yesterday', 'yesterday', '2006'],
    ['', '', '2006'],
    ['202', '202', '2006'],
    ['20x0-01-01T00:00:00Z', '20x0-01-01T00:00:00Z', '2006'],
    ['2020/01-01T00:00:00Z', '/01-01T00:00:00Z', '-'],
    ['2020-1-01T00:00:00Z', '1-01T00:00:00Z', '01'],
    ['2020-01.01T00:00:00Z', '.01T00:00:00Z', '-'],
    ['2020-01-1T00:00:00Z', '1T00:00:00Z', '02'],
    ['2020-01-01', '', 'T'],
    ['2020-01-01 00:00:00Z', ' 00:00:00Z', 'T'],
    ['2020-01-01t00:00:00Z', 't00:00:00Z', 'T'],
    ['2020-01-01T', '', '15'],
    ['2020-01-01T00', '', ':'],
    ['2020-01-01T00:0:00Z', '0:00Z', '04'],
    ['2020-01-01T00:00', '', ':'],
    ['2020-01-01T00:00:0Z', '0Z', '05'],
    ['2020-01-01T00:00:00', '', 'Z07:00'],
    ['2020-01-01T00:00:00z', 'z', 'Z07:00'],
    ['2020-01-01T00:00:00.Z', '.Z', 'Z07:00'],
    ['2020-01-01T00:00:00+0100', '+0100', 'Z07:00'],
    ['2020-01-01T00:00:00*01:00', '*01:00', 'Z07:00'],
  ])('%j: cannot parse %j as %j', (text, rest, element) => {
    expect(messageOf(parseTime, text)).toBe(
      `parsing time "${text}" as "${layout}": cannot parse "${rest}" as "${element}"`,
    );
  });

  test.each([
    ['2020-00-01T00:00:00Z', 'month out of range'],
    ['2020-13-01T00:00:00Z', 'month out of range'],
    ['2020-01-00T00:00:00Z', 'day out of range'],
    ['2020-01-32T00:00:00Z', 'day out of range'],
    ['2020-04-31T00:00:00Z', 'day out of range'],
    ['2019-02-29T00:00:00Z', 'day out of range'],
    ['1900-02-29T00:00:00Z', 'day out of range'],
    ['2020-01-01T24:00:00Z', 'hour out of range'],
    ['2020-01-01T00:60:00Z', 'minute out of range'],
    ['2020-01-01T00:00:60Z', 'second out of range'],
    ['2020-01-01T00:00:00+25:00', 'time zone offset hour out of range'],
    ['2020-01-01T00:00:00+00:61', 'time zone offset minute out of range'],
    ['2020-01-01T00:00:00Zx', 'extra text: "x"'],
    ['2020-01-01T00:00:00+01:00 ', 'extra text: " "'],
    ['0000-01-01T00:00:00+00:01', 'year out of range'],
    ['9999-12-31T23:59:59-00:01', 'year out of range'],
  ])('%s: %s', (text, message) => {
    expect(messageOf(parseTime, text)).toBe(`parsing time "${text}": ${message}`);
  });

  test('quotes, backslashes and bytes outside ASCII are escaped as Go does', () => {
    expect(messageOf(parseTime, '"\\é\n')).toBe(
      `parsing time "\\"\\\\\\xc3\\xa9\\x0a" as "${layout}": cannot parse "\\"\\\\\\xc3\\xa9\\x0a" as "2006"`,
    );
  });

  test('a huge text is refused with a short message', () => {
    const fraction = '0'.repeat(3_000_000);
    const message = messageOf(parseTime, `2020-01-01T00:00:00.${fraction}Z`);
    expect(message).toMatch(/^parsing time "2020-01-01T00:00:00\.0+\.\.\.": more than 256 characters$/);
    expect(message.length).toBeLessThan(200);
    expect(parseTime(`2020-01-01T00:00:00.${'0'.repeat(200)}Z`)).toBe('2020-01-01T00:00:00Z');
  });
});

describe('micro time', () => {
  const layout = '2006-01-02T15:04:05.000000Z07:00';

  test.each([
    ['2020-01-01T00:00:00.123456Z', '2020-01-01T00:00:00.123456Z'],
    ['2020-01-01T00:00:00.000000Z', '2020-01-01T00:00:00.000000Z'],
    ['2020-01-01T01:00:00.999999+01:00', '2020-01-01T00:00:00.999999Z'],
    ['1960-01-01T00:00:00.000001Z', '1960-01-01T00:00:00.000001Z'],
  ])('%s is %s', (text, expected) => {
    expect(parseMicroTime(text)).toBe(expected);
  });

  test.each([
    ['2020-01-01T00:00:00Z', 'Z', '.000000'],
    ['2020-01-01T00:00:00+01:00', '+01:00', '.000000'],
    ['2020-01-01T00:00:00.123Z', '.123Z', '.000000'],
    ['2020-01-01T00:00:00.12345Z', '.12345Z', '.000000'],
    ['2020-01-01T00:00:00.1234567Z', '7Z', 'Z07:00'],
    ['2020-01-01T00:00:00.123456', '', 'Z07:00'],
    ['yesterday', 'yesterday', '2006'],
  ])('%s: cannot parse %j as %j', (text, rest, element) => {
    expect(messageOf(parseMicroTime, text)).toBe(
      `parsing time "${text}" as "${layout}": cannot parse "${rest}" as "${element}"`,
    );
  });
});

describe('milliseconds', () => {
  test('format', () => {
    expect(formatTime(0)).toBe('1970-01-01T00:00:00Z');
    expect(formatTime(1_577_836_800_999.9)).toBe('2020-01-01T00:00:00Z');
    expect(formatTime(-1)).toBe('1969-12-31T23:59:59Z');
    expect(formatMicroTime(1_577_836_800_123)).toBe('2020-01-01T00:00:00.123000Z');
    expect(formatMicroTime(1_577_836_800_000.001)).toBe('2020-01-01T00:00:00.000001Z');
    expect(formatMicroTime(-0.001)).toBe('1969-12-31T23:59:59.999999Z');
  });

  test('read', () => {
    expect(timeToMs('2020-01-01T00:00:00Z')).toBe(1_577_836_800_000);
    expect(timeToMs('2020-01-01T01:00:00.25+01:00')).toBe(1_577_836_800_250);
    expect(timeToMs('2020-01-01T00:00:00.123456Z')).toBeCloseTo(1_577_836_800_123.456, 3);
    expect(() => timeToMs('soon')).toThrow(TimeError);
  });

  test('reading undoes writing, and writing is canonical', () => {
    const seconds = fc.integer({ min: -62_167_219_200, max: 253_402_300_799 });
    const micros = fc.integer({ min: 0, max: 4_102_444_800_000_000 });
    fc.assert(
      fc.property(seconds, micros, (second, micro) => {
        const text = formatTime(second * 1000);
        expect(timeToMs(text)).toBe(second * 1000);
        expect(parseTime(text)).toBe(text);
        const microText = formatMicroTime(micro / 1000);
        expect(parseMicroTime(microText)).toBe(microText);
        expect(Math.round(timeToMs(microText) * 1000)).toBe(micro);
        expect(formatMicroTime(timeToMs(microText))).toBe(microText);
      }),
    );
  });

  test('an offset moves the clock and nothing else', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 4_102_444_800 }),
        fc.integer({ min: -23 * 60, max: 23 * 60 }),
        (second, offsetMinutes) => {
          const local = formatTime((second + offsetMinutes * 60) * 1000).slice(0, -1);
          const size = Math.abs(offsetMinutes);
          const two = (value: number): string => String(value).padStart(2, '0');
          const zone = `${offsetMinutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
          expect(parseTime(local + zone)).toBe(formatTime(second * 1000));
        },
      ),
    );
  });

  test('any text is read or refused with a TimeError', () => {
    const near = fc
      .tuple(fc.nat(19), fc.string({ maxLength: 3, unit: fc.constantFrom(...'0959-+:TZz., é"\\\n') }))
      .map(
        ([at, junk]) => `${'2020-01-01T00:00:00Z'.slice(0, at)}${junk}${'2020-01-01T00:00:00Z'.slice(at)}`,
      );
    fc.assert(
      fc.property(fc.oneof(near, fc.string()), (text) => {
        expect(messageOf(parseTime, text)).toMatch(/^(accepted as \d{4}-|parsing time ")/);
      }),
    );
  });
});

describe('ages', () => {
  const second = 1000;
  const minute = 60 * second;
  const hour = 60 * minute;
  const day = 24 * hour;
  const year = 365 * day;

  test.each([
    [-2 * second, '<invalid>'],
    [-1.9 * second, '0s'],
    [-1 * second, '0s'],
    [-1, '0s'],
    [0, '0s'],
    [999, '0s'],
    [119 * second, '119s'],
    [120 * second, '2m'],
    [121 * second, '2m1s'],
    [10 * minute - 1, '9m59s'],
    [10 * minute, '10m'],
    [10 * minute + 30 * second, '10m'],
    [3 * hour - 1, '179m'],
    [3 * hour, '3h'],
    [3 * hour + minute, '3h1m'],
    [8 * hour - 1, '7h59m'],
    [8 * hour, '8h'],
    [48 * hour - 1, '47h'],
    [48 * hour, '2d'],
    [49 * hour, '2d1h'],
    [192 * hour - 1, '7d23h'],
    [192 * hour, '8d'],
    [2 * year - 1, '729d'],
    [2 * year, '2y'],
    [2 * year + day, '2y1d'],
    [8 * year - 1, '7y364d'],
    [8 * year, '8y'],
    [100 * year + 300 * day, '100y'],
    [Number.NaN, '<unknown>'],
  ])('%d ms is %s', (ms, expected) => {
    expect(durationText(ms)).toBe(expected);
  });
});
