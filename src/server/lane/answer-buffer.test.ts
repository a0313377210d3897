/** Proves that an answer has been sent, or its memory was left to the socket, before the memory is used again. */
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { poisonByte } from '../../switches.ts';
import { fitsBuffer, writeJoined } from './answer-buffer.ts';

/** A socket that keeps what is written, or reports it as sent. */
class KeepingSocket {
  writableLength = 0;
  readonly pieces: Buffer[] = [];

  constructor(private readonly keeps: boolean) {}

  write(piece: Buffer): boolean {
    this.pieces.push(piece);
    if (this.keeps) this.writableLength += piece.length;
    return true;
  }
}

const send = (socket: KeepingSocket, body: string): void =>
  writeJoined(socket as unknown as Socket, 'head ', body, () => undefined);

it('leaves an answer to the socket that keeps it', () => {
  const socket = new KeepingSocket(true);
  send(socket, 'kept');
  send(new KeepingSocket(false), 'another');
  expect(socket.pieces.map(String)).toEqual(['head kept']);
});

it('overwrites an answer that is said to be out', () => {
  const socket = new KeepingSocket(false);
  send(socket, 'out');
  expect(new Set(socket.pieces[0])).toEqual(new Set([poisonByte]));
});

it('is for small answers', () => {
  expect(fitsBuffer('head', 'x'.repeat(10_000))).toBe(true);
  expect(fitsBuffer('head', 'x'.repeat(16 * 1024))).toBe(false);
});

describe('with TLS', () => {
  /** It says later that it has taken what was written. */
  class EncryptedSocket {
    readonly encrypted = true;
    readonly pieces: Buffer[] = [];
    readonly taken: (() => void)[] = [];

    write(piece: Buffer, written: () => void): boolean {
      this.pieces.push(piece);
      this.taken.push(written);
      return true;
    }
  }

  const body = 'x'.repeat(4_000);
  const answer = (socket: EncryptedSocket, text: string, written = (): void => undefined): void =>
    writeJoined(socket as unknown as Socket, 'head ', text, written);

  it('leaves every answer alone until it is taken, however many there are', () => {
    const socket = new EncryptedSocket();
    for (let i = 0; i < 100; i++) answer(socket, `${i} ${body}`);
    expect(socket.pieces.map(String)).toEqual(Array.from({ length: 100 }, (_, i) => `head ${i} ${body}`));
    for (const taken of socket.taken) taken();
  });

  it('uses memory again whose answers are taken', () => {
    const memories = new Set<ArrayBufferLike>();
    for (let i = 0; i < 200; i++) {
      const socket = new EncryptedSocket();
      let isWritten = false;
      answer(socket, body, () => {
        isWritten = true;
      });
      memories.add(socket.pieces[0]!.buffer);
      expect(isWritten).toBe(false);
      socket.taken[0]!();
      expect(isWritten).toBe(true);
    }
    expect(memories.size).toBeLessThan(10);
  });
});
