/** Ages as kubectl writes them, counted on while they are shown. */
import { signal } from '@preact/signals';
import { moment, momentMs } from '../core/moment.ts';

/** The time by which ages are written; one timer for all of them. */
export const now = signal(Date.now());
setInterval(() => {
  if (document.visibilityState === 'visible') now.value = Date.now();
}, 1_000);

/** What ages are counted from: now, or the moment in the past that the dashboard shows. */
export const shownNow = (): number =>
  moment.value === undefined ? now.value : (momentMs.value ?? now.value);

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

export function ageText(sinceMs: number, nowMs: number): string {
  if (Number.isNaN(sinceMs)) return '';
  const seconds = Math.max(0, Math.floor((nowMs - sinceMs) / 1000));
  if (seconds < 2 * minute) return `${seconds}s`;
  if (seconds < 10 * minute) return two(Math.floor(seconds / minute), 'm', seconds % minute, 's');
  if (seconds < 3 * hour) return `${Math.floor(seconds / minute)}m`;
  if (seconds < 8 * hour)
    return two(Math.floor(seconds / hour), 'h', Math.floor((seconds % hour) / minute), 'm');
  if (seconds < 2 * day) return `${Math.floor(seconds / hour)}h`;
  if (seconds < 8 * day) return two(Math.floor(seconds / day), 'd', Math.floor((seconds % day) / hour), 'h');
  return `${Math.floor(seconds / day)}d`;
}

const two = (large: number, unit: string, small: number, smallUnit: string): string =>
  small ? `${large}${unit}${small}${smallUnit}` : `${large}${unit}`;

export function Age({ since }: { readonly since: string | undefined }) {
  if (!since) return null;
  return (
    <time dateTime={since} title={new Date(since).toLocaleString()}>
      {ageText(Date.parse(since), shownNow())}
    </time>
  );
}
