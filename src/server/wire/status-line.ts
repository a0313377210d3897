/** Detects when an answer starts, and with which code, for the audit log. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { guardedHead } from './guard-headers.ts';

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

/**
 * The same for a raw socket, to which several parts of the server write answers as bytes. It also adds the guard
 * headers, because all such answers pass here.
 */
export function onSocketStarted(socket: Socket, told: (code: number) => void): void {
  const begin = (chunk: unknown): unknown => {
    const start = Buffer.isBuffer(chunk) ? chunk.toString('latin1', 0, statusLineChars) : String(chunk);
    const code = Number(statusLine.exec(start)?.[1] ?? 0);
    // Skip interim (1xx) answers; the final one follows.
    if (code < 200 && code !== 101) return chunk;
    Reflect.deleteProperty(socket, 'write');
    Reflect.deleteProperty(socket, 'end');
    told(code);
    return guardedHead(chunk as Uint8Array | string);
  };
  for (const name of ['write', 'end'] as const) {
    const original = socket[name].bind(socket) as (...args: unknown[]) => never;
    socket[name] = ((first?: unknown, ...rest: unknown[]) =>
      first === undefined || typeof first === 'function'
        ? original(first, ...rest)
        : original(begin(first), ...rest)) as never;
  }
}
