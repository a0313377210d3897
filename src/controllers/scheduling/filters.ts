/** Filters: why a pod cannot run on a node, in Kubernetes' words. A node must pass all of them. */
import type { Taint } from '../../api/generated/types.ts';
import { selectsNode, tolerates } from './node-affinity.ts';
import type { NodeFacts } from './node-facts.ts';
import type { PodAffinity } from './pod-affinity.ts';
import type { PodFacts } from './pod-facts.ts';
import type { TopologySpread } from './topology-spread.ts';

/** `hopeless`: removing other pods from the node would not help. */
export interface NodeRefusal {
  readonly reasons: readonly string[];
  readonly hopeless: boolean;
}

/** Values computed once per pod and used for every node. */
export interface Wish {
  readonly pod: PodFacts;
  readonly affinity: PodAffinity | undefined;
  readonly spread: TopologySpread;
  /** Whether the pod's volumes can be used on a node; the reason if not. */
  readonly volumes: (node: NodeFacts) => string | undefined;
}

const hopeless = (reason: string): NodeRefusal => ({ reasons: [reason], hopeless: true });
const crowded = (reasons: readonly string[]): NodeRefusal => ({ reasons, hopeless: false });

const unschedulableTaint: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

/** The first filter that the node fails; for resources, all that are insufficient. */
export function refusalOf(
  { pod, affinity, spread, volumes }: Wish,
  node: NodeFacts,
): NodeRefusal | undefined {
  if (node.unschedulable && !tolerates(pod.tolerations, unschedulableTaint))
    return hopeless('node(s) were unschedulable');
  if (node.taints.length && hasTaint(pod, node)) return hopeless('node(s) had untolerated taint(s)');
  if (!selectsNode(pod, node)) return hopeless("node(s) didn't match Pod's node affinity/selector");
  if (pod.hostPorts.length && isPortTaken(pod, node))
    return crowded(["node(s) didn't have free ports for the requested pod ports"]);
  const short = shortages(pod, node);
  if (short) return crowded(short);
  if (pod.disks.length && isDiskTaken(pod, node)) return crowded(['node(s) had no available disk']);
  const unreachable = volumes(node);
  if (unreachable) return hopeless(unreachable);
  const tooClose = affinity?.failure(node);
  if (tooClose) return crowded([tooClose]);
  const uneven = spread.failure(node);
  return uneven === undefined ? undefined : crowded([uneven]);
}

// Functions of their own, so that nothing is allocated for the nodes and pods without any of these: nearly all.

const hasTaint = (pod: PodFacts, { taints }: NodeFacts): boolean =>
  taints.some((taint) => taint.effect !== 'PreferNoSchedule' && !tolerates(pod.tolerations, taint));

const isPortTaken = (pod: PodFacts, node: NodeFacts): boolean =>
  pod.hostPorts.some((port) => node.portTaken(port));

const isDiskTaken = (pod: PodFacts, node: NodeFacts): boolean =>
  pod.disks.some((disk) => node.diskTaken(disk));

function shortages(pod: PodFacts, node: NodeFacts): string[] | undefined {
  let short: string[] | undefined;
  if (node.pods.size + 1 > (node.allocatable.get('pods') ?? 0)) short = ['Too many pods'];
  for (const [name, amount] of pod.requests)
    if ((node.requested.get(name) ?? 0) + amount > (node.allocatable.get(name) ?? 0))
      (short ??= []).push(`Insufficient ${name}`);
  return short;
}

/**
 * The message for users: how many nodes were rejected for which reason, and what became of preemption, unless it has
 * found victims.
 */
export function refusalText(
  nodes: number,
  refusals: readonly NodeRefusal[],
  preemption: 'nominated' | string = noVictims(nodes, refusals),
): string {
  if (nodes === 0) return 'no nodes available to schedule pods';
  const counts = new Map<string, number>();
  for (const { reasons } of refusals)
    for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const told = [...counts].map(([reason, count]) => `${count} ${reason}`).sort();
  const text = `0/${nodes} nodes are available: ${told.join(', ')}.`;
  return preemption === 'nominated' ? text : `${text} preemption: ${preemption}`;
}

function noVictims(nodes: number, refusals: readonly NodeRefusal[]): string {
  const hopelessCount = refusals.filter((refusal) => refusal.hopeless).length;
  const others = refusals.length - hopelessCount;
  const parts = [
    ...(others ? [`${others} No preemption victims found for incoming pod`] : []),
    ...(hopelessCount ? [`${hopelessCount} Preemption is not helpful for scheduling`] : []),
  ];
  return `0/${nodes} nodes are available: ${parts.join(', ')}.`;
}
