/** Proves that HTTP/2 sessions are not read on in a turn that has had enough requests, and later in a fair order. */
import type { TLSSocket } from 'node:tls';
import { expect, it } from 'vitest';
import { SessionReading } from './session-reading.ts';

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function sessionOf(name: string, told: string[], streams = 0) {
  const _handle = {
    readStart: () => void told.push(`${name} reads`),
    readStop: () => void told.push(`${name} waits`),
  };
  return { socket: { destroyed: false, _handle } as unknown as TLSSocket, backlog: 0, streams };
}

it('sessions wait when a turn has had enough, and those with few requests go on first', async () => {
  const told: string[] = [];
  const reading = new SessionReading();
  const [greedy, modest] = [sessionOf('greedy', told, 100), sessionOf('modest', told, 1)];
  for (const session of [greedy, modest]) reading.add(session);
  for (let i = 0; i < 23; i++) reading.note();
  expect(told).toEqual([]);
  expect(reading.hasRoom).toBe(true);
  for (let i = 0; i < 27; i++) reading.note();
  expect(reading.hasRoom).toBe(false);
  expect(told.splice(0)).toEqual(['greedy waits', 'modest waits']);
  await nextTurn();
  expect(told.splice(0)).toEqual(['modest reads', 'greedy reads']);
  expect(reading.hasRoom).toBe(true);
  for (let i = 0; i < 23; i++) reading.note();
  expect(told).toEqual([]);
});

it('a session whose requests wait to be handled is read when they are', async () => {
  const told: string[] = [];
  const reading = new SessionReading();
  const [greedy, modest] = [sessionOf('greedy', told), sessionOf('modest', told)];
  greedy.backlog = 20;
  for (const session of [greedy, modest]) reading.add(session);
  for (let i = 0; i < 24; i++) reading.note();
  told.splice(0);
  for (let i = 0; i < 3; i++) await nextTurn();
  expect(told.splice(0)).toEqual(['modest reads']);
  greedy.backlog = 0;
  for (let i = 0; i < 2; i++) await nextTurn();
  expect(told.splice(0)).toEqual(['greedy reads']);
});

it('a session that has ended is left alone', async () => {
  const told: string[] = [];
  const reading = new SessionReading();
  const [gone, closed] = [sessionOf('gone', told), sessionOf('closed', told)];
  for (const session of [gone, closed]) reading.add(session);
  for (let i = 0; i < 24; i++) reading.note();
  told.splice(0);
  reading.remove(gone);
  (closed.socket as { destroyed: boolean }).destroyed = true;
  for (let i = 0; i < 2; i++) await nextTurn();
  expect(told).toEqual([]);
});
