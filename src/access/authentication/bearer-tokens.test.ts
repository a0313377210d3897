/** Bearer tokens are found where they may stand, and what is not a token of a known user is refused. */
import { describe, expect, it } from 'vitest';
import { credentials } from './authentication.fixture.ts';
import { BearerTokens, bearerToken } from './bearer-tokens.ts';
import { StaticTokens } from './static-tokens.ts';
import type { SentToken, TokenQuestion } from './token-authenticator.ts';

describe('the Authorization header', () => {
  it.each([
    ['Bearer abc', 'abc'],
    ['  bearer abc ', 'abc'],
    ['BEARER abc more words', 'abc'],
    ['Bearer', undefined],
    ['Bearer ', undefined],
    ['Basic YWxpY2U6eA==', undefined],
    ['Bearerabc', undefined],
    ['', undefined],
    ['Bearer\tabc', undefined],
  ])('%j holds the token %j', (header, token) => {
    const warnings: string[] = [];
    expect(bearerToken(header, warnings)).toBe(token);
    expect(warnings).toEqual([]);
  });

  it('with two spaces holds none, and warns', () => {
    const warnings: string[] = [];
    expect(bearerToken('Bearer  abc', warnings)).toBeUndefined();
    expect(warnings).toEqual([
      'the provided Authorization header contains extra space before the bearer token, and is ignored',
    ]);
  });
});

describe('bearer tokens', () => {
  const server = ['server'];
  const alice = { name: 'alice', groups: [] };
  const tokens = new BearerTokens([new StaticTokens(server, [['good', alice]])], server);
  const authenticate = (header: string | undefined, protocolToken?: string) =>
    tokens.authenticate(
      credentials(header === undefined ? [] : [['Authorization', header]], { protocolToken }),
    );

  it('are looked for in the header, then in the subprotocol', () => {
    expect(authenticate('Bearer good')).toBe(alice);
    expect(authenticate(undefined, 'good')).toBe(alice);
    expect(authenticate('Bearer bad', 'good')).toBe(alice);
  });

  it('that nobody knows are an error, not no credential', () => {
    expect(() => authenticate('Bearer bad')).toThrow('invalid bearer token');
    expect(() => authenticate(undefined, 'bad')).toThrow('invalid bearer token');
    expect(authenticate(undefined)).toBeUndefined();
    expect(authenticate('Basic x')).toBeUndefined();
  });

  it('are read once from headers that many requests share, and anew from others', async () => {
    const asked: SentToken[] = [];
    const method = {
      authenticateToken({ sent }: TokenQuestion) {
        asked.push(sent);
        return { user: alice, audiences: server };
      },
    };
    const own = new BearerTokens([method], server);
    const sent = credentials([['Authorization', 'Bearer one']]);
    const shared = { ...sent, headers: Object.freeze({ ...sent.headers }) };
    for (const each of [shared, shared, sent, sent]) await own.authenticate(each);
    expect(asked.map(({ text }) => text)).toEqual(['one', 'one', 'one', 'one']);
    expect(asked.map((token) => asked.indexOf(token))).toEqual([0, 0, 2, 3]);
  });

  it('that are too long are not looked at', async () => {
    const asked: string[] = [];
    const long = new BearerTokens([{ authenticateToken: ({ sent }) => void asked.push(sent.text) }], server);
    expect(() =>
      long.authenticate(credentials([['Authorization', `Bearer ${'x'.repeat(70_000)}`]])),
    ).toThrow();
    expect(asked).toEqual([]);
  });
});
