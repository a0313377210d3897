/** Proves that the next runs that the dashboard shows are those of the controller, also where clocks are set. */
import { expect, it } from 'vitest';
import { parseSchedule } from '../../../src/api/values/cron-schedule.ts';
import { TimeZone } from '../../../src/api/values/time-zone.ts';
import { nextRuns } from './cron-schedule.ts';

const count = 5;
const moments = ['2026-03-28T22:10:30Z', '2026-10-24T23:59:59Z', '2024-02-28T12:00:00Z'].map(Date.parse);
const schedules = [
  '* * * * *',
  '*/15 8-18 * * mon-fri',
  '30 2 * * *',
  '0 0 29 2 *',
  '0 12 13 * 5',
  '5/20 1,3 1-7 jan,MAR *',
  '@daily',
  '@monthly',
];

for (const name of ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu'])
  it.each(schedules)(`finds the runs of %s in ${name}`, (schedule) => {
    for (const afterMs of moments) {
      const expected: number[] = [];
      for (let at: number | undefined = afterMs; expected.length < count; expected.push(at)) {
        at = parseSchedule(schedule).next(at, TimeZone.find(name)!);
        if (at === undefined) break;
      }
      expect(nextRuns({ schedule, timeZone: name, lastMs: 0 }, afterMs, count)).toEqual(expected);
    }
  });

it('counts intervals from the last run', () => {
  const timing = { schedule: '@every 1h30m', timeZone: undefined, lastMs: 0 };
  expect(nextRuns(timing, 10_000_000, 2)).toEqual([10_800_000, 16_200_000]);
});

it.each(['', 'soon', '* * * *', '61 * * * *', '*/0 * * * *', '0 0 31 2 *'])(
  'finds no run of %j',
  (schedule) => {
    expect(nextRuns({ schedule, timeZone: 'UTC', lastMs: 0 }, moments[0]!, count)).toEqual([]);
  },
);
