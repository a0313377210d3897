/** Proves that RBAC allows what the rules of bound roles say, and that its index answers like a look at every binding. */
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import type { PolicyRule, Subject } from '../../api/generated/types.ts';
import type { Attributes } from '../../api/kind/access.ts';
import type { User } from '../../api/values/user.ts';
import { asks, TestRegistry, useRegistry, user } from './authorization.fixture.ts';
import { RbacAuthorizer } from './rbac.ts';
import { RbacIndex } from './rbac-index.ts';

const alice = user('alice', 'dev', 'system:authenticated');
const userAlice: Subject = { kind: 'User', name: 'alice' };

describe('a decision', () => {
  const made = useRegistry();
  const authorizer = (): RbacAuthorizer => new RbacAuthorizer(new RbacIndex(made.registry.view));

  it('names the binding, the role and the subject', async () => {
    await made.role('team', 'reader', [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }]);
    await made.binding('team', 'b', 'Role', 'reader', [{ kind: 'Group', name: 'dev' }, userAlice]);
    await made.binding('team', 'robots', 'Role', 'reader', [{ kind: 'ServiceAccount', name: 'robot' }]);
    expect(await authorizer().decide(asks(alice, 'get pods x', 'team'))).toEqual({
      allowed: true,
      reason: 'RBAC: allowed by RoleBinding "b/team" of Role "reader" to Group "dev"',
    });
    const robot = user('system:serviceaccount:team:robot');
    expect((await authorizer().decide(asks(robot, 'get pods x', 'team'))).reason).toBe(
      'RBAC: allowed by RoleBinding "robots/team" of Role "reader" to ServiceAccount "robot/team"',
    );
    expect((await authorizer().decide(asks(alice, 'get pods x', 'other'))).allowed).toBe(false);
    expect((await authorizer().decide(asks(alice, 'get pods'))).allowed).toBe(false);
  });

  it('is made for a user of very many groups', async () => {
    const groups = Array.from({ length: 200_000 }, (_, i) => `g${i}`);
    const { allowed } = await authorizer().decide(asks({ name: 'many', groups }, 'get pods x', 'team'));
    expect(allowed).toBe(false);
  });

  it('about names that tens of thousands of rules list is made from few of them, and keeps none of the names', async () => {
    const count = 5_000;
    const rules = Array.from({ length: count }, (_, at) => ({
      verbs: ['*'],
      apiGroups: ['*'],
      resources: ['*'],
      resourceNames: [`n${at}`],
    }));
    await made.role('names', 'many', rules);
    await made.binding('names', 'many', 'Role', 'many', [userAlice]);
    const rbac = authorizer();
    const asked = async (name: string) =>
      (await rbac.decide(asks(alice, `get pods ${name}`, 'names'))).allowed;
    // A long role is read in turns of the event loop.
    expect(rbac.decide(asks(alice, 'get pods n0', 'names'))).toBeInstanceOf(Promise);
    expect(await asked('n0')).toBe(true);
    const looks = vi.spyOn(Array.prototype, 'includes');
    try {
      expect(await Promise.all([asked('n7'), asked(`n${count}`), asked(`n${count - 1}`)])).toEqual([
        true,
        false,
        true,
      ]);
      expect(looks.mock.calls.length).toBeLessThan(200);
    } finally {
      looks.mockRestore();
    }
  });

  it('about a user with very many rules is listed in part, which the list says', async () => {
    const verbs = Array.from({ length: 5_000 }, (_, at) => `v${at}`);
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      await made.role('lists', name, [{ verbs, apiGroups: [''], resources: ['pods'] }]);
      for (const each of ['1', '2'])
        await made.binding('lists', name + each, 'Role', name, [{ kind: 'User', name: 'lister' }]);
    }
    const { resourceRules, incomplete, errors } = await authorizer().rulesFor(user('lister'), 'lists');
    expect(resourceRules).toHaveLength(3);
    expect(incomplete).toBe(true);
    expect(errors).toEqual(['there are too many rules to list all']);
  });

  it('is another one as soon as a role, a binding or a missing role is written', async () => {
    const rbac = authorizer();
    const question = asks(user('bob'), 'list secrets', 'team');
    expect(await rbac.decide(question)).toEqual({ allowed: false, reason: '' });
    await made.binding('team', 'bob', 'ClusterRole', 'secrets', [{ kind: 'User', name: 'bob' }]);
    expect((await rbac.decide(question)).reason).toBe(
      'RBAC: clusterrole.rbac.authorization.k8s.io "secrets" not found',
    );
    await made.role('', 'secrets', [{ verbs: ['list'], apiGroups: [''], resources: ['secrets'] }]);
    expect((await rbac.decide(question)).allowed).toBe(true);
    await made.role('', 'secrets', []);
    expect(await rbac.decide(question)).toEqual({ allowed: false, reason: '' });
  });

  it('on paths needs a cluster role that is bound in the whole cluster', async () => {
    const rbac = authorizer();
    await made.role('', 'paths', [{ verbs: ['get'], nonResourceURLs: ['/logs/*', '/version'] }]);
    await made.binding('team', 'paths', 'ClusterRole', 'paths', [userAlice]);
    expect((await rbac.decide(asks(alice, 'get /version'))).allowed).toBe(false);
    await made.binding('', 'paths', 'ClusterRole', 'paths', [userAlice]);
    for (const [question, isAllowed] of [
      ['get /version', true],
      ['get /version/', false],
      ['get /logs/a/b', true],
      ['get /logs', false],
      ['post /version', false],
    ] as const)
      expect((await rbac.decide(asks(alice, question))).allowed, question).toBe(isAllowed);
  });
});

// The index against a plain look at everything

const verbs = ['get', 'list', 'escalate', '*'];
const groups = ['', 'apps', '*'];
const resources = ['pods', 'pods/log', '*/log', 'services', '*'];
const names = ['a', 'b'];
const namespaces = ['', 'x', 'y'];

const some = (values: readonly string[]) =>
  fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: 2 });
const rule = fc.oneof(
  fc.record({
    verbs: some(verbs),
    apiGroups: some(groups),
    resources: some(resources),
    resourceNames: fc.uniqueArray(fc.constantFrom(...names), { maxLength: 2 }),
  }),
  fc.record({ verbs: some(verbs), nonResourceURLs: some(['/a', '/a/*', '*', '/b']) }),
) as fc.Arbitrary<PolicyRule>;
const subject: fc.Arbitrary<Subject> = fc.oneof(
  fc.record({ kind: fc.constant('User'), name: fc.constantFrom('u', 'v', 'system:serviceaccount:x:s') }),
  fc.record({ kind: fc.constant('Group'), name: fc.constantFrom('g', 'h') }),
  fc.record({
    kind: fc.constant('ServiceAccount'),
    name: fc.constant('s'),
    namespace: fc.constantFrom('x', ''),
  }),
);
const change = fc.oneof(
  fc.record({
    type: fc.constant('role' as const),
    namespace: fc.constantFrom(...namespaces),
    name: fc.constantFrom('r', 's'),
    rules: fc.array(rule, { maxLength: 3 }),
  }),
  fc.record({
    type: fc.constant('binding' as const),
    namespace: fc.constantFrom(...namespaces),
    name: fc.constantFrom('1', '2', '3'),
    roleKind: fc.constantFrom('Role', 'ClusterRole'),
    roleName: fc.constantFrom('r', 's', 'missing'),
    subjects: fc.array(subject, { maxLength: 3 }),
  }),
  fc.record({
    type: fc.constant('deletion' as const),
    resource: fc.constantFrom('roles', 'clusterroles', 'rolebindings', 'clusterrolebindings'),
    namespace: fc.constantFrom(...namespaces),
    name: fc.constantFrom('r', 's', '1', '2', '3'),
  }),
);
const question: fc.Arbitrary<Attributes> = fc
  .record({
    who: fc.constantFrom(
      user('u', 'g'),
      user('v', 'g', 'h'),
      user('w'),
      user('system:serviceaccount:x:s', 'h'),
    ),
    verb: fc.constantFrom(...verbs),
    what: fc.constantFrom('pods', 'pods/log', 'apps:pods', 'apps:services', '/a', '/a/', '/a/b', '/b'),
    name: fc.constantFrom(undefined, ...names, 'c'),
    namespace: fc.constantFrom(undefined, 'x', 'y'),
  })
  .map(({ who, verb, what, name, namespace }) =>
    asks(who, [verb, what, ...(name ? [name] : [])].join(' '), namespace),
  );

interface Binding {
  readonly namespace: string;
  readonly name: string;
  readonly roleKind: string;
  readonly roleName: string;
  readonly subjects: readonly Subject[];
}

/** Roles and bindings by place, and what they allow, read from the contract and looked up without any index. */
class Model {
  readonly roles = new Map<string, PolicyRule[]>();
  readonly bindings = new Map<string, Binding>();

  /** The binding that allows it; undefined when none does. */
  allowedBy({ user: who, info }: Attributes): string | undefined {
    const namespace = info.resource?.namespace;
    const asked = [...this.bindings.values()]
      .filter((one) => one.namespace === '' || one.namespace === namespace)
      .sort((a, b) =>
        a.namespace < b.namespace ? -1 : a.namespace > b.namespace ? 1 : a.name < b.name ? -1 : 1,
      );
    const found = asked.find(
      (one) =>
        one.subjects.some((to) => this.#isMeant(to, one, who)) &&
        this.#rulesOf(one).some((own) => this.#allows(own, info, one.namespace)),
    );
    return found && `${found.name}${found.namespace ? `/${found.namespace}` : ''}`;
  }

  #isMeant(to: Subject, { namespace }: Binding, { name, groups: member }: User): boolean {
    if (to.kind === 'Group') return member.includes(to.name!);
    if (to.kind === 'User') return to.name === name;
    const place = to.namespace || namespace;
    return place !== '' && name === `system:serviceaccount:${place}:${to.name}`;
  }

  #rulesOf({ namespace, roleKind, roleName }: Binding): PolicyRule[] {
    if (roleKind === 'Role' && !namespace) return [];
    return this.roles.get(`${roleKind === 'Role' ? namespace : ''}/${roleName}`) ?? [];
  }

  #allows(own: PolicyRule, { verb, path, resource }: Attributes['info'], boundIn: string): boolean {
    const has = (list: string[] | undefined, value: string) => list?.includes('*') || list?.includes(value);
    if (!has(own.verbs, verb)) return false;
    if (!resource)
      return (
        boundIn === '' &&
        (own.nonResourceURLs ?? []).some((url) =>
          url.endsWith('*') ? path.startsWith(url.slice(0, -1)) : path === url,
        )
      );
    const { subresource } = resource;
    const whole = subresource ? `${resource.resource}/${subresource}` : resource.resource;
    const isResource =
      has(own.resources, whole) || (subresource && own.resources?.includes(`*/${subresource}`));
    const isName = !own.resourceNames?.length || own.resourceNames.includes(resource.name ?? '');
    return Boolean(has(own.apiGroups, resource.group) && isResource && isName);
  }
}

describe('the index', () => {
  it('answers like a look at every binding, whatever changes in between', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(change, fc.array(question, { maxLength: 4 })), { minLength: 1, maxLength: 25 }),
        async (steps) => {
          const made = new TestRegistry();
          await made.open();
          try {
            const rbac = new RbacAuthorizer(new RbacIndex(made.registry.view));
            const model = new Model();
            for (const [step, questions] of steps) {
              await apply(made, model, step);
              for (const one of questions) {
                const { allowed, reason } = await rbac.decide(one);
                const binding = model.allowedBy(one);
                expect(allowed ? /Binding "([^"]+)"/.exec(reason)![1] : undefined).toBe(binding);
              }
            }
          } finally {
            await made.close();
          }
        },
      ),
      { numRuns: 60 },
    );
  });
});

type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

async function apply(made: TestRegistry, model: Model, step: Change): Promise<void> {
  const { namespace, name } = step;
  const place = `${namespace}/${name}`;
  if (step.type === 'role') {
    model.roles.set(place, step.rules);
    await made.role(namespace, name, structuredClone(step.rules));
  } else if (step.type === 'binding') {
    model.bindings.set(place, step);
    await made.binding(
      namespace,
      name,
      step.roleKind,
      step.roleName,
      structuredClone(step.subjects) as Subject[],
    );
  } else if (step.resource.startsWith('cluster') === (namespace === '')) {
    (step.resource.endsWith('roles') ? model.roles : model.bindings).delete(place);
    await made.delete('rbac.authorization.k8s.io/v1', step.resource, namespace, name);
  }
}
