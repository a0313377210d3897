/** Proves the words for errors of the network, also where what failed is no error of the system. */
import { expect, it } from 'vitest';
import { badRequest } from '../../api/errors/errors.ts';
import { dialError, readError, systemCode } from './net-error.ts';

it('has words for errors of the system', () => {
  const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  expect(dialError('::1', 80, refused).message).toBe('dial tcp [::1]:80: connect: connection refused');
  expect(readError(Object.assign(new Error('x'), { code: 'HPE_INVALID_VERSION' }))).toBe(
    'malformed HTTP response',
  );
});

it('keeps the message of errors whose code is a number', () => {
  // Errors of the API have the code of HTTP, aborted signals that of an exception of the DOM.
  for (const error of [badRequest('address not allowed'), new DOMException('aborted', 'AbortError')]) {
    expect(systemCode(error)).toBe('');
    expect(readError(error)).toBe(error.message);
    expect(dialError('10.0.0.1', 1, error).message).toBe(`dial tcp 10.0.0.1:1: connect: ${error.message}`);
  }
});
