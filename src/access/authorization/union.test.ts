/** Proves in which order authorizers are asked, and what comes of their answers. */
import { describe, expect, it } from 'vitest';
import type { Attributes, Authorizer, Decision } from '../../api/kind/access.ts';
import { asks, user } from './authorization.fixture.ts';
import { UnionAuthorizer } from './union.ts';

const question: Attributes = asks(user('jo'), 'get pods', 'x');
const says = (decision: Decision, later = false): Authorizer => ({
  decide: () => (later ? Promise.resolve(decision) : decision),
});
const nothing = (reason = '', error?: string): Decision => ({
  allowed: false,
  reason,
  ...(error ? { error } : {}),
});
const yes: Decision = { allowed: true, reason: 'yes' };
const no: Decision = { allowed: false, denied: true, reason: 'never' };

describe.each([false, true])('a union whose authorizers wait: %s', (later) => {
  const decide = async (...decisions: Decision[]): Promise<Decision> =>
    new UnionAuthorizer(decisions.map((decision) => says(decision, later))).decide(question);

  it('takes the first that allows or denies', async () => {
    expect(await decide(nothing('a'), yes, no)).toEqual(yes);
    expect(await decide(nothing('a'), no, yes)).toEqual(no);
    expect(await decide(nothing('', 'broken'), yes)).toEqual(yes);
  });

  it('joins reasons and errors when nobody does', async () => {
    expect(await decide(nothing('a'), nothing(), nothing('b'))).toEqual(nothing('a\nb'));
    expect(await decide(nothing('a', 'e'), nothing('', 'f'))).toEqual(nothing('a', '[e, f]'));
  });
});

it('asks nobody about members of system:masters', () => {
  const union = new UnionAuthorizer([says(no)]);
  const master = user('root', 'system:masters');
  expect(union.decide({ ...question, user: master })).toEqual({ allowed: true, reason: '' });
});
