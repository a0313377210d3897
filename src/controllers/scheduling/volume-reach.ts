/**
 * Volumes of a pod, for the scheduler: on which nodes they can be used. Volumes of bound claims may belong to some
 * nodes. A claim whose class waits for its first consumer is bound when the pod gets its node: there must be a free
 * volume that is usable on the node, or the class must be able to make one there.
 */
import type {
  CSIDriver,
  CSIStorageCapacity,
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
} from '../../api/generated/types.ts';
import { selectorFromObject } from '../../api/kind/label-selector.ts';
import { everything } from '../../registry/view/filter.ts';
import type { View } from '../../registry/view/view.ts';
import {
  allowsNode,
  classNamed,
  isDelayed,
  noProvisioner,
  selectedNodeOf,
} from '../volumes/storage-classes.ts';
import { bestVolume, classOf, compare, wishOf } from '../volumes/volume-matching.ts';
import { matchesNodeSelector } from './node-affinity.ts';
import type { NodeFacts } from './node-facts.ts';
import type { PodFacts } from './pod-facts.ts';

const affinityReason = "node(s) didn't match PersistentVolume's node affinity";
const missingReason = 'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)';
const noneReason = "node(s) didn't find available persistent volumes to bind";
const fullReason = 'node(s) did not have enough free storage';

/** What has to be done for the claims of a pod before it is bound to its node. */
export interface VolumePlan {
  /** Existing volumes, and the claims that get them. */
  readonly reserved: readonly { readonly claim: PersistentVolumeClaim; readonly volume: PersistentVolume }[];
  /** Claims for which a volume has to be provisioned. */
  readonly ordered: readonly PersistentVolumeClaim[];
}

/** A reason why the pod is unschedulable, or a check for each node, which returns the plan for that node. */
export type VolumeReach =
  | { readonly nowhere: string }
  | {
      readonly nowhere?: undefined;
      readonly failure: (node: NodeFacts) => string | undefined;
      readonly plan: (node: NodeFacts) => VolumePlan | undefined;
    };

/** Decisions of the scheduler that the view does not show yet. */
export interface Assumptions {
  /** Volumes assigned to claims: the uid of the claim by the name of the volume. */
  readonly volumes: ReadonlyMap<string, string>;
  /** Nodes chosen for claims, by the uid of the claim. */
  readonly nodes: ReadonlyMap<string, string>;
}

const anywhere: VolumeReach = { failure: () => undefined, plan: () => undefined };

export function volumeReach(view: View, pod: PodFacts, assumed: Assumptions): VolumeReach {
  if (pod.claims.length === 0) return anywhere;
  const places: VolumeChoice[] = [];
  const unbound: UnboundClaim[] = [];
  for (const name of pod.claims) {
    const claim = view.collection('core/persistentvolumeclaims').get(pod.namespace, name)?.peek() as
      | PersistentVolumeClaim
      | undefined;
    const problem = claimProblem(pod, name, claim);
    if (problem !== undefined) return { nowhere: problem };
    if (isBoundClaim(claim!)) {
      const volume = view.collection('core/persistentvolumes').get('', claim!.spec!.volumeName!);
      places.push(volume?.peek() as VolumeChoice);
      continue;
    }
    const storageClass = classNamed(view, classOf(claim!));
    if (!storageClass || !isDelayed(storageClass) || claim!.spec?.volumeName)
      return { nowhere: 'pod has unbound immediate PersistentVolumeClaims' };
    unbound.push({ claim: claim!, storageClass });
  }
  if (unbound.length === 0 && places.every((volume) => volume && !requiredNodes(volume))) return anywhere;
  const search = new NodeVolumes(view, unbound, assumed);
  return {
    failure: (node) => boundFailure(places, node) ?? search.failure(node),
    plan: (node) => (unbound.length ? search.plan(node) : undefined),
  };
}

type VolumeChoice = PersistentVolume | undefined;

interface UnboundClaim {
  readonly claim: PersistentVolumeClaim;
  readonly storageClass: StorageClass;
}

export const isBoundClaim = ({ spec, status }: PersistentVolumeClaim): boolean =>
  status?.phase === 'Bound' && Boolean(spec?.volumeName);

export const requiredNodes = ({ spec }: PersistentVolume) => spec?.nodeAffinity?.required;

/** Why no node is suitable for a claim. */
function claimProblem(
  pod: PodFacts,
  name: string,
  claim: PersistentVolumeClaim | undefined,
): string | undefined {
  const quoted = JSON.stringify(name);
  const isEphemeral = pod.ephemeralClaims.has(name);
  if (!claim)
    return isEphemeral
      ? `waiting for ephemeral volume controller to create the persistentvolumeclaim ${quoted}`
      : `persistentvolumeclaim ${quoted} not found`;
  const { metadata, spec, status } = claim;
  if (status?.phase === 'Lost')
    return `persistentvolumeclaim ${quoted} bound to non-existent persistentvolume ${JSON.stringify(spec?.volumeName ?? '')}`;
  if (metadata.deletionTimestamp) return `persistentvolumeclaim ${quoted} is being deleted`;
  const isOwned = metadata.ownerReferences?.some(({ controller, uid }) => controller && uid === pod.uid);
  if (isEphemeral && !isOwned)
    return `PVC ${pod.namespace}/${name} was not created for pod ${pod.key} (pod is not owner)`;
  return undefined;
}

function boundFailure(volumes: readonly VolumeChoice[], node: NodeFacts): string | undefined {
  for (const volume of volumes) {
    if (!volume) return missingReason;
    const required = requiredNodes(volume);
    if (required && !matchesNodeSelector(required, node)) return affinityReason;
  }
  return undefined;
}

/** The search for volumes of the unbound claims of one pod, node by node. */
class NodeVolumes {
  #free: readonly PersistentVolume[] | undefined;

  constructor(
    private readonly view: View,
    private readonly claims: readonly UnboundClaim[],
    private readonly assumed: Assumptions,
  ) {}

  failure(node: NodeFacts): string | undefined {
    const found = this.#find(node);
    return typeof found === 'string' ? found : undefined;
  }

  plan(node: NodeFacts): VolumePlan | undefined {
    const found = this.#find(node);
    return typeof found === 'string' ? undefined : found;
  }

  #find(node: NodeFacts): VolumePlan | string {
    const reserved: { claim: PersistentVolumeClaim; volume: PersistentVolume }[] = [];
    const taken = new Set<PersistentVolume>();
    const ordered: PersistentVolumeClaim[] = [];
    for (const { claim, storageClass } of this.claims) {
      const chosen = this.assumed.nodes.get(claim.metadata.uid!) ?? selectedNodeOf(claim);
      if (chosen !== undefined && chosen !== node.name) return noneReason;
      const volume = chosen === undefined ? this.#match(claim, node, taken) : undefined;
      if (volume) {
        reserved.push({ claim, volume });
        taken.add(volume);
      } else {
        const problem = this.#provisioningProblem(claim, storageClass, node);
        if (problem) return problem;
        ordered.push(claim);
      }
    }
    return { reserved, ordered };
  }

  /** The smallest free volume that fits the claim and can be used on the node. */
  #match(claim: PersistentVolumeClaim, node: NodeFacts, taken: ReadonlySet<PersistentVolume>): VolumeChoice {
    this.#free ??= this.view
      .collection('core/persistentvolumes')
      .select(everything)
      .entries.map((entry) => entry.peek() as PersistentVolume);
    const isFree = (volume: PersistentVolume): boolean => {
      const holder = this.assumed.volumes.get(volume.metadata.name!);
      const required = requiredNodes(volume);
      return (
        !taken.has(volume) &&
        (holder === undefined || holder === claim.metadata.uid) &&
        (!required || matchesNodeSelector(required, node))
      );
    };
    const best = bestVolume(claim, this.#free, isFree);
    // A volume that is reserved for the claim is always chosen; it must be usable on this node.
    return best && isFree(best) ? best : undefined;
  }

  #provisioningProblem(
    claim: PersistentVolumeClaim,
    storageClass: StorageClass,
    node: NodeFacts,
  ): string | undefined {
    const { provisioner = '', metadata } = storageClass;
    if (!provisioner || provisioner === noProvisioner) return noneReason;
    if (!allowsNode(storageClass, node.labels)) return noneReason;
    return this.#hasRoom(claim, metadata.name!, provisioner, node) ? undefined : fullReason;
  }

  /** Whether the driver has room for the claim on the node; true for drivers that do not report capacity. */
  #hasRoom(
    claim: PersistentVolumeClaim,
    className: string,
    provisioner: string,
    { labels }: NodeFacts,
  ): boolean {
    const driver = this.view.collection('storage.k8s.io/csidrivers').get('', provisioner)?.peek() as
      | CSIDriver
      | undefined;
    if (!driver?.spec?.storageCapacity) return true;
    return this.view
      .collection('storage.k8s.io/csistoragecapacities')
      .select(everything)
      .entries.some((entry) => {
        const { storageClassName, nodeTopology, capacity, maximumVolumeSize } =
          entry.peek() as CSIStorageCapacity;
        const limit = maximumVolumeSize ?? capacity;
        if (storageClassName !== className || !nodeTopology || limit === undefined) return false;
        if (compare(limit, wishOf(claim)) < 0) return false;
        const selector = nodeTopology as Parameters<typeof selectorFromObject>[0];
        return selectorFromObject(selector).matches(labels);
      });
  }
}
