/**
 * The answer sheet: a reused buffer in which header and body of a small answer are put together, so that the socket
 * gets one write instead of two, which saves 4 µs of a create. A socket nearly always sends at once, so the next
 * answer can be written into the same memory. When the socket has queued a part, it keeps the buffer, and a new one
 * is allocated. With `WHERRY_ASSERT=1` the buffer is overwritten after each answer, which would break an answer that
 * was not yet sent.
 */
import type { Socket } from 'node:net';
import { poison } from '../../switches.ts';

/** Longer bodies are not copied; they are written on their own. */
const joinedBytesMax = 16 * 1024;

/** The buffer. A UTF-16 unit takes up to three bytes in UTF-8. */
let sheet = Buffer.allocUnsafeSlow(3 * joinedBytesMax);

export const fitsBuffer = (head: string, body: Buffer | string): boolean =>
  head.length + body.length <= joinedBytesMax;

/** Writes header and body to the socket; the callback is that of `socket.write`. */
export function writeJoined(
  socket: Socket,
  head: string,
  body: Buffer | string,
  written: (error?: Error | null) => void,
): void {
  const headEnd = sheet.write(head, 'latin1');
  const end = headEnd + (typeof body === 'string' ? sheet.write(body, headEnd) : body.copy(sheet, headEnd));
  socket.write(sheet.subarray(0, end), written);
  if (socket.writableLength > 0) sheet = Buffer.allocUnsafeSlow(sheet.length);
  else poison(sheet);
}
