/** Links that lead back to a proxied server get the public prefix. Streaming contract, 5.6. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rounds } from '../../../test/support/tier.ts';
import { LinkError, rewriteLink } from './link-rewriting.ts';

const prefix = '/api/v1/namespaces/ns/pods/p:8080/proxy';
const rule = { prefix, hosts: ['10.1.2.3:8080', 'localhost:8001'] };

describe('links', () => {
  // Proves one row of the rule each.
  for (const [link, rewritten] of [
    // The target's own paths
    ['/', `${prefix}/`],
    ['/a/b?c=d&e=/f#g', `${prefix}/a/b?c=d&e=/f#g`],
    ['/a%2Fb', `${prefix}/a%2Fb`],
    ['/?next=http://other/', `${prefix}/?next=http://other/`],
    ['http://10.1.2.3:8080/x?y', `${prefix}/x?y`],
    ['HTTP://10.1.2.3:8080/x', `${prefix}/x`],
    ['https://10.1.2.3:8080/x', `${prefix}/x`],
    ['//10.1.2.3:8080/x', `${prefix}/x`],
    ['http://user:pass@10.1.2.3:8080/x', `${prefix}/x`],
    ['http://10.1.2.3:8080', `${prefix}/`],
    ['http://10.1.2.3:8080?q', `${prefix}/?q`],
    ['http://localhost:8001/x', `${prefix}/x`],
    ['http://LOCALHOST:8001/x', `${prefix}/x`],
    ['///a', `${prefix}///a`],
    // Out of the prefix and into the API: stays below the prefix
    ['/../../../pods', `${prefix}/pods`],
    ['/a/%2e%2e/b', `${prefix}/b`],
    // Prefixed already
    [`${prefix}/x`, `${prefix}/x`],
    [prefix, prefix],
    [`http://localhost:8001${prefix}/x`, `http://localhost:8001${prefix}/x`],
    [`http://10.1.2.3:8080${prefix}/x?y#z`, `${prefix}/x?y#z`],
    [`${prefix}x`, `${prefix}${prefix}x`],
    // Elsewhere, or relative
    ['', ''],
    ['a/b', 'a/b'],
    ['./a', './a'],
    ['../a', '../a'],
    ['?q', '?q'],
    ['#f', '#f'],
    ['http://other/x', 'http://other/x'],
    ['http://10.1.2.3/x', 'http://10.1.2.3/x'],
    ['http://10.1.2.3:8081/x', 'http://10.1.2.3:8081/x'],
    ['http://10.1.2.3:8080@evil/x', 'http://10.1.2.3:8080@evil/x'],
    ['//other/x', '//other/x'],
    ['mailto:a%@b', 'mailto:a%@b'],
    ['javascript:alert(1)', 'javascript:alert(1)'],
    ['data:text/html,/x', 'data:text/html,/x'],
  ] as const)
    it(`${JSON.stringify(link)} becomes ${JSON.stringify(rewritten)}`, () =>
      expect(rewriteLink(link, rule)).toBe(rewritten));

  it('knows the port that goes without saying', () => {
    // Proves that a target on port 80 is recognised when it leaves the port out.
    const rule80 = { prefix: '/p', hosts: ['10.1.2.3:80', ''] };
    expect(rewriteLink('http://10.1.2.3/x', rule80)).toBe('/p/x');
    expect(rewriteLink('https://10.1.2.3/x', rule80)).toBe('https://10.1.2.3/x');
    expect(rewriteLink('https://10.1.2.3/x', { prefix: '/p', hosts: ['10.1.2.3:443', ''] })).toBe('/p/x');
    expect(rewriteLink('http://[fd00::1]/x', { prefix: '/p', hosts: ['[fd00::1]:80', ''] })).toBe('/p/x');
  });

  // Proves that what Go refuses is refused, with Go's messages.
  for (const [link, why] of [
    ['/%zz', 'invalid URL escape "%zz"'],
    ['/a%', 'invalid URL escape "%"'],
    [':a', 'missing protocol scheme'],
    ['1a:b', 'first path segment in URL cannot contain colon'],
    ['http://a:b/', 'invalid port ":b" after host'],
    ['http://10.1.2.3:8080.evil/x', 'invalid port ":8080.evil" after host'],
    ['http://[::1/', "missing ']' in host"],
    ['http://a b/', 'invalid character " " in host name'],
    ['/a\tb', 'net/url: invalid control character in URL'],
  ] as const)
    it(`${JSON.stringify(link)} is no link`, () =>
      expect(() => rewriteLink(link, rule)).toThrow(new LinkError(link, why)));

  it('are found, left alone or refused, whatever the text', () => {
    // Proves that any text gives a result or a LinkError, and that a second rewriting changes nothing.
    const piece = fc.oneof(
      fc.constantFrom(
        '/',
        '//',
        ':',
        '?',
        '#',
        '@',
        '%',
        '%41',
        '..',
        '[',
        ']',
        'http:',
        '10.1.2.3:8080',
        prefix,
      ),
      fc.string(),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const link = pieces.join('');
        let once: string;
        try {
          once = rewriteLink(link, rule);
        } catch (error) {
          expect(error).toBeInstanceOf(LinkError);
          return;
        }
        expect(rewriteLink(once, rule)).toBe(once);
      }),
      { numRuns: rounds(2000) },
    );
  });
});
