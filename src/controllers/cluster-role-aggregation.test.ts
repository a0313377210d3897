/** Proves that roles which gather others hold the rules that a real controller gives them, and follow every change. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { ClusterRole } from '../api/generated/types.ts';
import { asTester } from '../registry/request.fixture.ts';
import { targetOf } from '../registry/target.ts';
import { modify } from '../registry/verbs/modify.ts';
import { harness, useHarness } from './shared/harness.fixture.ts';

useHarness();

const recorded = JSON.parse(
  readFileSync(new URL('../../test/recorded/bootstrap-policy.json', import.meta.url), 'utf8'),
) as { clusterroles: ClusterRole[]; aggregated: Record<string, unknown> };
const version = 'rbac.authorization.k8s.io/v1';
const resource = 'rbac.authorization.k8s.io/clusterroles';

const role = (name: string): ClusterRole =>
  harness.registry.view.collection(resource).get('', name)!.object() as ClusterRole;

/** Waits also for work that other work leads to: one role may gather another that gathers. */
async function settled(): Promise<void> {
  for (let i = 0; i < 5; i++) await harness.settled();
}

it('fills admin, edit and view as recorded', async () => {
  harness.start(['clusterrole-aggregation']);
  for (const planted of recorded.clusterroles) await harness.seed(version, 'clusterroles', '', planted);
  await settled();
  for (const [name, rules] of Object.entries(recorded.aggregated)) expect(role(name).rules).toEqual(rules);
});

it('takes in what is marked later, and lets go what is not marked any more', async () => {
  harness.start(['clusterrole-aggregation']);
  const mark = { 'example.com/gathered': 'true' };
  await harness.seed(version, 'clusterroles', '', {
    metadata: { name: 'all' },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: mark }] },
  });
  const rule = (name: string) => ({ verbs: ['get'], apiGroups: [''], resources: [name] });
  await harness.seed(version, 'clusterroles', '', {
    metadata: { name: 'b', labels: mark },
    rules: [rule('b')],
  });
  const a = await harness.seed(version, 'clusterroles', '', {
    metadata: { name: 'a', labels: mark },
    rules: [rule('a'), rule('b')],
  });
  await harness.seed(version, 'clusterroles', '', { metadata: { name: 'c' }, rules: [rule('c')] });
  await settled();
  expect(role('all').rules).toEqual([rule('a'), rule('b')]);
  await modify(harness.writing, asTester('update'), targetOf(a), (current) => {
    const object = current.object();
    object.metadata.labels = {};
    return object;
  });
  await settled();
  expect(role('all').rules).toEqual([rule('b')]);
});
