/** The family of an object: its owners upwards, and what it owns downwards, by owner references. */
import { ask } from '../../core/api.ts';
import { kindNamed, pathOf } from '../../core/kinds.ts';
import { momentQuery } from '../../core/moment.ts';
import type { ApiObject, ListAnswer } from '../../core/objects.ts';
import { may } from '../../core/rights.ts';
import { type Found, findObjects, type Relative } from './related.ts';

export interface FamilyMember extends Relative {
  readonly children: readonly FamilyMember[];
  /** The object that the page is about. */
  readonly isSelf?: boolean;
}

/** Owners of owners that are looked up, and generations of what is owned. */
const ancestorsMax = 5;

/** Where to look for what objects of a kind own; other kinds may own any of `usual`. */
const childKinds: Readonly<Record<string, readonly string[]>> = {
  Deployment: ['replicasets.apps'],
  ReplicaSet: ['pods'],
  StatefulSet: ['pods', 'controllerrevisions.apps'],
  DaemonSet: ['pods', 'controllerrevisions.apps'],
  ReplicationController: ['pods'],
  CronJob: ['jobs.batch'],
  Job: ['pods'],
  Service: ['endpointslices.discovery.k8s.io'],
};
const childless = new Set([
  'Pod',
  'Event',
  'Secret',
  'ConfigMap',
  'EndpointSlice',
  'ControllerRevision',
  'Lease',
  'Namespace',
]);
const usual = [
  'deployments.apps',
  'statefulsets.apps',
  'replicasets.apps',
  'jobs.batch',
  'pods',
  'services',
  'configmaps',
  'secrets',
];

export async function familyOf(
  object: ApiObject,
  self: Relative,
  at: number | undefined,
): Promise<FamilyMember | undefined> {
  const children = await childrenOf(
    object.kind ?? '',
    object.metadata.uid,
    object.metadata.namespace,
    at,
    selectorOf(object),
  );
  let top: FamilyMember = { ...self, isSelf: true, children };
  let owners = object.metadata.ownerReferences ?? [];
  for (let up = 0; up < ancestorsMax; up++) {
    const owner = owners.find(({ controller }) => controller) ?? owners[0];
    const kind = owner && kindNamed(owner.apiVersion, owner.kind);
    if (!owner || !kind) break;
    const namespace = kind.namespaced ? object.metadata.namespace : undefined;
    top = { kind, namespace, name: owner.name, children: [top] };
    if (!may('list', kind, { namespace })) break;
    // By a list, because only lists can show the past.
    const { items } = await ask<ListAnswer<ApiObject>>(pathOf(kind, namespace), {
      query: { fieldSelector: `metadata.name=${owner.name}`, ...momentQuery(at), limit: 1 },
    }).catch(() => ({ items: [] as ApiObject[] }));
    owners = items[0]?.metadata.ownerReferences ?? [];
  }
  return top.isSelf && children.length === 0 ? undefined : top;
}

/** The selector of a workload, which limits the search for owned objects. */
function selectorOf({ spec, kind }: ApiObject): string | undefined {
  if (kind === 'Service') return undefined;
  const labels = Object.entries(spec?.selector?.matchLabels ?? {});
  return labels.length ? labels.map(([name, value]) => `${name}=${value}`).join() : undefined;
}

async function childrenOf(
  kindName: string,
  uid: string,
  namespace: string | undefined,
  at: number | undefined,
  labelSelector: string | undefined,
): Promise<readonly FamilyMember[]> {
  if (childless.has(kindName)) return [];
  const found = await Promise.all(
    (childKinds[kindName] ?? usual).map((id) =>
      findObjects(id, namespace, id.startsWith('controllerrevisions') ? {} : { labelSelector }, at),
    ),
  );
  const mine = found.flat().filter(({ owners }) => owners.some((owner) => owner.uid === uid));
  return Promise.all(mine.map((child) => withChildren(child, at, labelSelector)));
}

async function withChildren(
  child: Found,
  at: number | undefined,
  labelSelector: string | undefined,
): Promise<FamilyMember> {
  const children =
    child.kind.kind in childKinds
      ? await childrenOf(child.kind.kind, child.uid, child.namespace, at, labelSelector)
      : [];
  return { ...child, children };
}
