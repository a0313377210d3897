/**
 * The cluster role aggregation controller: a cluster role with an aggregation rule gets the rules of all cluster roles
 * that its selectors match, in the order of the selectors and of the roles' names.
 */
import type { ClusterRole, PolicyRule } from '../api/generated/types.ts';
import { type LabelSelectorObject, selectorFromObject } from '../api/kind/label-selector.ts';
import { semanticEqual } from '../api/text/object.ts';
import { targetOf } from '../registry/target.ts';
import { modify } from '../registry/verbs/modify.ts';
import { everything } from '../registry/view/filter.ts';
import { type Controller, ifUnchanged, observe, running, type Writer } from './shared/controller.ts';
import { WorkQueue } from './shared/work-queue.ts';

const resource = 'rbac.authorization.k8s.io/clusterroles';
/** The text in a role's JSON that shows that it aggregates others. */
const mark = Buffer.from('"aggregationRule":{');
/** Delay, so that roles created together are aggregated once. */
const gatherMs = 20;

export const clusterRoleAggregation: Controller = {
  name: 'clusterrole-aggregation',
  housekeeping: true,
  writer: 'clusterrole-aggregation-controller',
  start(context) {
    const gathering = new Set<string>();
    const queue = new WorkQueue({
      timers: context.registry.timers,
      work: (name) => gather(context, name),
      onError: (_, error) => context.onError(error),
    });
    const observation = observe(context, resource, (entry, previous) => {
      const { name } = (entry ?? previous)!;
      if (entry?.document.includes(mark)) gathering.add(name);
      else gathering.delete(name);
      for (const one of gathering) queue.addAfter(one, gatherMs);
    });
    return running([observation], [queue]);
  },
};

async function gather({ registry, writing, request }: Writer, name: string): Promise<void> {
  const roles = registry.view.collection(resource);
  const entry = roles.get('', name);
  if (!entry) return;
  const role = entry.peek() as ClusterRole;
  if (!role.aggregationRule) return;
  const others = roles.select(everything).entries.filter((one) => one.name !== name);
  const rules: PolicyRule[] = [];
  const taken = new Set<string>();
  for (const object of role.aggregationRule.clusterRoleSelectors ?? []) {
    const selector = selectorFromObject(object as LabelSelectorObject);
    for (const other of others.filter(({ labels }) => selector.matches(labels)))
      for (const rule of (other.peek() as ClusterRole).rules ?? []) {
        const text = JSON.stringify(rule);
        if (!taken.has(text)) rules.push(rule);
        taken.add(text);
      }
  }
  if (semanticEqual(role.rules, rules)) return;
  // The resourceVersion makes the write fail when the role has changed; that change adds the role to the queue again.
  const change = () => ({ ...entry.object(), rules: structuredClone(rules) });
  await ifUnchanged(modify(writing, request('update'), targetOf(entry), change));
}
