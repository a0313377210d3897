/** Proves that an answer is out, or the socket's own, before its memory is used for the next. */
import type { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { poisonByte } from '../../switches.ts';
import { fitsSheet, writeJoined } from './answersheet.ts';

/** A socket that keeps what it is given, or says that it has passed it on. */
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
  expect(fitsSheet('head', 'x'.repeat(10_000))).toBe(true);
  expect(fitsSheet('head', 'x'.repeat(16 * 1024))).toBe(false);
});
