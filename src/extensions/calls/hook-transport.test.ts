/**
 * Proves that calls which begin or end at the same time do so a few in each turn of the event loop, and that no more than
 * a host may have are under way.
 */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it, vi } from 'vitest';
import { badRequest } from '../../api/errors/errors.ts';
import { HookTransport } from './hook-transport.ts';

const place = {
  url: 'https://a.b.svc:443/',
  caBundle: '',
  service: { namespace: 'b', name: 'a', port: 443 },
};

it('many calls begin and time out in turns', async () => {
  /** How many dials, and failures, each turn had. */
  const begun: number[] = [0];
  const failed: number[] = [0];
  let isOver = false;
  const turn = (): void => {
    if (isOver) return;
    begun.push(0);
    failed.push(0);
    setImmediate(turn);
  };
  setImmediate(turn);
  const transport = new HookTransport(async () => {
    begun[begun.length - 1]!++;
    return new Promise(() => undefined);
  });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const calls = Array.from({ length: 60 }, () =>
    transport.post(place, '{}', 1_000).catch((error: Error) => {
      failed[failed.length - 1]!++;
      return error.message;
    }),
  );
  while (begun.reduce((sum, count) => sum + count, 0) < calls.length) await nextTurn();
  vi.advanceTimersByTime(1_000);
  const messages = await Promise.all(calls);
  isOver = true;
  vi.useRealTimers();
  expect(new Set(messages)).toEqual(new Set(['context deadline exceeded']));
  // What a turn of the queue begins can fall on both sides of the turn that counts.
  expect(Math.max(...begun)).toBeLessThanOrEqual(16);
  expect(Math.max(...failed)).toBeLessThanOrEqual(16);
  transport.close();
});

it('calls that wait for a host begin in turns when all of its connections close at once', async () => {
  const dials: ((error: Error) => void)[] = [];
  const transport = new HookTransport(() => new Promise((_, reject) => dials.push(reject)));
  const calls = Array.from({ length: 200 }, () =>
    transport.post(place, '{}', 60_000).catch((error: Error) => error.message),
  );
  const settle = async (): Promise<void> => {
    for (let i = 0; i < 100; i++) await nextTurn();
  };
  await settle();
  expect(dials).toHaveLength(64);
  /** How many dials each turn has, once the others have failed. */
  const begun: number[] = [];
  for (const fail of dials.splice(0)) fail(new Error('closed'));
  for (let i = 0; i < 100; i++) {
    const before = dials.length;
    await nextTurn();
    begun.push(dials.length - before);
  }
  expect(dials).toHaveLength(64);
  expect(Math.max(...begun)).toBeLessThanOrEqual(8);
  while (dials.length) {
    for (const fail of dials.splice(0)) fail(new Error('closed'));
    await settle();
  }
  expect(new Set(await Promise.all(calls))).toEqual(new Set(['closed']));
  transport.close();
});

it('a call that waits for a host ends by its time', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let dials = 0;
  const transport = new HookTransport(() => {
    dials++;
    return new Promise(() => undefined);
  });
  const outcome = (ms: number) => transport.post(place, '{}', ms).catch((error: Error) => error.message);
  const busy = Array.from({ length: 64 }, () => outcome(60_000));
  const waiting = outcome(1_000);
  while (dials < busy.length) await nextTurn();
  vi.advanceTimersByTime(1_000);
  expect(await waiting).toBe('context deadline exceeded');
  vi.advanceTimersByTime(60_000);
  await Promise.all(busy);
  vi.useRealTimers();
  expect(dials).toBe(64);
  transport.close();
});

it('few handshakes with a host are under way at once, and all come to their turn', async () => {
  const greeted = new Set<Socket>();
  let [greetings, accepted] = [0, 0];
  const server = createServer((socket) => {
    accepted++;
    socket
      .on('error', () => undefined)
      .once('data', () => {
        greetings++;
        greeted.add(socket);
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const transport = new HookTransport(async () => connect(port, '127.0.0.1'));
  const calls = Array.from({ length: 24 }, () =>
    transport.post(place, '{}', 60_000).catch((error: Error) => error.message),
  );
  while (accepted < calls.length) await nextTurn();
  for (let expected = 3; expected <= calls.length; expected += 3) {
    while (greetings < expected) await nextTurn();
    for (let i = 0; i < 50; i++) await nextTurn();
    expect(greetings).toBe(expected);
    for (const socket of greeted) socket.destroy();
    greeted.clear();
  }
  await Promise.all(calls);
  transport.close();
  await new Promise((resolve) => server.close(resolve));
});

it('a dial that the rules of the server refuse fails the call alone', async () => {
  // The error of the API has a number as its code; to read it as a text ended the process.
  const transport = new HookTransport(async () => {
    throw badRequest('address not allowed');
  });
  await expect(transport.post(place, '{}', 60_000)).rejects.toThrow('address not allowed');
  transport.close();
});
