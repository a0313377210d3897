/** What a session of HTTP/2 at a door allows its client, whichever code serves it. */

import { Setting } from '../../http2/frame-rules.ts';

export interface Http2Options {
  /** Requests that one session may have open. Default 100. */
  readonly streamsMax?: number;
}

/** As kube-apiserver. Clients that need more open another connection. */
export const streamsMaxDefault = 100;
export const windowBytes = 256 * 1024;
export const frameBytesMax = 256 * 1024;
/** Flow-control window of a session, for all its streams together. */
export const sessionWindowBytes = 100 * windowBytes;
export const headerListBytesMax = 1_048_896;
export const idleMaxMs = 90_000;
export const idleCheckMs = 30_000;
/**
 * How many requests a client may cancel before they are answered, beyond the number of answered ones. Clients that open
 * and reset streams as fast as they can would keep the server busy for nothing (rapid reset).
 */
export const resetsMax = 500;

/**
 * Maximum bytes of answers that the client of a session has not read. Beyond it, further requests of the session wait,
 * as they would behind each other in HTTP/1.1.
 */
export const unreadBytesMax = 16 * 1024 * 1024;
/** A session with that many unread bytes whose client reads nothing for this long is closed. */
export const unreadMaxMs = 10_000;
export const unreadCheckMs = 2_000;

/**
 * Requests that end in one turn of the event loop. A client can have a hundred open and close its connection; to end one
 * takes up to half a millisecond, because its watch is given up and each write that waits fails.
 */
export const endsMax = 8;
/** When many wait, this part of them ends in a turn: clients who come and go faster must not fill the memory. */
export const endsPart = 1 / 32;

/** The content of our own settings frame. */
export function ownSettings(streamsMax: number): Buffer {
  const settings = [
    [Setting.concurrentMax, streamsMax],
    [Setting.windowBytes, windowBytes],
    [Setting.frameBytesMax, frameBytesMax],
    [Setting.headerListBytesMax, headerListBytesMax],
  ] as const;
  const payload = Buffer.alloc(settings.length * 6);
  for (const [i, [setting, value]] of settings.entries())
    payload.writeUInt32BE(value, payload.writeUInt16BE(setting, i * 6));
  return payload;
}
