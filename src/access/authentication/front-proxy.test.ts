/** Headers of a front proxy count only from a client that the proxies' authority has signed. */
import { describe, expect, it } from 'vitest';
import { credentials } from './authentication.fixture.ts';
import { requestHeaderDefaults } from './authentication-options.ts';
import { nowMs, TestAuthority } from './certificates.fixture.ts';
import { ClientAuthorities } from './client-certificates.ts';
import { FrontProxy } from './front-proxy.ts';

const ca = new TestAuthority('proxies');
const proxy = new FrontProxy(new ClientAuthorities(ca.pem, () => nowMs), {
  ...requestHeaderDefaults,
  uidHeaders: ['X-Remote-Uid'],
  allowedNames: ['front-proxy'],
});
const gina = [
  ['X-Remote-User', 'gina'],
  ['X-Remote-Uid', 'u'],
  ['X-Remote-Group', 'g1'],
  ['x-remote-group', 'g2, g3'],
  ['X-Remote-Extra-Scopes', 'a'],
  ['X-Remote-Extra-example.com%2Fteam', 'b'],
  ['X-Remote-Extra-scopes', 'ü'],
] as const;
const shown = ca.client([['CN', 'front-proxy']]);
const latin = gina.map(([name, value]) => [name, Buffer.from(value).toString('latin1')] as const);

describe('a front proxy', () => {
  it('names the user', () => {
    expect(proxy.authenticate(credentials(latin, { certificate: shown }))).toEqual({
      name: 'gina',
      uid: 'u',
      groups: ['g1', 'g2, g3'],
      extra: { scopes: ['a', 'ü'], 'example.com/team': ['b'] },
    });
  });

  it('that names nobody has no opinion', () => {
    expect(proxy.authenticate(credentials([], { certificate: shown }))).toBeUndefined();
    expect(proxy.authenticate(credentials([['X-Remote-User', '']], { certificate: shown }))).toBeUndefined();
  });

  it('is not believed without a certificate, with another name, or of another authority', () => {
    expect(proxy.authenticate(credentials(gina))).toBeUndefined();
    const stranger = ca.client([['CN', 'stranger']]);
    expect(() => proxy.authenticate(credentials(gina, { certificate: stranger }))).toThrow('front proxy');
    const foreign = new TestAuthority('proxies').client([['CN', 'front-proxy']]);
    expect(() => proxy.authenticate(credentials(gina, { certificate: foreign }))).toThrow(
      'unknown authority',
    );
  });

  it('keeps keys that are odd as properties of their own', () => {
    const user = proxy.authenticate(
      credentials(
        [
          ['X-Remote-User', 'gina'],
          ['X-Remote-Extra-__proto__', 'x'],
          ['X-Remote-Extra-%zz', 'y'],
        ],
        {
          certificate: shown,
        },
      ),
    );
    expect(Object.entries(user?.extra ?? {})).toEqual([
      ['__proto__', ['x']],
      ['%zz', ['y']],
    ]);
  });
});
