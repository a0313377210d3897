/** Proves that zones are found by their exact names, and that local time is what the zone says it is. */
import { describe, expect, it, test } from 'vitest';
import { TimeZone } from './time-zone.ts';

const hourMs = 3_600_000;

test.each(['UTC', 'Europe/Berlin', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5', 'Asia/Kolkata', 'EST5EDT'])(
  '%s is a zone',
  (name) => {
    expect(TimeZone.find(name)?.name).toBe(name);
    expect(TimeZone.find(name)).toBe(TimeZone.find(name));
  },
);

test.each(['', 'Mars/Base', 'europe/berlin', 'EUROPE/BERLIN', '+01:00', '-05', '+0530', 'Local'])(
  '%j is none',
  (name) => {
    expect(TimeZone.find(name)).toBeUndefined();
  },
);

test.each([
  ['UTC', '2024-05-01T12:00:00Z', '2024-05-01T12:00:00Z'],
  ['Europe/Berlin', '2024-05-01T12:00:00Z', '2024-05-01T14:00:00+02:00'],
  ['Europe/Berlin', '2024-12-31T23:30:00Z', '2025-01-01T00:30:00+01:00'],
  ['America/St_Johns', '2024-01-01T00:00:00Z', '2023-12-31T20:30:00-03:30'],
  ['Asia/Kathmandu', '2024-01-01T00:00:00Z', '2024-01-01T05:45:00+05:45'],
  ['Pacific/Kiritimati', '2024-01-01T12:00:00Z', '2024-01-02T02:00:00+14:00'],
])('%s at %s', (name, at, local) => {
  expect(TimeZone.find(name)!.text(Date.parse(at))).toBe(local);
});

describe('spans', () => {
  const berlin = TimeZone.find('Europe/Berlin')!;
  const noon = (day: string): number => Date.parse(`${day}T12:00:00Z`);

  it('are one where clocks do not change', () => {
    const [fromMs, toMs] = [noon('2024-05-01'), noon('2024-05-02')];
    expect(berlin.spans(fromMs, toMs)).toEqual([{ offsetMs: 2 * hourMs, fromMs, toMs }]);
  });

  it('part where they do, to the minute', () => {
    const [fromMs, toMs] = [noon('2024-03-30'), noon('2024-03-31')];
    const changeMs = Date.parse('2024-03-31T01:00:00Z');
    expect(berlin.spans(fromMs, toMs)).toEqual([
      { offsetMs: hourMs, fromMs, toMs: changeMs },
      { offsetMs: 2 * hourMs, fromMs: changeMs, toMs },
    ]);
  });
});
