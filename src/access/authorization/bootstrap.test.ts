/** Proves that the default roles are those of a real server, and that a start completes them without undoing changes. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { ClusterRole, PolicyRule, RoleBinding } from '../../api/generated/types.ts';
import { rbacGroup } from '../../api/rules/access/rbac.ts';
import type { ApiObject } from '../../api/text/object.ts';
import { useRegistry } from './authorization.fixture.ts';
import { ensureDefaultPolicy } from './bootstrap.ts';
import { defaultBindings, defaultRoles, defaultRules } from './bootstrap-policy.ts';

type Recorded = Record<'clusterroles' | 'clusterrolebindings' | 'roles' | 'rolebindings', ApiObject[]>;
const recorded = JSON.parse(
  readFileSync(new URL('../../../test/recorded/bootstrap-policy.json', import.meta.url), 'utf8'),
) as Recorded;

/** Without what every object of a kind has, and what is written for rules that are not there. */
const bare = (object: ApiObject): unknown => {
  const { kind, apiVersion, ...rest } = object as ClusterRole;
  if (rest.rules === null) delete rest.rules;
  return rest;
};

const version = `${rbacGroup}/v1`;
const total = 133;

describe('the default policy', () => {
  it('is that of a real server', () => {
    expect(defaultRoles()).toEqual([...recorded.clusterroles, ...recorded.roles].map(bare));
    expect(defaultBindings()).toEqual([...recorded.clusterrolebindings, ...recorded.rolebindings].map(bare));
    const node = recorded.clusterroles.find(({ metadata }) => metadata.name === 'system:node') as ClusterRole;
    expect(defaultRules('system:node')).toEqual(node.rules);
  });
});

describe('a start', () => {
  const made = useRegistry();
  const find = <T>(resource: string, name: string, namespace = ''): T =>
    made.registry.view
      .collection(made.registry.kinds.resource(version, resource)!)
      .get(namespace, name)
      ?.object() as T;

  it('plants what is missing, and writes nothing when nothing is', async () => {
    const before = made.registry.view.revision;
    await ensureDefaultPolicy(made.writing);
    expect(made.registry.view.revision).toBe(before + total);
    await ensureDefaultPolicy(made.writing);
    expect(made.registry.view.revision).toBe(before + total);
    expect(find<ClusterRole>('clusterroles', 'view').rules).toEqual([]);
    expect(
      find<RoleBinding>('rolebindings', 'system:controller:token-cleaner', 'kube-system').subjects,
    ).toEqual([{ kind: 'ServiceAccount', name: 'token-cleaner', namespace: 'kube-system' }]);
  });

  it('adds what was taken away, and keeps what users have added', async () => {
    const name = 'system:basic-user';
    const own: PolicyRule = { verbs: ['get'], apiGroups: ['example.com'], resources: ['things'] };
    const [first] = find<ClusterRole>('clusterroles', name).rules!;
    await made.role('', name, [own, first!]);
    await made.binding('', name, 'ClusterRole', name, [{ kind: 'User', name: 'jo' }]);
    await ensureDefaultPolicy(made.writing);
    expect(find<ClusterRole>('clusterroles', name)).toMatchObject({
      metadata: { labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' } },
      rules: [own, first, { resources: ['selfsubjectreviews'] }],
    });
    expect(find<RoleBinding>('clusterrolebindings', name).subjects).toMatchObject([
      { name: 'jo' },
      { kind: 'Group', name: 'system:authenticated' },
    ]);
  });

  it('leaves alone what says so, and makes a binding of another role anew', async () => {
    const annotations = { 'rbac.authorization.kubernetes.io/autoupdate': 'false' };
    const name = 'system:discovery';
    await made.put(version, 'clusterroles', '', { metadata: { name, annotations }, rules: [] } as ApiObject);
    await made.binding('', name, 'ClusterRole', 'view', [{ kind: 'User', name: 'jo' }]);
    await ensureDefaultPolicy(made.writing);
    expect(find<ClusterRole>('clusterroles', name).rules ?? []).toEqual([]);
    expect(find<RoleBinding>('clusterrolebindings', name)).toMatchObject({
      roleRef: { name },
      subjects: [{ name: 'system:authenticated' }],
    });
  });
});
