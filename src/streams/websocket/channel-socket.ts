/**
 * Channels over a WebSocket: every message begins with the number of its channel. Raw framing has it as a byte in a
 * binary message; base64 framing has it as a digit in a text message, before the encoded data.
 */
import { WebSocket } from 'ws';
import { IdleTimer } from '../bytes/idle-timer.ts';

/** Maximum size of a sent message; longer data is split. */
const messageBytesMax = 32 * 1024;
/** Unsent bytes above which a sender has to wait. */
const backlogBytesMax = 256 * 1024;
/** A client that has read nothing of the remaining data for this long is disconnected. */
const stallMs = 30_000;
/** Time the client has to answer a close frame. */
const closeMs = 10_000;

export type ChannelFraming = 'raw' | 'base64';

/** Data per message: one byte is the channel number; base64 turns three bytes into four characters. */
const pieceBytesMax: Record<ChannelFraming, number> = {
  raw: messageBytesMax - 1,
  base64: Math.floor((messageBytesMax - 1) / 4) * 3,
};
const digitZero = 0x30;

export interface ChannelSocketOptions {
  readonly framing: ChannelFraming;
  readonly idleMs: number;
  /** Called with the data of each message, which may be empty. */
  onData(channel: number, data: Buffer): void;
  /** Called when there has been no message and no ping for `idleMs`. */
  onIdle(): void;
}

export class ChannelSocket {
  /** Resolves when the connection has ended, by either side. */
  readonly closed: Promise<void>;
  readonly #webSocket: WebSocket;
  readonly #framing: ChannelFraming;
  readonly #idle: IdleTimer;

  constructor(webSocket: WebSocket, { framing, idleMs, onData, onIdle }: ChannelSocketOptions) {
    this.#webSocket = webSocket;
    this.#framing = framing;
    this.#idle = new IdleTimer(idleMs, onIdle);
    webSocket.on('ping', () => this.#idle.touch());
    webSocket.on('pong', () => this.#idle.touch());
    // As in Kubernetes, either kind of message is accepted with either framing.
    webSocket.on('message', (message: Buffer) => {
      this.#idle.touch();
      if (message.length === 0) return;
      if (framing === 'raw') return onData(message[0]!, message.subarray(1));
      const data = decodeBase64(message.toString('latin1', 1));
      if (data !== undefined) onData(message[0]! - digitZero, data);
    });
    this.closed = new Promise((resolve) => {
      if (webSocket.readyState === WebSocket.CLOSED) resolve();
      webSocket.once('close', () => resolve());
    });
    void this.closed.then(() => this.#idle.stop());
  }

  /**
   * Sends data on a channel; without data, an empty message. False means wait: `onRoom` is called when there
   * is room again.
   */
  send(channel: number, data: Buffer, onRoom: () => void = ignore): boolean {
    if (this.#webSocket.readyState !== WebSocket.OPEN) return true;
    this.#idle.touch();
    const waits = this.#webSocket.bufferedAmount + data.length > backlogBytesMax;
    const pieces = Math.max(1, Math.ceil(data.length / pieceBytesMax[this.#framing]));
    // Split into pieces of equal size, so that the last is not tiny. Each base64 piece is padded, so any size works.
    const pieceBytes = Math.ceil(data.length / pieces);
    for (let i = 0; i < pieces; i++) {
      const piece = data.subarray(i * pieceBytes, (i + 1) * pieceBytes);
      const written = waits && i === pieces - 1 ? () => onRoom() : ignore;
      this.#webSocket.send(this.#message(channel, piece), { binary: this.#framing === 'raw' }, written);
    }
    return !waits;
  }

  /** Stops reading messages (back-pressure to the client). */
  pause(): void {
    this.#webSocket.pause();
  }

  resume(): void {
    this.#webSocket.resume();
  }

  /**
   * Waits until the client has read everything, then closes with code 1000, the only one that clients take
   * for success.
   */
  async close(): Promise<void> {
    this.resume();
    await this.#drained();
    this.#webSocket.close(1000);
    const timer = setTimeout(() => this.#webSocket.terminate(), closeMs);
    await this.closed;
    clearTimeout(timer);
  }

  #message(channel: number, data: Buffer): Buffer {
    if (this.#framing === 'base64')
      return Buffer.from(String.fromCharCode(digitZero + channel) + data.toString('base64'), 'latin1');
    const message = Buffer.allocUnsafe(data.length + 1);
    message[0] = channel;
    data.copy(message, 1);
    return message;
  }

  /** Waits until everything is written, the connection has ended, or the client stops reading. */
  async #drained(): Promise<void> {
    const webSocket = this.#webSocket;
    if (webSocket.readyState !== WebSocket.OPEN || webSocket.bufferedAmount === 0) return;
    let left = webSocket.bufferedAmount;
    const watch = setInterval(() => {
      if (webSocket.bufferedAmount >= left) webSocket.terminate();
      left = webSocket.bufferedAmount;
    }, stallMs);
    // An unsolicited pong is ignored by the client; its callback tells when everything before it is written.
    const written = new Promise<void>((resolve) => webSocket.pong(undefined, undefined, () => resolve()));
    await Promise.race([written, this.closed]);
    clearInterval(watch);
  }
}

const ignore = () => undefined;

/** Undefined for text that is not padded base64. */
function decodeBase64(text: string): Buffer | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  return Buffer.from(text, 'base64');
}
