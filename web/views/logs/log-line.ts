/** A line of a log: when, from where, and its text. Lines that are JSON objects can be shown in columns. */
import type { Json } from '../../core/objects.ts';

export interface LogLine {
  /** RFC 3339 with nanoseconds, as the server writes it; lines are in its order. */
  readonly time: string;
  /** The container, or the pod of a workload that it is in. */
  readonly container: string;
  readonly text: string;
  /** Arrival; keeps lines of the same time in order. */
  readonly sequence: number;
}

/** Characters of a line that are kept. */
const textMax = 16_384;
/** Escape sequences that programs colour their output with, and other controls that cannot be shown. */
const controls = /\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|[\x00-\x08\x0b-\x1f\x7f]/g;

/** Splits `2026-01-02T03:04:05.678Z text`. */
export function splitTime(raw: string): { readonly time: string; readonly text: string } {
  const space = raw.indexOf(' ');
  const time = space < 0 ? raw : raw.slice(0, space);
  return { time, text: space < 0 ? '' : raw.slice(space + 1) };
}

export function plainText(text: string): string {
  const cut = text.length > textMax ? `${text.slice(0, textMax)}…` : text;
  return cut.replace(controls, '');
}

/** By time, then by arrival. */
export const compareLines = (a: LogLine, b: LogLine): number =>
  a.time < b.time ? -1 : a.time > b.time ? 1 : a.sequence - b.sequence;

/** The fields of a line that is a JSON object. */
export function fieldsOf({ text }: LogLine): Readonly<Record<string, Json>> | undefined {
  if (!text.startsWith('{') || !text.trimEnd().endsWith('}')) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Fields that people look for first, by the names that common loggers give them. */
const foremost = ['level', 'severity', 'msg', 'message', 'error', 'err'];
/** Already shown beside each line. */
const times = new Set(['time', 'ts', 'timestamp', '@timestamp', 'date']);
const columnsMax = 7;
const sampled = 200;

/** The columns for lines: the fields that most of the last ones have. Empty when few of them are JSON. */
export function columnsOf(lines: readonly LogLine[]): readonly string[] {
  const sample = lines.slice(-sampled);
  const counts = new Map<string, number>();
  let objects = 0;
  for (const line of sample) {
    const fields = fieldsOf(line);
    if (!fields) continue;
    objects++;
    for (const name of Object.keys(fields)) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  if (objects * 4 < sample.length || objects === 0) return [];
  const rank = (name: string): number => {
    const at = foremost.indexOf(name);
    return at < 0 ? foremost.length : at;
  };
  return [...counts]
    .filter(([name]) => !times.has(name))
    .sort(([a, countOfA], [b, countOfB]) => rank(a) - rank(b) || countOfB - countOfA || (a < b ? -1 : 1))
    .slice(0, columnsMax)
    .map(([name]) => name);
}

export const valueText = (value: Json): string =>
  value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value);
