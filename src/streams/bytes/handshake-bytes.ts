/**
 * The connection below TLS to a server that a user chose. OpenSSL verifies all certificates that a server sends, also where
 * the answer does not count, in one turn of the event loop; those of a server that means harm take half a second. So until
 * the handshake is over few bytes are let in, and those of one connection in a turn.
 */
import { Duplex } from 'node:stream';
import { TurnQueue } from '../../turn-queue.ts';

/** Bytes of a server's part of a handshake: a chain of usual certificates has 2 to 6 kB. */
const handshakeBytesMax = 12 * 1024;

const turns = new TurnQueue(1);

export class HandshakeBytes extends Duplex {
  #bytes = 0;
  /** Pieces that wait for their turn: what follows them must not overtake them. */
  #waiting = 0;
  #isOver = false;

  constructor(private readonly connection: Duplex) {
    super({ allowHalfOpen: true });
    connection
      .on('data', (chunk: Buffer) => this.#take(chunk))
      .on('end', () => turns.add(() => this.push(null)))
      .on('error', (error) => this.destroy(error))
      .on('close', () => this.destroy())
      .pause();
  }

  /** The handshake is over: bytes pass as they come. */
  finish(): void {
    this.#isOver = true;
  }

  #take(chunk: Buffer): void {
    if (this.#isOver && this.#waiting === 0) {
      if (!this.push(chunk)) this.connection.pause();
      return;
    }
    this.#bytes += chunk.length;
    if (!this.#isOver && this.#bytes > handshakeBytesMax) {
      this.destroy(new Error('remote error: tls: the certificates of the server are too long'));
      return;
    }
    this.#waiting++;
    this.connection.pause();
    turns.add(() => {
      this.#waiting--;
      if (!this.destroyed && this.push(chunk)) this.connection.resume();
    });
  }

  override _read(): void {
    if (this.#waiting === 0) this.connection.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.connection.write(chunk, done);
  }

  override _final(done: () => void): void {
    this.connection.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.connection.destroy();
    done(error);
  }
}
