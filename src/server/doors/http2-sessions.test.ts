/** Proves that sessions which bring requests with their handshake begin in turns of the event loop, the first first. */
import { EventEmitter } from 'node:events';
import http2 from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { afterEach, expect, it, vi } from 'vitest';
import type { Door, Reception } from '../http/door.ts';
import type { Arrivals } from '../lane/arrivals.ts';
import { Http2Sessions } from './http2-sessions.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface FakeSocket extends EventEmitter {
  readonly name: string;
  readonly readableLength: number;
  destroyed: boolean;
}

/** @param bytes that its client sent with the handshake */
const socketOf = (name: string, bytes: number): FakeSocket =>
  Object.assign(new EventEmitter(), {
    name,
    readableLength: bytes,
    destroyed: false,
    destroy(this: FakeSocket) {
      this.destroyed = true;
    },
  });

/** Names of connections whose session has begun. */
function begunSessions(): string[] {
  const begun: string[] = [];
  vi.spyOn(http2, 'performServerHandshake').mockImplementation((socket) => {
    begun.push((socket as unknown as FakeSocket).name);
    return Object.assign(new EventEmitter(), { close: () => undefined, destroy: () => undefined }) as never;
  });
  return begun;
}

const sessionsOf = (): Http2Sessions =>
  new Http2Sessions({} as Door, {} as Reception, {} as Arrivals, { streamsMax: 100 });

afterEach(() => vi.restoreAllMocks());

it('those that bring requests with their handshake begin in turns', async () => {
  const begun = begunSessions();
  const sessions = sessionsOf();
  for (const name of ['a', 'b', 'c', 'd', 'e']) sessions.take(socketOf(name, 1_500) as unknown as TLSSocket);
  expect(begun).toEqual([]);
  await turn();
  expect(begun).toEqual(['a', 'b']);
  await turn();
  expect(begun).toEqual(['a', 'b', 'c', 'd']);
  await turn();
  expect(begun).toEqual(['a', 'b', 'c', 'd', 'e']);
  sessions.shut();
});

it('those that bring nothing begin in one turn, and those that are gone do not', async () => {
  const begun = begunSessions();
  const sessions = sessionsOf();
  const gone = socketOf('gone', 0);
  for (const socket of [socketOf('a', 0), gone, socketOf('b', 0), socketOf('c', 5_000), socketOf('d', 0)])
    sessions.take(socket as unknown as TLSSocket);
  gone.destroyed = true;
  await turn();
  expect(begun).toEqual(['a', 'b', 'c']);
  await turn();
  expect(begun).toEqual(['a', 'b', 'c', 'd']);
  sessions.shut();
});
