/** Durations of tests: `10m`, `1h30m`, `2d`, or milliseconds. */
import { parseDurationMs } from '../api/values/duration.ts';

/** A century: later times have no form in the API. */
const durationMaxMs = 100 * 365 * 86_400_000;

/** Text such as `10m`, `1h30m` or `2d`, or a number of milliseconds. */
export type Duration = string | number;

/** Throws a sentence when it is no duration, or negative. */
export function durationMs(duration: unknown): number {
  const ms =
    typeof duration === 'number' ? duration : typeof duration === 'string' ? textMs(duration) : undefined;
  if (ms === undefined || !(ms >= 0 && ms <= durationMaxMs))
    throw new RangeError(`${JSON.stringify(duration)} is no duration: write 10m, 1h30m, 2d or milliseconds`);
  return ms;
}

function textMs(text: string): number | undefined {
  const [, days, rest] = /^(?:(\d{1,6})d)?(.*)$/.exec(text) ?? [];
  if (days === undefined) return parseDurationMs(text);
  return Number(days) * 86_400_000 + (rest ? (parseDurationMs(rest) ?? Number.NaN) : 0);
}
