/** Refusals: error answers on raw sockets, which are closed afterwards. */
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { badRequest, StatusError } from '../../api/errors/errors.ts';
import { TurnQueue } from '../../turn-queue.ts';
import { guardLines } from './guard-headers.ts';
import { headersMax } from './header-count.ts';
import { type ProtocolRefusal, unsupportedEncoding } from './protocol-refusal.ts';

/** A refused client gets this long to read the answer; it may still be sending. */
const lingerMs = 1_000;

/**
 * Requests that were cut off, of which few are ended in one turn of the event loop: a client can close connections by
 * the thousand at once.
 */
export const cuts = new TurnQueue(8, 0.1);

export const cutOff = (): StatusError => badRequest('the request ended before its body did');

/** Answers what Node's parser refuses (not HTTP, header too large) with a Status. */
export function refuseConnection(error: NodeJS.ErrnoException, socket: Socket, headerBytesMax: number): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  if (error.code === 'HPE_HEADER_OVERFLOW')
    return refuse(
      socket,
      new StatusError(
        431,
        undefined,
        // Newer versions of Node count lines as bytes, too.
        `request header is larger than ${headerBytesMax} bytes, or has more than ${headersMax} header lines`,
      ),
    );
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return refuse(socket, new StatusError(408, 'Timeout', 'the request took too long to arrive'));
  if (error.code === 'HPE_INVALID_EOF_STATE') return refuse(socket, cutOff());
  // The same code stands for an encoding beside a length.
  if (error.code === 'HPE_INVALID_TRANSFER_ENCODING' && !/Content-Length/.test(error.message))
    return refusePlainly(socket, unsupportedEncoding);
  refuse(socket, badRequest('the request is not valid HTTP'));
}

/** Answers with a Status and closes, in whatever state the connection is. */
export function refuse(socket: Socket, { status }: StatusError): void {
  const retryAfter = status.details?.retryAfterSeconds;
  const type = `application/json${retryAfter ? `\r\nRetry-After: ${retryAfter}` : ''}`;
  answerAndClose(socket, status.code!, type, `${JSON.stringify(status)}\n`);
}

/** The same in plain text, as Go answers what it does not take for a request. */
export function refusePlainly(socket: Socket, { code, text }: ProtocolRefusal): void {
  answerAndClose(socket, code, 'text/plain; charset=utf-8', text);
}

function answerAndClose(socket: Socket, code: number, type: string, body: string): void {
  const headers = `Content-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close`;
  socket.end(`HTTP/1.1 ${code} ${STATUS_CODES[code]}\r\n${guardLines}${headers}\r\n\r\n${body}`);
  socket.resume();
  setTimeout(() => socket.destroy(), lingerMs).unref();
}
