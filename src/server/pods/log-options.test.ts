/** Proves every rule for log options, row by row of the contract. */
import { describe, expect, it } from 'vitest';
import { StatusError } from '../../api/errors/errors.ts';
import { Query } from '../wire/query.ts';
import { logOptions } from './log-options.ts';

const options = (text: string) => logOptions(new Query(text), 'p');

function refusal(text: string) {
  try {
    options(text);
  } catch (error) {
    if (error instanceof StatusError) return error.status;
    throw error;
  }
  throw new Error(`${text} was taken`);
}

describe('options that do not parse', () => {
  const number = (value: string, why = 'invalid syntax') => `strconv.ParseInt: parsing "${value}": ${why}`;
  it.each([
    ['sinceSeconds=abc', number('abc')],
    ['tailLines=', number('')],
    ['limitBytes=1.5', number('1.5')],
    ['limitBytes=9223372036854775808', number('9223372036854775808', 'value out of range')],
    ['sinceTime=bad', 'parsing time "bad" as "2006-01-02T15:04:05Z07:00": cannot parse "bad" as "2006"'],
    // Parse errors come before validation errors.
    ['tailLines=-1&sinceSeconds=x', number('x')],
  ])('%s', (text, message) => {
    expect(refusal(text)).toMatchObject({ code: 400, reason: 'BadRequest', message });
  });
});

describe('options that are not valid', () => {
  it.each([
    ['sinceSeconds=0', 'sinceSeconds: Invalid value: 0: must be greater than 0'],
    ['tailLines=-1', 'tailLines: Invalid value: -1: must be greater than or equal to 0'],
    ['limitBytes=0', 'limitBytes: Invalid value: 0: must be greater than 0'],
    [
      'limitBytes=-9223372036854775808',
      'limitBytes: Invalid value: -9223372036854775808: must be greater than 0',
    ],
    ['stream=All', 'stream: Forbidden: may not be specified'],
    [
      'sinceSeconds=5&sinceTime=2024-01-01T00:00:00Z',
      '[]: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified',
    ],
  ])('%s', (text, error) => {
    const [field, ...rest] = error.split(': ');
    expect(refusal(text)).toMatchObject({
      code: 422,
      reason: 'Invalid',
      message: `PodLogOptions "p" is invalid: ${error}`,
      details: {
        name: 'p',
        kind: 'PodLogOptions',
        causes: [
          {
            reason: rest[0] === 'Forbidden' ? 'FieldValueForbidden' : 'FieldValueInvalid',
            message: rest.join(': '),
            field,
          },
        ],
      },
    });
  });

  it('are all told, in order', () => {
    expect(refusal('sinceSeconds=0&limitBytes=0&tailLines=-2').message).toBe(
      'PodLogOptions "p" is invalid: [tailLines: Invalid value: -2: must be greater than or equal to 0, limitBytes: Invalid value: 0: must be greater than 0, sinceSeconds: Invalid value: 0: must be greater than 0]',
    );
  });
});

describe('options for the kubelet', () => {
  it.each([
    ['', ''],
    ['pretty=true&unknown=1&container=c&insecureSkipTLSVerifyBackend=1', ''],
    ['follow=1&previous=0&timestamps=', 'follow=true&timestamps=true'],
    ['sinceTime=&tailLines=0', 'tailLines=0'],
    ['sinceTime=null', ''],
    ['sinceTime=2024-01-02T03:04:05.678%2B01:00', 'sinceTime=2024-01-02T02%3A04%3A05Z'],
    ['limitBytes=9223372036854775807&sinceSeconds=%2B7', 'sinceSeconds=7&limitBytes=9223372036854775807'],
  ])('%s → %s', (text, expected) => {
    expect(options(text).kubeletQuery).toBe(expected);
  });

  it('do not hold those that are for the server', () => {
    expect(options('container=c&insecureSkipTLSVerifyBackend=true')).toMatchObject({
      container: 'c',
      insecure: true,
    });
  });
});
