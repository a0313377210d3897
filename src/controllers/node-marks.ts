/** The conditions and taints of nodes that have stopped reporting. */
import type { Node, NodeCondition, Taint } from '../api/generated/types.ts';

/** Additional time for a new node until its first report. */
export const firstGraceShare = 1.2;

export const leaseNamespace = 'kube-node-lease';

/** The reason of conditions that the node itself has never reported. */
export const neverUpdated = 'NodeStatusNeverUpdated';

const prefix = 'node.kubernetes.io/';

/** Conditions that only the node itself can report. */
const reported = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];

/** Taints for conditions other than Ready. */
const pressureTaints: Record<string, string> = {
  MemoryPressure: 'memory-pressure',
  DiskPressure: 'disk-pressure',
  PIDPressure: 'pid-pressure',
  NetworkUnavailable: 'network-unavailable',
};

/** Taint keys that controllers of nodes add and remove; all others belong to users or other controllers. */
const ownKeys = new Set([
  ...['not-ready', 'unreachable', 'unschedulable', ...Object.values(pressureTaints)].map(
    (name) => prefix + name,
  ),
]);

/** The conditions of a silent node: reported ones become Unknown, and those that it never reported are added. */
export function silentConditions(node: Node, now: string): NodeCondition[] {
  const known = node.status?.conditions ?? [];
  return [
    ...known.map((condition) => (reported.includes(condition.type!) ? unknown(condition, now) : condition)),
    ...reported
      .filter((type) => !known.some((condition) => condition.type === type))
      .map((type) => neverKnown(type, node, now)),
  ];
}

const unknown = (before: NodeCondition, now: string): NodeCondition =>
  before.status === 'Unknown'
    ? before
    : {
        ...before,
        status: 'Unknown',
        reason: 'NodeStatusUnknown',
        message: 'Kubelet stopped posting node status.',
        lastTransitionTime: now,
      };

const neverKnown = (type: string, node: Node, now: string): NodeCondition => ({
  type,
  status: 'Unknown',
  reason: neverUpdated,
  message: 'Kubelet never posted node status.',
  lastHeartbeatTime: node.metadata.creationTimestamp,
  lastTransitionTime: now,
});

export const conditionOf = (node: Node, type: string): NodeCondition | undefined =>
  node.status?.conditions?.find((condition) => condition.type === type);

const same = (a: Taint, b: Taint): boolean => a.key === b.key && a.effect === b.effect;

const readinessKeys = [`${prefix}not-ready`, `${prefix}unreachable`];

/** Whether the node has the NoExecute taint that evicts its pods because it is not ready. */
export const isGivenUp = ({ spec }: Node): boolean =>
  spec?.taints?.some(({ key, effect }) => effect === 'NoExecute' && readinessKeys.includes(key!)) === true;

/**
 * The taints a node should have; existing ones keep their timeAdded.
 * @param evicts whether to evict its pods while it is not ready
 */
export function taintsFor(node: Node, now: string, evicts: boolean): Taint[] {
  const wanted: Taint[] = [];
  const ready = conditionOf(node, 'Ready')?.status;
  if (ready !== 'True') {
    const key = prefix + (ready === 'Unknown' ? 'unreachable' : 'not-ready');
    wanted.push({ key, effect: 'NoSchedule', timeAdded: now });
    // A node that has never reported runs no pods to evict.
    if (ready !== undefined && evicts) wanted.push({ key, effect: 'NoExecute', timeAdded: now });
  }
  for (const [type, name] of Object.entries(pressureTaints))
    if (conditionOf(node, type)?.status === 'True')
      wanted.push({ key: prefix + name, effect: 'NoSchedule', timeAdded: now });
  if (node.spec?.unschedulable)
    wanted.push({ key: `${prefix}unschedulable`, effect: 'NoSchedule', timeAdded: now });
  const before = node.spec?.taints ?? [];
  const kept = before.filter((taint) => !ownKeys.has(taint.key!) || wanted.some((one) => same(one, taint)));
  return [...kept, ...wanted.filter((one) => !kept.some((taint) => same(one, taint)))];
}

export const sameTaints = (node: Node, taints: readonly Taint[]): boolean => {
  const before = node.spec?.taints ?? [];
  return before.length === taints.length && before.every((taint, i) => same(taint, taints[i]!));
};
