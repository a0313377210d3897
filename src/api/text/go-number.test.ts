/** Proves that numbers look in messages as Go prints them. */
import { expect, test } from 'vitest';
import { goFloat, goNumber } from './go-number.ts';

test.each<[value: number | bigint, text: string]>([
  [0, '0'],
  [-7, '-7'],
  [1_000_000, '1000000'],
  [9007199254740993n, '9007199254740993'],
  [2 ** 63, '9.223372036854776e+18'],
  [1e21, '1e+21'],
  [1.5, '1.5'],
  [123456.5, '123456.5'],
  [1234567.5, '1.2345675e+06'],
  [0.0001, '0.0001'],
  [0.00001, '1e-05'],
  [-2.5e-7, '-2.5e-07'],
])('%d is %s', (value, text) => {
  expect(goNumber(value)).toBe(text);
});

test('floating point numbers have an exponent also when they are whole', () => {
  expect([100_000, 1_000_000, 0].map(goFloat)).toEqual(['100000', '1e+06', '0']);
});
