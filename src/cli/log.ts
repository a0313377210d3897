/**
 * The log of the command: lines on standard error, as JSON or as text. The library for JSON is loaded with the first
 * line.
 */
import type { LogLine, LogOptions } from '../cluster/index.ts';
import { escapedText } from '../cluster/shared/terminal-text.ts';
import type { LogForm, LogLevel } from './options.ts';

/** Lines that cannot be written now are written with later ones, up to this bound; others are lost. */
const unwrittenBytesMax = 64 * 1024;

type Severity = Exclude<LogLevel, 'silent'>;
type Fields = LogLine['fields'];
type Write = (at: Severity, message: string, fields: Fields) => void;

const ranks: Readonly<Record<LogLevel, number>> = { silent: 0, error: 1, warn: 2, info: 3, debug: 4 };

export type Log = (at: Severity, message: string, fields?: Fields) => void;

/** @param now the wall clock, in milliseconds since 1970 */
export function logger({ level, format }: LogForm, now: () => number): Log {
  const write = format === 'text' ? textWriter(now) : jsonWriter(level);
  return (at, message, fields = {}) => {
    if (ranks[at] <= ranks[level]) write(at, message, fields);
  };
}

/** The log options for a cluster or node; undefined when nothing would be written. */
export function activityLog(level: LogLevel, log: Log): LogOptions | undefined {
  if (level !== 'info' && level !== 'debug') return undefined;
  return { level, write: ({ level: at, message, fields }) => log(at, message, fields) };
}

function jsonWriter(level: LogLevel): Write {
  let writer: Promise<Write> | undefined;
  return (at, message, fields) => {
    writer ??= import('pino').then(({ pino }) => {
      const destination = pino.destination({ fd: 2, sync: true, maxLength: unwrittenBytesMax });
      // A log file on a full disk must not end the cluster.
      destination.on('error', () => undefined);
      const pinoLogger = pino({ level, base: undefined }, destination);
      return (severity, text, parts) => pinoLogger[severity](parts, text);
    });
    void writer.then((write) => write(at, message, fields));
  };
}

/** `2026-01-31T12:00:00.000Z info  node a joined node=a` */
const textWriter =
  (now: () => number): Write =>
  (at, message, fields) => {
    const parts = Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => ` ${name}=${quoted(String(value))}`);
    const line = `${new Date(now()).toISOString()} ${at.padEnd(5)} ${message}${parts.join('')}`;
    process.stderr.write(`${escapedText(line)}\n`);
  };

const quoted = (text: string): string => (/^[\w./:@+-]+$/.test(text) ? text : JSON.stringify(text));
