/** Forwarded paths: unchanged, but never above the target's root. Streaming contract, 5.4 and 8.3. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rounds } from '../../../test/support/tier.ts';
import { encodePath, resolveDots, safePath } from './url-path.ts';

describe('the path for a tail', () => {
  // Proves one rule each.
  for (const [tail, path] of [
    ['', '/'],
    ['a/b', '/a/b'],
    ['a/b/', '/a/b/'],
    ['a//b', '/a//b'],
    ['/a', '//a'],
    ['a%2Fb', '/a%2Fb'],
    ['a%2fb/c', '/a%2fb/c'],
    ['%41%3a', '/%41%3a'],
    ['%FF', '/%FF'],
    ['a;b=c@d:e', '/a;b=c@d:e'],
    ['..', '/'],
    ['../exec', '/exec'],
    ['a/../../../b', '/b'],
    ['a/./b/.', '/a/b/'],
    ['a/b/..', '/a/'],
    ['%2e%2e/exec', '/exec'],
    ['.%2E/exec', '/exec'],
    ['a/%2e/b', '/a/b'],
    ['..%2f..%2fexec', '/exec'],
    ['x%2F..%2Fexec', '/exec'],
    ['...', '/...'],
    ['a..b/.c', '/a..b/.c'],
    // Bytes that are not allowed in a path.
    ['a b', '/a%20b'],
    ['a#b', '/a%23b'],
    ['a\\..\\b', '/a%5C..%5Cb'],
    ['\xe9', '/%E9'],
    ['a"<>|', '/a%22%3C%3E%7C'],
  ] as const)
    it(`${JSON.stringify(tail)} becomes ${path}`, () => expect(safePath(tail)).toBe(path));

  it('never holds a dot segment, however often its slashes are decoded', () => {
    // Proves that no path climbs above the root of its target.
    const part = fc.constantFrom('.', '..', '%2e', '%2E', '/', '%2f', '%2F', 'a', '%61', '\\', '');
    fc.assert(
      fc.property(fc.array(part, { maxLength: 12 }), (parts) => {
        const path = safePath(parts.join(''));
        expect(path.startsWith('/')).toBe(true);
        const once = path.replace(/%2f/gi, '/').replace(/%2e/gi, '.');
        expect(once.split('/').filter((segment) => segment === '.' || segment === '..')).toEqual([]);
        expect(safePath(path.slice(1))).toBe(path);
      }),
      { numRuns: rounds(2000) },
    );
  });
});

describe('text that is not encoded', () => {
  it('is encoded whole', () => {
    // Proves that a parameter's value cannot add a query or its own percent-encoding.
    expect(encodePath('a b?c#d%2F/é')).toBe('a%20b%3Fc%23d%252F/%C3%A9');
  });
});

describe('dots', () => {
  it('are resolved without touching what is beside them', () => {
    // Proves that empty and odd segments stay.
    expect(resolveDots('/a//b/../c')).toBe('/a//c');
    expect(resolveDots('/..')).toBe('/');
    expect(resolveDots('/a')).toBe('/a');
  });
});
