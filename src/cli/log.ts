/** The log of the command: JSON lines on stderr. The logging library is loaded with the first line. */
import type { LogLevel } from './options.ts';

export type Log = (level: 'error' | 'warn' | 'info' | 'debug', message: string) => void;

export function logger(level: LogLevel): Log {
  let writer: Promise<(at: 'error' | 'warn' | 'info' | 'debug', message: string) => void> | undefined;
  return (at, message) => {
    writer ??= import('pino').then(({ pino }) => {
      const pinoLogger = pino({ level, base: undefined }, pino.destination({ fd: 2, sync: true }));
      return (severity, text) => pinoLogger[severity](text);
    });
    void writer.then((write) => write(at, message));
  };
}
