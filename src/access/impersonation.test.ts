/** Impersonation: who may become whom, by which mode, and what refused users get to read. */
import { describe, expect, it } from 'vitest';
import type { Action, Authorizer } from '../api/kind/access.ts';
import type { User } from '../api/values/user.ts';
import { Impersonation, ImpersonationRefused, type WantedUser } from './impersonation.ts';

/** Allows the actions of a list: `verb group/resource[/subresource][ in namespace] name`. */
class Allowing implements Authorizer {
  readonly asked: string[] = [];
  readonly users: User[] = [];

  constructor(readonly allowed: readonly (string | RegExp)[]) {}

  decide({ user, info }: { user: User; info: Action }) {
    const text = textOf(info);
    this.asked.push(text);
    this.users.push(user);
    const allowed = this.allowed.some((one) => (typeof one === 'string' ? one === text : one.test(text)));
    return { allowed, reason: '' };
  }
}

function textOf({ verb, path, resource }: Action): string {
  if (!resource) return `${verb} ${path}`;
  const { group, resource: name, subresource, namespace } = resource;
  const what = [group, name, subresource].filter((part) => part !== undefined).join('/');
  return `${verb} ${what}${namespace ? ` in ${namespace}` : ''}${resource.name ? ` ${resource.name}` : ''}`;
}

const alice: User = { name: 'alice', groups: ['dev'], extra: {} };
const pods: Action = {
  verb: 'list',
  path: '/api/v1/namespaces/team/pods',
  resource: {
    group: '',
    version: 'v1',
    resource: 'pods',
    subresource: undefined,
    namespace: 'team',
    name: undefined,
  },
};
const want = (name: string, more: Partial<WantedUser> = {}): WantedUser => ({
  name,
  isAlone: Object.keys(more).length === 0,
  uid: '',
  groups: [],
  extra: {},
  ...more,
});
const everything = [/./];
const legacyOnly = [/^impersonate /];

async function refusal(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  expect(error).toBeInstanceOf(ImpersonationRefused);
  const { action, reason } = error as ImpersonationRefused;
  return textOf(action) + (reason && `: ${reason}`);
}

describe('a user with all rights', () => {
  const become = (wanted: WantedUser, by = new Impersonation()) =>
    by.become(wanted, { user: alice, info: pods }, new Allowing(everything));

  it('becomes a user with what was asked for and nothing else', async () => {
    expect(await become(want('bob'))).toEqual({
      user: { name: 'bob', groups: ['system:authenticated'], extra: {} },
      constraint: 'impersonate:user-info',
    });
    const extra = { 'example.com/key': ['z'] };
    expect((await become(want('bob', { uid: '42', groups: ['a', 'b'], extra }))).user).toEqual({
      name: 'bob',
      uid: '42',
      groups: ['a', 'b', 'system:authenticated'],
      extra,
    });
  });

  it('becomes a node, a service account, or the anonymous user, with their groups', async () => {
    expect(await become(want('system:node:n'))).toMatchObject({
      user: { groups: ['system:nodes', 'system:authenticated'] },
      constraint: 'impersonate:arbitrary-node',
    });
    expect(await become(want('system:serviceaccount:team:robot'))).toMatchObject({
      user: { groups: ['system:serviceaccounts', 'system:serviceaccounts:team', 'system:authenticated'] },
      constraint: 'impersonate:serviceaccount',
    });
    expect((await become(want('system:anonymous'))).user.groups).toEqual(['system:unauthenticated']);
    expect((await become(want('bob', { groups: ['system:unauthenticated'] }))).user.groups).toEqual([
      'system:unauthenticated',
    ]);
  });

  it('is remembered by the mode that served last', async () => {
    const by = new Impersonation();
    const only = want('system:serviceaccount:team:robot', { groups: ['only'] });
    expect(await become(only, by)).toMatchObject({
      user: { groups: ['only', 'system:authenticated'] },
      constraint: undefined,
    });
    // By the legacy mode, which gives nodes no group.
    expect((await become(want('system:node:n'), by)).user.groups).toEqual(['system:authenticated']);
    expect((await become(want('system:node:n'))).user.groups).toEqual([
      'system:nodes',
      'system:authenticated',
    ]);
  });
});

describe('what is asked of the authorizer', () => {
  it('is the action first, then each part of the user', async () => {
    const authorizer = new Allowing(everything);
    const wanted = want('bob', { uid: '1', groups: ['a', 'b'], extra: { 'example.com/k': ['x', 'y'] } });
    await new Impersonation().become(wanted, { user: alice, info: pods }, authorizer);
    const group = 'impersonate:user-info authentication.k8s.io';
    expect(authorizer.asked).toEqual([
      'impersonate-on:user-info:list /pods in team',
      `${group}/users bob`,
      `${group}/uids 1`,
      `${group}/groups a`,
      `${group}/groups b`,
      `${group}/userextras/example.com/k x`,
      `${group}/userextras/example.com/k y`,
    ]);
  });

  it('is one thing for many groups, then each', async () => {
    const wanted = want('bob', { groups: ['a', 'b', 'c', 'd'] });
    const all = new Allowing(everything);
    await new Impersonation().become(wanted, { user: alice, info: pods }, all);
    expect(all.asked.filter((text) => text.includes('groups'))).toEqual([
      'impersonate:user-info authentication.k8s.io/groups *',
    ]);
    const each = new Allowing([/^impersonate-on/, /users/, /groups [a-d]$/]);
    await new Impersonation().become(wanted, { user: alice, info: pods }, each);
    expect(each.asked.filter((text) => text.includes('groups'))).toHaveLength(5);
  });

  it('is in the core group in the legacy mode', async () => {
    const authorizer = new Allowing(legacyOnly);
    const wanted = want('system:serviceaccount:team:robot', {
      uid: '1',
      groups: ['a'],
      extra: { scopes: ['x'] },
    });
    await new Impersonation().become(wanted, { user: alice, info: pods }, authorizer);
    expect(authorizer.asked).toEqual([
      'impersonate /serviceaccounts in team robot',
      'impersonate authentication.k8s.io/uids 1',
      'impersonate /groups a',
      'impersonate authentication.k8s.io/userextras/scopes x',
    ]);
  });
});

describe('the account of an agent', () => {
  const extra = {
    'authentication.kubernetes.io/node-name': ['n'],
    'authentication.kubernetes.io/pod-name': ['p'],
  };
  const agent: User = { name: 'system:serviceaccount:team:agent', groups: [], extra };
  const rights = [
    'impersonate-on:associated-node:list /pods in team',
    'impersonate:associated-node authentication.k8s.io/nodes *',
  ];

  it('becomes the node it runs on, and no other', async () => {
    const authorizer = new Allowing(rights);
    const by = new Impersonation();
    expect(await by.become(want('system:node:n'), { user: agent, info: pods }, authorizer)).toMatchObject({
      user: { name: 'system:node:n', groups: ['system:nodes', 'system:authenticated'] },
      constraint: 'impersonate:associated-node',
    });
    expect(authorizer.users[0]?.extra).toEqual({
      'authentication.kubernetes.io/associated-node-keys': Object.keys(extra).sort(),
    });
    expect(
      await refusal(
        new Impersonation().become(want('system:node:m'), { user: agent, info: pods }, authorizer),
      ),
    ).toBe('impersonate-on:arbitrary-node:list /pods in team');
  });

  it('must be a service account', async () => {
    const user = { ...agent, name: 'mallory' };
    const work = new Impersonation().become(
      want('system:node:n'),
      { user, info: pods },
      new Allowing(rights),
    );
    expect(await refusal(work)).toBe('impersonate-on:arbitrary-node:list /pods in team');
  });
});

describe('a user without the right', () => {
  const refused = (
    wanted: WantedUser,
    allowed: readonly (string | RegExp)[] = [],
    by = new Impersonation(),
  ) => refusal(by.become(wanted, { user: alice, info: pods }, new Allowing(allowed)));

  it('hears of the first mode that applied', async () => {
    expect(await refused(want('bob'))).toBe('impersonate-on:user-info:list /pods in team');
    expect(await refused(want('alice'))).toBe('impersonate-on:user-info:list /pods in team');
    expect(await refused(want('system:node:n'))).toBe('impersonate-on:arbitrary-node:list /pods in team');
    expect(await refused(want('system:serviceaccount:team:robot'))).toBe(
      'impersonate-on:serviceaccount:list /pods in team',
    );
    expect(await refused(want('carol'), [/^impersonate-on/])).toBe(
      'impersonate:user-info authentication.k8s.io/users carol',
    );
  });

  it('hears the words of the mode that served before', async () => {
    const by = new Impersonation();
    const rights = ['impersonate /users bob', 'impersonate /groups a'];
    await by.become(want('bob'), { user: alice, info: pods }, new Allowing(rights));
    expect(await refused(want('bob', { groups: ['a', 'b'] }), rights, by)).toBe('impersonate /groups b');
    expect(await refused(want('bob', { uid: '1' }), rights, by)).toBe(
      'impersonate authentication.k8s.io/uids 1',
    );
  });

  it('does not become a master by a constrained mode, whatever roles say', async () => {
    const constrained = [/^impersonate[-:]/];
    const masters = 'impersonating the system:masters group is not allowed';
    const place = 'impersonate:user-info authentication.k8s.io';
    expect(await refused(want('bob', { groups: ['system:masters'] }), constrained)).toBe(
      `${place}/groups system:masters: ${masters}`,
    );
    expect(await refused(want('bob', { groups: [''] }), constrained)).toBe(
      `${place}/groups: impersonating the empty string group is not allowed`,
    );
    expect(await refused(want('bob', { extra: { scopes: ['x'] } }), constrained)).toContain(
      'impersonating an invalid key in extra is not allowed',
    );
    expect(await refused(want('bob', { extra: { 'example.com/k': [''] } }), constrained)).toContain(
      'impersonating the empty string value in extra is not allowed',
    );
  });

  it('does not become a node or an account by the way of other users', async () => {
    const userInfo = [/user-info/];
    expect(await refused(want('system:node:n'), userInfo)).toContain('arbitrary-node');
    expect(await refused(want('system:node:n', { groups: ['system:nodes'] }), userInfo)).toBe(
      'impersonate /users system:node:n',
    );
    expect(await refused(want('system:serviceaccount:kube-system:x'), userInfo)).toContain('serviceaccount');
  });
});
