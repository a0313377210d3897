/** Proves that no authenticator lets a name with a control character in, and that a review of its token says why. */
import { describe, expect, it } from 'vitest';
import type { User } from '../../api/values/user.ts';
import { Authentication } from './authentication.ts';
import type { Credentials } from './authenticator.ts';
import { nameProblem } from './user-names.ts';

const bad: readonly (readonly [string, User])[] = [
  ['a line feed in the name', { name: 'admin\ngroup', groups: [] }],
  ['a zero in the name', { name: 'admin\0', groups: [] }],
  ['a line feed in a group', { name: 'a', groups: ['b', 'system:masters\n'] }],
  ['a delete in the uid', { name: 'a', uid: '\u007f', groups: [] }],
  ['a next line in the name', { name: 'a\u0085b', groups: [] }],
  ['a tab in a key', { name: 'a', groups: [], extra: { 'a\tb': ['c'] } }],
];

const authenticationOf = (user: User, isToken: boolean): Authentication =>
  new Authentication({
    methods: isToken ? [] : [{ authenticate: () => user }],
    tokens: {
      authenticate: () => (isToken ? user : undefined),
      ask: async () => ({ user, audiences: [] }),
    } as never,
    anonymous: { authenticate: () => undefined },
    isIdentityHeader: () => false,
    onError: () => undefined,
    close: () => undefined,
  });

const credentials = {} as Credentials;

describe('names of users', () => {
  it.each(bad)('with %s are refused', async (_what, user) => {
    expect(nameProblem(user)).toMatch(/control character/);
    for (const isToken of [true, false])
      expect(() => authenticationOf(user, isToken).authenticate(credentials)).toThrow(/control character/);
    const verdict = await authenticationOf(user, true).reviewToken('token', []);
    expect(verdict).toEqual({ error: expect.stringContaining('control character') });
  });

  it('of all other characters are let in', () => {
    const user = {
      name: 'Łucja O\u2019Hara/ä@example.com',
      groups: ['a b', 'c:d'],
      extra: { 'x/y': ['\n'] },
    };
    expect(nameProblem(user)).toBeUndefined();
    expect(authenticationOf(user, false).authenticate(credentials)).toMatchObject({ name: user.name });
  });
});
