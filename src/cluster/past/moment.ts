/** Times as people write them on a command line. */
import { parseDurationMs } from '../../api/values/duration.ts';
import { wallClock } from '../../clock.ts';
import { StartError } from '../shared/start-error.ts';

const clockTime = /^(\d{1,2}):(\d\d)(?::(\d\d))?$/;
const fullTime = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d(?:\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?$/;

/**
 * A time as the server takes it: how long ago (`15m`) as it is, because the server's clock counts; times of this day or
 * another without a zone are those of this machine.
 */
export function momentText(given: string, flag: string): string {
  const text = given.replace(/ ago$/, '').trim();
  if (parseDurationMs(text) !== undefined && !text.startsWith('-')) return text;
  const time = momentMs(text);
  if (time === undefined)
    throw new StartError(
      `${flag} must be a time such as 15m, 09:30, 09:30:15 or 2026-01-02T15:04:05Z, not ${JSON.stringify(given)}`,
    );
  return new Date(time).toISOString();
}

function momentMs(text: string): number | undefined {
  const [, hour, minute, second = '0'] = clockTime.exec(text) ?? [];
  if (hour !== undefined) {
    const nowMs = wallClock();
    const today = new Date(nowMs);
    today.setHours(Number(hour), Number(minute), Number(second), 0);
    const isReal = Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60;
    // What is still to come today was meant of yesterday.
    if (today.getTime() > nowMs) today.setDate(today.getDate() - 1);
    return isReal ? today.getTime() : undefined;
  }
  const [, day, minutes, seconds = ':00', zone = ''] = fullTime.exec(text) ?? [];
  const parsed = day === undefined ? Number.NaN : Date.parse(`${day}T${minutes}${seconds}${zone}`);
  return Number.isNaN(parsed) ? undefined : parsed;
}
