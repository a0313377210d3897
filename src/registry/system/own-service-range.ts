/**
 * The cluster's own range of cluster IPs: the ServiceCIDR `kubernetes`. The first server creates it with the range it
 * was started with; from then on the stored one counts.
 */
import type { ServiceCIDR } from '../../api/generated/types.ts';
import { ownRangeName, rangeId } from '../allocation/service-ranges.ts';
import { collectionOf, targetOf } from '../target.ts';
import { modify } from '../verbs/modify.ts';
import type { View } from '../view/view.ts';
import { actingAs } from '../writers.ts';
import type { Writing } from '../writing.ts';

const message = 'Kubernetes default Service CIDR is ready';

/** The stored range, or one of each family; undefined in a new cluster. */
export function storedServiceRange(view: View): string | undefined {
  const stored = view.collection(rangeId).get('', ownRangeName)?.peek() as ServiceCIDR | undefined;
  return stored?.spec?.cidrs?.join(',');
}

/** Whether a range adds a second family to the stored one: the only change that is allowed. */
export const addsFamily = (range: string, stored: string): boolean => range.startsWith(`${stored},`);

/**
 * Creates the object if it is missing, adds a second family that the server was started with, and marks it as ready.
 */
export async function restoreServiceRange(writing: Writing, range: string): Promise<void> {
  const kind = writing.registry.kinds.resource('networking.k8s.io/v1', 'servicecidrs')!;
  const entry = writing.registry.view.collection(kind).get('', ownRangeName);
  const status = (): ServiceCIDR['status'] => ({
    conditions: [
      { type: 'Ready', status: 'True', reason: '', message, lastTransitionTime: writing.registry.now() },
    ],
  });
  if (!entry) {
    const object: ServiceCIDR = {
      metadata: { name: ownRangeName },
      spec: { cidrs: range.split(',') },
      status: status(),
    };
    await writing.registry.seed(actingAs('kube-apiserver', 'create'), collectionOf(kind, ''), object);
    return;
  }
  const stored = entry.peek() as ServiceCIDR;
  if (stored.metadata.deletionTimestamp) return;
  if (addsFamily(range, stored.spec?.cidrs?.join(',') ?? ''))
    await modify(writing, actingAs('kube-apiserver', 'update'), targetOf(entry), (current) => ({
      ...current.object(),
      spec: { cidrs: range.split(',') },
    }));
  if (stored.status?.conditions?.some(({ type }) => type === 'Ready')) return;
  await modify(writing, actingAs('kube-apiserver', 'update'), targetOf(entry, 'status'), (current) => ({
    ...current.object(),
    status: status(),
  }));
}
