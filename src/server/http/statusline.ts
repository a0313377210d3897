/** Status lines: when an answer starts, and with which code, for the audit log. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Calls back when the header of an answer goes out. */
export function onStarted(response: ServerResponse, told: (code: number) => void): void {
  const writeHead = response.writeHead.bind(response) as (...args: unknown[]) => ServerResponse;
  response.writeHead = ((...args: [number, ...unknown[]]) => {
    told(args[0]);
    return writeHead(...args);
  }) as typeof response.writeHead;
}

const statusLine = /^HTTP\/1\.[01] (\d{3}) /;
const statusLineChars = 'HTTP/1.1 200 '.length;

/** The same for a raw socket, to which several parts of the server may write an answer. */
export function onSocketStarted(socket: Socket, told: (code: number) => void): void {
  const look = (chunk: unknown): void => {
    const start = Buffer.isBuffer(chunk) ? chunk.toString('latin1', 0, statusLineChars) : String(chunk);
    const code = Number(statusLine.exec(start)?.[1] ?? 0);
    // Skip interim (1xx) answers; the final one follows.
    if (code < 200 && code !== 101) return;
    Reflect.deleteProperty(socket, 'write');
    Reflect.deleteProperty(socket, 'end');
    told(code);
  };
  for (const name of ['write', 'end'] as const) {
    const original = socket[name].bind(socket) as (...args: unknown[]) => never;
    socket[name] = ((...args: unknown[]) => {
      if (args.length) look(args[0]);
      return original(...args);
    }) as never;
  }
}
