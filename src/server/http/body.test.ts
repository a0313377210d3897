import { EventEmitter } from 'node:events';
import { expect, it } from 'vitest';
import { readBody } from './body.ts';
import type { ApiRequest } from './context.ts';
import { LimitKeeper } from './limits.ts';

it('copies a body that comes byte by byte, so that it takes no more than its length', async () => {
  const request = Object.assign(new EventEmitter(), { headers: {} });
  const body = readBody(request as unknown as ApiRequest, new LimitKeeper());
  const sent = Buffer.from('0123456789'.repeat(2_000));
  request.emit('data', sent.subarray(0, 1));
  // The same memory for each: what is not copied is overwritten.
  const byte = Buffer.alloc(1);
  for (const [i, value] of sent.entries()) {
    byte[0] = value;
    if (i > 0) request.emit('data', byte);
  }
  request.emit('end');
  expect((await body).equals(sent)).toBe(true);
});

it('bodies that are cut off all at once end a few in a turn', async () => {
  const ended: string[] = [];
  const requests = Array.from({ length: 100 }, () =>
    Object.assign(new EventEmitter(), { headers: { 'content-length': '10' } }),
  );
  for (const request of requests)
    Promise.resolve(readBody(request as unknown as ApiRequest, new LimitKeeper())).catch((error: Error) =>
      ended.push(error.message),
    );
  for (const request of requests) request.emit('close');
  const counts = [0];
  while (ended.length < 100) {
    await new Promise((resolve) => setImmediate(resolve));
    counts.push(ended.length);
  }
  expect(Math.max(...counts.slice(1).map((count, i) => count - counts[i]!))).toBeLessThanOrEqual(20);
  expect(new Set(ended)).toEqual(new Set(['the request ended before its body did']));
});
