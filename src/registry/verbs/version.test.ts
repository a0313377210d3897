/** Proves which texts are versions, and what is answered to those that are not. */
import { expect, it } from 'vitest';
import { parseVersion } from './version.ts';

it.each([
  [undefined, undefined],
  ['', undefined],
  ['0', 0],
  ['42', 42],
  ['00000000000000000000000000000042', 42],
  ['18446744073709551615', Number.MAX_SAFE_INTEGER],
])('%j is the version %j', (text, version) => {
  expect(parseVersion(text, 'list')).toBe(version);
});

it.each([
  ['abc', 'invalid syntax'],
  ['-1', 'invalid syntax'],
  ['1.0', 'invalid syntax'],
  ['18446744073709551616', 'value out of range'],
  ['9'.repeat(5_000), 'value out of range'],
])('%s is no version: %s', (text, problem) => {
  const refusal = (verb: 'get' | 'list' | 'watch'): { code: number; message: string } => {
    try {
      parseVersion(text, verb, 'kubernetes');
    } catch (error) {
      return error as { code: number; message: string };
    }
    throw new Error('it was taken for one');
  };
  const says = `resourceVersion: Invalid value: "${text}": strconv.ParseUint: parsing "${text}": ${problem}`;
  expect(refusal('list')).toMatchObject({ code: 400, message: `invalid resource version: ${says}` });
  for (const verb of ['get', 'watch'] as const)
    expect(refusal(verb)).toMatchObject({ code: 500, message: says });
});
