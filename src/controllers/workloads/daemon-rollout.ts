/**
 * Daemon rollout: which pods of a daemon set are to be created and deleted, computed from the pods on each node.
 * Upkeep ensures that each node has its one pod, of any template; a rolling update replaces those of old templates
 * within bounds.
 */
import type { DaemonSetSpec, DaemonSetStatus } from '../../api/generated/types.ts';
import { availableInMs, type IndexedPod, isFinished } from '../shared/indexed-pod.ts';
import type { DaemonVerdict } from './daemon-placement.ts';
import { revisionLabel } from './revision-history.ts';
import { resolved } from './rolling-plan.ts';

/** A node, or the name of a deleted one, and the pods that are on it or directed to it. */
export interface DaemonNode extends DaemonVerdict {
  readonly name: string;
  readonly known: boolean;
  readonly pods: readonly IndexedPod[];
}

/** The other inputs of a decision. */
export interface Moment {
  /** The hash of the current template. */
  readonly hash: string;
  readonly spec: DaemonSetSpec;
  readonly nowMs: number;
}

export interface Work {
  /** Nodes that need a pod. */
  readonly create: string[];
  readonly remove: IndexedPod[];
}

export interface Upkeep extends Work {
  /** Finished pods, to be deleted so that others can replace them. */
  readonly ended: { readonly node: string; readonly pod: IndexedPod }[];
}

const isAvailable = (pod: IndexedPod, { spec, nowMs }: Moment): boolean =>
  pod.ready && availableInMs(pod, spec.minReadySeconds, nowMs) <= 0;

const isUpdated = (pod: IndexedPod, { hash }: Moment): boolean => pod.labels?.[revisionLabel] === hash;

/** Bound pods before unbound ones, then by age. */
const inOrder = (pods: readonly IndexedPod[]): IndexedPod[] =>
  [...pods].sort(
    (a, b) =>
      Number(Boolean(b.nodeName)) - Number(Boolean(a.nodeName)) ||
      a.createdMs - b.createdMs ||
      (a.name < b.name ? -1 : 1),
  );

/** A finished pod that is being deleted no longer counts on its node, whatever finalizers it has. */
const present = ({ pods }: DaemonNode): IndexedPod[] =>
  pods.filter((pod) => !(isFinished(pod) && pod.marked));

/** A node may temporarily have more than one pod. */
const surges = ({ updateStrategy }: DaemonSetSpec): boolean => {
  const { maxSurge } = updateStrategy?.rollingUpdate ?? {};
  return updateStrategy?.type === 'RollingUpdate' && resolved(maxSurge, 1, Math.ceil) > 0;
};

/** Missing and surplus pods of each node. */
export function upkeep(nodes: readonly DaemonNode[], moment: Moment): Upkeep {
  const work: Upkeep = { create: [], remove: [], ended: [] };
  for (const node of nodes) {
    const pods = present(node);
    const active = pods.filter(({ marked }) => !marked);
    if (!node.known) work.remove.push(...active.filter(({ nodeName }) => !nodeName));
    else if (node.runs && pods.length === 0) work.create.push(node.name);
    else if (!node.stays) work.remove.push(...active);
    else {
      for (const pod of active.filter(isFinished)) work.ended.push({ node: node.name, pod });
      work.remove.push(...surplus(inOrder(active.filter((pod) => !isFinished(pod))), moment));
    }
  }
  return work;
}

/** The surplus pods of a node; `pods` are its active pods, in order. */
function surplus(pods: readonly IndexedPod[], moment: Moment): IndexedPod[] {
  if (pods.length <= 1 || !surges(moment.spec)) return pods.slice(1);
  const fresh = pods.find((pod) => isUpdated(pod, moment));
  const old = pods.find((pod) => !isUpdated(pod, moment));
  const others = pods.filter((pod) => pod !== fresh && pod !== old);
  // The old pod stays until the new one is available.
  return fresh && old && (!old.ready || isAvailable(fresh, moment)) ? [...others, old] : others;
}

/** The next step of a rolling update. It relies on upkeep to create pods on nodes without one. */
export function rollingUpdate(nodes: readonly DaemonNode[], moment: Moment): Work {
  const desired = nodes.filter(({ runs }) => runs).length;
  const { maxUnavailable = 1, maxSurge = 0 } = moment.spec.updateStrategy?.rollingUpdate ?? {};
  const surge = resolved(maxSurge, desired, Math.ceil);
  const unavailable = resolved(maxUnavailable, desired, Math.ceil);
  const concerned = nodes.filter((node) => node.runs || present(node).length > 0);
  if (surge > 0) return surging(concerned, moment, surge, desired);
  return replacing(concerned, moment, desired > 0 ? Math.max(unavailable, 1) : unavailable);
}

interface Pair {
  readonly fresh: IndexedPod | undefined;
  readonly old: IndexedPod | undefined;
}

/** The pod of the current template and that of another; undefined when there are several of a sort. */
function pairOn(node: DaemonNode, moment: Moment): Pair | undefined {
  const active = present(node).filter(({ marked }) => !marked);
  const fresh = active.filter((pod) => isUpdated(pod, moment));
  const old = active.filter((pod) => !isUpdated(pod, moment));
  return fresh.length > 1 || old.length > 1 ? undefined : { fresh: fresh[0], old: old[0] };
}

/** Deletes old pods, so that at most maxUnavailable nodes are without an available pod. */
function replacing(nodes: readonly DaemonNode[], moment: Moment, maxUnavailable: number): Work {
  let unavailable = 0;
  const useless: IndexedPod[] = [];
  const candidates: IndexedPod[] = [];
  for (const node of nodes) {
    const pair = pairOn(node, moment);
    const { fresh, old } = pair ?? {};
    if (old && !fresh) (isAvailable(old, moment) ? candidates : useless).push(old);
    // None, or several, or one that is not available yet.
    else if (!fresh || old || !isAvailable(fresh, moment)) unavailable++;
  }
  // An old pod that is not available can be deleted without loss.
  return {
    create: [],
    remove: [...useless, ...candidates.slice(0, Math.max(0, maxUnavailable - unavailable))],
  };
}

/** Creates new pods beside the old ones, and deletes an old one when the new one is available. */
function surging(nodes: readonly DaemonNode[], moment: Moment, maxSurge: number, desired: number): Work {
  let surged = 0;
  let available = 0;
  const outlived: IndexedPod[] = [];
  const misplaced: IndexedPod[] = [];
  const forsaken: string[] = [];
  const candidates: string[] = [];
  for (const node of nodes) {
    const pair = pairOn(node, moment);
    if (!pair) {
      surged++;
      continue;
    }
    const { fresh, old } = pair;
    const serving = old ?? fresh;
    if (serving && isAvailable(serving, moment)) available++;
    if (!old) continue;
    if (fresh) {
      if (isAvailable(fresh, moment)) outlived.push(old);
      else surged++;
    } else if (!node.runs) misplaced.push(old);
    else (isAvailable(old, moment) ? candidates : forsaken).push(node.name);
  }
  // With maxSurge all pods should stay available, also while they move to other nodes.
  const spare = Math.max(0, available - desired);
  return {
    create: [...forsaken, ...candidates.slice(0, Math.max(0, maxSurge - surged))],
    remove: [...outlived, ...misplaced.slice(0, spare)],
  };
}

/** The counters of the status. Where a node has several pods, the oldest counts. */
export function numbersOf(nodes: readonly DaemonNode[], moment: Moment): DaemonSetStatus {
  const numbers = { desired: 0, current: 0, misscheduled: 0, ready: 0, available: 0, updated: 0 };
  for (const { known, runs, pods } of nodes) {
    const [pod] = inOrder(pods);
    if (runs) numbers.desired++;
    if (!known || !pod) continue;
    if (!runs) {
      numbers.misscheduled++;
      continue;
    }
    numbers.current++;
    if (pod.ready) numbers.ready++;
    if (isAvailable(pod, moment)) numbers.available++;
    if (isUpdated(pod, moment)) numbers.updated++;
  }
  return {
    currentNumberScheduled: numbers.current,
    numberMisscheduled: numbers.misscheduled,
    desiredNumberScheduled: numbers.desired,
    numberReady: numbers.ready,
    updatedNumberScheduled: numbers.updated,
    numberAvailable: numbers.available,
    numberUnavailable: numbers.desired - numbers.available,
  };
}
