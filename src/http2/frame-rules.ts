/**
 * Rules of RFC 9113 for every frame, checked before the frame is processed: which frames belong to a stream and which
 * to the connection, and their lengths. A peer that breaks one cannot be understood any more, so the connection ends.
 */

export const Frame = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const Flag = { ack: 1, endStream: 1, endHeaders: 4, padded: 8, priority: 32 } as const;

export const Setting = {
  tableBytes: 1,
  enablePush: 2,
  concurrentMax: 3,
  windowBytes: 4,
  frameBytesMax: 5,
  headerListBytesMax: 6,
} as const;

/** Error codes with which a stream or a connection ends. */
export const Reason = {
  none: 0,
  protocol: 1,
  internal: 2,
  flowControl: 3,
  streamClosed: 5,
  frameSize: 6,
  refusedStream: 7,
  cancel: 8,
  compression: 9,
  calm: 11,
} as const;

/** The window of a connection, and of each stream, before settings say otherwise. */
export const DEFAULT_WINDOW_BYTES = 65_535;
/** What each frame begins with: its length, type, flags and stream. */
export const HEAD_BYTES = 9;
/** The default maximum frame size, and the largest that a setting may allow. */
export const FRAME_BYTES_MAX = 16_384;
const FRAME_BYTES_LIMIT = 2 ** 24 - 1;
/** The largest window, and the largest id of a stream. */
export const WINDOW_MAX = 2 ** 31 - 1;

/** The connection has to end, with a GOAWAY that says why. */
export class ConnectionError extends Error {
  constructor(
    readonly reason: number,
    message: string,
  ) {
    super(message);
    this.name = 'ConnectionError';
  }
}

/** The length that a frame must have, in bytes, by type. */
const exactBytes = new Map<number, number>([
  [Frame.reset, 4],
  [Frame.ping, 8],
  [Frame.windowUpdate, 4],
]);

/** Frames of the connection as a whole; a window update may belong to either. */
const ofConnection = new Set<number>([Frame.settings, Frame.ping, Frame.goAway]);
const ofStream = new Set<number>([
  Frame.data,
  Frame.headers,
  Frame.priority,
  Frame.reset,
  Frame.pushPromise,
  Frame.continuation,
]);

/**
 * Throws when a frame is for a stream and has none, or the other way round, or has a wrong length. Frames of unknown types
 * are ignored, as the RFC requires.
 */
export function checkFrame(type: number, flags: number, id: number, bytes: number): void {
  if (type > Frame.continuation) return;
  if (id === 0 ? ofStream.has(type) : ofConnection.has(type))
    throw new ConnectionError(Reason.protocol, `a frame of type ${type} is for stream ${id}`);
  const exact = exactBytes.get(type);
  if (exact !== undefined && bytes !== exact) throw wrongLength(type, bytes);
  if (type === Frame.goAway && bytes < 8) throw wrongLength(type, bytes);
  if (type === Frame.settings && (flags & Flag.ack ? bytes !== 0 : bytes % 6 !== 0))
    throw wrongLength(type, bytes);
}

const wrongLength = (type: number, bytes: number): ConnectionError =>
  new ConnectionError(Reason.frameSize, `a frame of type ${type} has ${bytes} bytes`);

/**
 * Throws when a setting of the peer has an invalid value.
 * @param pushMax 1 when the peer is a client, which may allow pushes; a server cannot ask for them
 */
export function checkSetting(setting: number, value: number, pushMax: 0 | 1): void {
  if (setting === Setting.enablePush && value > pushMax)
    throw new ConnectionError(Reason.protocol, `whether there are pushes cannot be ${value}`);
  if (setting === Setting.windowBytes && value > WINDOW_MAX)
    throw new ConnectionError(Reason.flowControl, 'a window is too large');
  if (setting === Setting.frameBytesMax && (value < FRAME_BYTES_MAX || value > FRAME_BYTES_LIMIT))
    throw new ConnectionError(Reason.protocol, `frames cannot have up to ${value} bytes`);
}

/** The content of a frame without padding and priority. */
export function unpadded(flags: number, payload: Buffer): Buffer {
  if (!(flags & (Flag.padded | Flag.priority))) return payload;
  const begin = (flags & Flag.padded ? 1 : 0) + (flags & Flag.priority ? 5 : 0);
  const padding = flags & Flag.padded ? (payload[0] ?? 0) : 0;
  if (begin + padding > payload.length)
    throw new ConnectionError(Reason.protocol, 'a frame is shorter than its padding');
  return payload.subarray(begin, payload.length - padding);
}
