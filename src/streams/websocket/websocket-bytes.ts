/**
 * The payload of a WebSocket as one byte stream. Message boundaries are ignored; text messages are an error.
 * Unlike `createWebSocketStream` of `ws` it closes with code 1000, without which kubectl reports a failure.
 */
import { Duplex } from 'node:stream';
import { WebSocket } from 'ws';

/** Unsent bytes above which a writer has to wait. */
const backlogBytesMax = 256 * 1024;
/** Writes that arrive together are joined into messages of about this size; larger ones are sent as they are. */
const joinedBytesMax = 64 * 1024;
/** Time the client has to answer a close frame. */
const closeMs = 10_000;

type Callback = (error?: Error | null) => void;

export class WebSocketBytes extends Duplex {
  readonly #webSocket: WebSocket;

  constructor(webSocket: WebSocket) {
    super({ highWaterMark: backlogBytesMax });
    this.#webSocket = webSocket;
    webSocket.on('message', (message: Buffer, isBinary) => {
      if (!isBinary) this.destroy(new Error('unexpected text message'));
      else if (!this.destroyed && !this.push(message)) webSocket.pause();
    });
    webSocket.once('close', () => {
      this.push(null);
      this.end();
    });
  }

  override _read(): void {
    this.#webSocket.resume();
  }

  override _write(chunk: Buffer, _encoding: string, callback: Callback): void {
    this.#send(chunk, callback);
  }

  override _writev(writes: { chunk: Buffer }[], callback: Callback): void {
    let batch: Buffer[] = [];
    let batchBytes = 0;
    for (const { chunk } of writes) {
      if (batchBytes + chunk.length > joinedBytesMax && batchBytes > 0) {
        this.#send(joined(batch), ignore);
        batch = [];
        batchBytes = 0;
      }
      batch.push(chunk);
      batchBytes += chunk.length;
    }
    this.#send(joined(batch), callback);
  }

  override _final(callback: Callback): void {
    this.#close();
    callback();
  }

  override _destroy(error: Error | null, callback: Callback): void {
    this.#close();
    callback(error);
  }

  #send(bytes: Buffer, callback: Callback): void {
    const webSocket = this.#webSocket;
    // Drop data when the client has gone; the end of the stream reports that.
    if (webSocket.readyState !== WebSocket.OPEN) return callback();
    const waits = webSocket.bufferedAmount + bytes.length > backlogBytesMax;
    webSocket.send(bytes, { binary: true }, waits ? () => callback() : ignore);
    if (!waits) callback();
  }

  #close(): void {
    const webSocket = this.#webSocket;
    if (webSocket.readyState !== WebSocket.OPEN) return;
    webSocket.resume();
    webSocket.close(1000);
    const timer = setTimeout(() => webSocket.terminate(), closeMs);
    webSocket.once('close', () => clearTimeout(timer));
  }
}

const ignore = () => undefined;
const joined = (chunks: Buffer[]): Buffer => (chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
