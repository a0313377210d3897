/** The replica set controller: keeps the requested number of pods of a ReplicaSet. */
import type { ReplicaSet } from '../../api/generated/types.ts';
import type { Controller, SharedContext } from '../shared/controller.ts';
import { controllerOf, type IndexedPod, isActive } from '../shared/indexed-pod.ts';
import { OwnedIndex } from '../shared/owned-index.ts';
import { objectSelector } from '../shared/selectors.ts';
import { Replication } from './replication.ts';

export const replicaSetController: Controller = {
  name: 'replicaset',
  writer: 'replicaset-controller',
  start: (context) => {
    const sets = new OwnedIndex(context.registry, 'apps/replicasets');
    return new Replication<ReplicaSet>(context, {
      apiVersion: 'apps/v1',
      resource: 'replicasets',
      component: 'replicaset-controller',
      selectorOf: ({ spec }) => objectSelector(spec?.selector),
      related: (set) => siblingPods(context, sets, set),
      countsTerminating: true,
    }).start();
  },
};

/** Pods of the deployment's other replica sets, which count as related during a rollout. */
function siblingPods({ pods }: SharedContext, sets: OwnedIndex, { metadata }: ReplicaSet): IndexedPod[] {
  const { namespace = '', uid, ownerReferences } = metadata;
  const owner = controllerOf(ownerReferences)?.uid;
  if (!owner) return [];
  const siblings = sets.controlledBy(namespace, owner).filter((set) => set.uid !== uid);
  return siblings.flatMap((set) => pods.controlledBy(namespace, set.uid)).filter(isActive);
}
