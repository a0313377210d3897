/** Proves that interim answers beyond the bound cost nothing: thousands of them can be in the bytes that were read. */
import { EventEmitter } from 'node:events';
import type { ClientRequest } from 'node:http';
import { expect, it } from 'vitest';
import { boundInterim } from './interim-answers.ts';

it('ends the request once, and listens no more', () => {
  const errors: Error[] = [];
  const sent = Object.assign(new EventEmitter(), { destroy: (error: Error) => errors.push(error) });
  boundInterim(sent as unknown as ClientRequest);
  for (let i = 0; i < 5; i++) sent.emit('information');
  expect(errors).toEqual([]);
  for (let i = 0; i < 1_000; i++) sent.emit('information');
  expect(errors.map(({ message }) => message)).toEqual([
    'net/http: HTTP/1.x transport connection broken: net/http: too many 1xx informational responses',
  ]);
  expect(sent.listenerCount('information')).toBe(0);
});
