/** Static tokens are read from CSV as Kubernetes reads them, and are for the server alone. */
import { describe, expect, it } from 'vitest';
import { StaticTokens, tokenFileUsers } from './static-tokens.ts';

const read = (text: string, warnings: string[] = []) =>
  Object.fromEntries(tokenFileUsers(text, (message) => void warnings.push(message)));

describe('a token file', () => {
  it('names users, uids and groups', () => {
    expect(read('a,alice,1,"dev,qa"\nb,bob,2\r\nc,carol,3,ops,left out\n\n"d,1","d ""x""",4,""')).toEqual({
      a: { name: 'alice', uid: '1', groups: ['dev', 'qa'] },
      b: { name: 'bob', uid: '2', groups: [] },
      c: { name: 'carol', uid: '3', groups: ['ops'] },
      'd,1': { name: 'd "x"', uid: '4', groups: [] },
    });
  });

  it('does not trim groups', () => {
    expect(read('a,alice,1,"dev, qa"').a?.groups).toEqual(['dev', ' qa']);
  });

  it('with lines that are too short or broken is refused', () => {
    expect(() => read('a,alice')).toThrow('record 1 has 2 columns, and needs at least three');
    expect(() => read('a,alice,1\nb,"bob')).toThrow('line 2: a quoted field has no end');
    expect(() => read('a,"alice"x,1')).toThrow('line 1: there is text after a quoted field');
    expect(() => read('a,al"ice,1')).toThrow('line 1: a quote inside a field that is not quoted');
  });

  it('leaves out users without a token, with a warning', () => {
    const warnings: string[] = [];
    expect(read(',alice,1\nb,bob,2', warnings)).toEqual({ b: { name: 'bob', uid: '2', groups: [] } });
    expect(warnings).toEqual(['record 1 of the token file has no token and is ignored']);
  });

  it('has the last word of two that are the same', () => {
    expect(read('a,alice,1\na,bob,2').a?.name).toBe('bob');
  });
});

describe('static tokens', () => {
  const alice = { name: 'alice', groups: [] };
  const tokens = new StaticTokens(['server', 'api'], [['good', alice]]);
  const ask = (text: string, audiences: string[]) =>
    tokens.authenticateToken({ sent: { text }, audiences, warnings: [], annotations: {} });

  it('are for the server', () => {
    expect(ask('good', ['api', 'other'])).toEqual({ user: alice, audiences: ['api'] });
    expect(ask('good', ['other'])).toBeUndefined();
    expect(ask('bad', ['api'])).toBeUndefined();
  });
});
