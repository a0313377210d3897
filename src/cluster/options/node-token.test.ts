/** Proves where the token of a node may come from, and what is no token. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readNodeToken } from './node-token.ts';

const folder = mkdtempSync(join(tmpdir(), 'wherry-token-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const file = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

describe('the token of a node', () => {
  it('may be the argument, which others do not see then', () => {
    const title = process.title;
    try {
      expect(readNodeToken('abcdef.0123456789abcdef')).toBe('abcdef.0123456789abcdef');
      expect(process.title).toBe('wherry node');
    } finally {
      process.title = title;
    }
  });

  it('may be in a file', () => {
    expect(readNodeToken(file('good', 'abcdef.0123456789abcdef\n'))).toBe('abcdef.0123456789abcdef');
  });

  it.each([
    ['an empty file', file('empty', ' \n'), /holds no token/],
    ['a file of several words', file('words', 'a b'), /holds no token/],
    ['a file that is not there', join(folder, 'nowhere'), /cannot be read/],
    ['neither a token nor a path', 'secret', /must be a token, - or a path/],
  ])('is not %s', (_what, given, says) => {
    expect(() => readNodeToken(given)).toThrow(says);
  });
});
