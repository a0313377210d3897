/** Proves that an answer has been sent, or its memory was left to the socket, before the memory is used again. */
import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
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
