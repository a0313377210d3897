/** Proves that of a sender who may not act as a user, nothing but the name of that user is read. */
import { describe, expect, it } from 'vitest';
import { Impersonation } from '../../access/impersonation.ts';
import type { Attributes } from '../../api/kind/access.ts';
import type { RequestContext } from '../http/context.ts';
import { impersonate } from './impersonation.ts';
import type { Services } from './step.ts';

const alice = { name: 'alice', groups: ['system:authenticated'] };

/** Sends headers as a user who may impersonate those whose names begin with `may-`, with any group. */
async function send(...headers: [name: string, value: string][]) {
  let reads = 0;
  // Names and values in turn, of which is counted how many are read as a group or an extra value.
  const rawHeaders = headers.flat();
  const known = new Proxy(Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value])), {
    get: (all, name: string) => {
      if (/^impersonate-(group|extra-)/.test(name)) reads++;
      return all[name];
    },
  });
  const request = { headers: known, rawHeaders, url: '/api/v1/pods' };
  const authorizer = {
    decide: async ({ info }: Attributes) => {
      const { resource } = info as { resource?: { resource: string; name?: string } };
      const allowed = resource?.resource !== 'users' || resource.name?.startsWith('may-') === true;
      return { allowed, reason: '' };
    },
  };
  const context = {
    request,
    http: { request },
    user: alice,
    info: { action: { verb: 'list', path: '/api/v1/pods' } },
    door: { authorizer },
  } as unknown as RequestContext;
  const services = {
    impersonation: new Impersonation(),
    router: { isForwarded: () => false },
    isIdentityHeader: () => false,
  } as unknown as Services;
  const error = await Promise.resolve()
    .then(() => impersonate(context, services))
    .then(() => undefined)
    .catch((failure: { code: number; message: string }) => failure);
  return { error, user: context.user, reads };
}

const groups = (count: number): [string, string][] =>
  Array.from({ length: count }, (_, i) => ['Impersonate-Group', `g${i}`]);

describe('headers of impersonation', () => {
  it('are read for a sender who may act as the user', async () => {
    const { error, user } = await send(['Impersonate-User', 'may-bob'], ...groups(3));
    expect(error).toBe(undefined);
    expect(user).toMatchObject({ name: 'may-bob', groups: ['g0', 'g1', 'g2', 'system:authenticated'] });
    for (const many of [groups(1_500), [['Impersonate-Group', 'a\nb']] as [string, string][]])
      expect((await send(['Impersonate-User', 'may-bob'], ...many)).error).toMatchObject({ code: 400 });
  });

  it('are not read for another, who is refused because of the name', async () => {
    for (const more of [
      groups(1_500),
      [['Impersonate-Group', 'a\nb']] as [string, string][],
      Array.from({ length: 1_900 }, (_, i): [string, string] => [`Impersonate-Extra-k${i}`, 'v']),
    ]) {
      const { error, reads, user } = await send(['Impersonate-User', 'bob'], ...more);
      expect(error).toMatchObject({ code: 403 });
      // Whether there are any is asked once.
      expect(reads).toBeLessThanOrEqual(1);
      expect(user).toBe(alice);
    }
  });

  it('with control characters in the name, or without a name, are refused', async () => {
    expect((await send(['Impersonate-User', 'may-\nbob'])).error).toMatchObject({ code: 400 });
    expect((await send(...groups(1))).error).toMatchObject({ code: 400 });
  });

  it('are not read without a name when they are many', async () => {
    const few = await send(...groups(2));
    expect(few.error).toMatchObject({ code: 400, message: expect.stringContaining('"g1"') });
    const many = await send(...groups(900));
    expect(many.error).toMatchObject({
      code: 400,
      message: expect.stringMatching(/^requested groups or extra values without impersonating a user name$/),
    });
    // One look at the header of groups, to know whether there is one.
    expect(many.reads).toBeLessThanOrEqual(1);
  });
});
