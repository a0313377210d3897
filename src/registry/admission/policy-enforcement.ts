/**
 * Warns the writer of a network policy when some nodes do not enforce it: nodes that apply policies declare that in
 * their status; on others the policy is stored without effect.
 */
import type { Node } from '../../api/generated/types.ts';
import type { Guard } from '../admission-chain.ts';
import { everything } from '../view/filter.ts';

/** Declared by nodes that enforce network policies. */
export const policyFeature = 'NetworkPolicyEnforcement';
/** Names of nodes in one warning. */
const namesMax = 3;

export const warnUnenforced: Guard = ({ view }, { request, target, operation }) => {
  if (target.kind.id !== 'networking.k8s.io/networkpolicies' || operation !== 'create') return;
  const nodes = view.collection('core/nodes').select(everything).entries;
  const without = nodes.filter(
    (entry) => !(entry.peek() as Node).status?.declaredFeatures?.includes(policyFeature),
  );
  // A cluster without nodes has no pods that a policy could be about.
  if (without.length === 0) return;
  const names = without.slice(0, namesMax).map(({ name }) => name);
  const more = without.length > namesMax ? ` and ${without.length - namesMax} more` : '';
  request.warnings.push(
    without.length === nodes.length
      ? 'the NetworkPolicy is stored, but not enforced: no node gives pods networks of their own'
      : `the NetworkPolicy is not enforced on nodes where pods have no network of their own: ${names.join(', ')}${more}`,
  );
};
