/** A WebSocket with channels, as clients other than kubectl use it, in each framing. */
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import type { Client } from '../support/http.ts';

/** The reserved channel number that closes other channels. */
const closeSignal = 255;

export class Channels {
  /** The code of the close frame. */
  readonly closed: Promise<number>;
  readonly #streams = new Map<number, PassThrough>();

  private constructor(readonly socket: WebSocket) {
    this.closed = new Promise((resolve) => {
      socket.once('close', (code) => {
        for (const stream of this.#streams.values()) stream.end();
        resolve(code);
      });
    });
    socket.on('message', (data: Buffer, isBinary) => this.#take(data, isBinary));
    onTestFinished(() => socket.terminate());
  }

  /** Rejects with the status when the upgrade is refused. */
  static async open(client: Client, path: string, protocol?: string): Promise<Channels> {
    const url = `${client.url.replace('http', 'ws')}${path}`;
    const channels = new Channels(protocol === undefined ? new WebSocket(url) : new WebSocket(url, protocol));
    await once(channels.socket, 'open');
    return channels;
  }

  get protocol(): string {
    return this.socket.protocol;
  }

  get #base64(): boolean {
    return this.protocol.includes('base64');
  }

  /** The data of a channel. Ends with the connection. */
  on(channel: number): PassThrough {
    let stream = this.#streams.get(channel);
    if (!stream) {
      stream = new PassThrough();
      this.#streams.set(channel, stream);
    }
    return stream;
  }

  /** Resolves when the data is sent. */
  send(channel: number, data: string | Buffer): Promise<void> {
    const bytes = Buffer.from(data);
    const message = this.#base64
      ? `${channel}${bytes.toString('base64')}`
      : Buffer.concat([Buffer.from([channel]), bytes]);
    return new Promise((resolve, reject) => {
      this.socket.send(message, (error) => (error ? reject(error) : resolve()));
    });
  }

  async end(channel: number): Promise<void> {
    await this.send(closeSignal, Buffer.from([channel]));
  }

  #take(data: Buffer, isBinary: boolean): void {
    if (isBinary === this.#base64) throw new Error('the message is of the wrong type');
    const channel = this.#base64 ? Number(String.fromCharCode(data[0]!)) : data[0]!;
    const bytes = this.#base64 ? Buffer.from(data.subarray(1).toString(), 'base64') : data.subarray(1);
    const stream = this.on(channel);
    // A full stream pauses the whole connection, which all channels share.
    if (bytes.length && !stream.write(bytes)) {
      this.socket.pause();
      stream.once('drain', () => this.socket.resume());
    }
  }
}
