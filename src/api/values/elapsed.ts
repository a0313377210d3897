/**
 * Elapsed times: cells of a table that say how long ago something happened. They are kept as the moment it happened, so
 * that the cells of an object are worked out once and shown at any time.
 */
import { durationText, momentMs } from './time.ts';

export class Elapsed {
  constructor(
    readonly sinceMs: number,
    /** Text around the duration. */
    readonly before = '',
    readonly after = '',
  ) {}

  at(nowMs: number): string {
    return `${this.before}${durationText(nowMs - this.sinceMs)}${this.after}`;
  }
}

/** A value of a table. */
export type Cell = string | number | bigint | boolean | null | undefined | Elapsed;

/** How long ago a timestamp was. Unset, zero and unreadable ones are `<unknown>`. */
export function elapsed(timestamp: string | undefined | null, before = '', after = ''): Cell {
  const sinceMs = momentMs(timestamp);
  return sinceMs === undefined ? `${before}<unknown>${after}` : new Elapsed(sinceMs, before, after);
}

/** The value that is shown at a time. */
export const shownCell = (cell: Cell, nowMs: number): Exclude<Cell, Elapsed> =>
  cell instanceof Elapsed ? cell.at(nowMs) : cell;
