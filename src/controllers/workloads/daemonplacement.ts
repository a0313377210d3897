/**
 * Daemon placement: on which nodes a daemon set wants its pod, and how the pod gets there. The scheduler binds it like
 * any other; the pod asks for one node, by its name.
 */
import type {
  Affinity,
  NodeSelectorTerm,
  Pod,
  PodSpec,
  Taint,
  Toleration,
} from '../../api/generated/types.ts';
import { selectsNode, tolerates } from '../scheduling/nodeaffinity.ts';
import type { IndexedPod } from '../shared/indexedpod.ts';

const prefix = 'node.kubernetes.io/';
const nameField = 'metadata.name';

/** What matters of a node. */
export interface PlaceableNode {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
}

export interface DaemonVerdict {
  /** Whether the node should have a pod. */
  readonly runs: boolean;
  /** Whether a pod that is there may stay. */
  readonly stays: boolean;
}

const nowhere: DaemonVerdict = { runs: false, stays: false };

export class DaemonPlacement {
  readonly #spec: PodSpec;
  readonly #tolerations: readonly Toleration[];

  /** `spec` is that of the template. */
  constructor(spec: PodSpec = {}) {
    this.#spec = spec;
    this.#tolerations = daemonTolerations(spec);
  }

  on(node: PlaceableNode): DaemonVerdict {
    const { nodeName, nodeSelector, affinity } = this.#spec;
    if (nodeName && nodeName !== node.name) return nowhere;
    if (!selectsNode({ nodeSelector, affinity }, node)) return nowhere;
    const averse = node.taints.filter(
      (taint) => taint.effect !== 'PreferNoSchedule' && !tolerates(this.#tolerations, taint),
    );
    return { runs: averse.length === 0, stays: !averse.some(({ effect }) => effect === 'NoExecute') };
  }

  /** Makes a pod of the template one for a node. */
  aim(pod: Pod, nodeName: string): void {
    const spec = (pod.spec ??= {});
    spec.tolerations = [...this.#tolerations];
    spec.affinity = towards(spec.affinity, nodeName);
  }
}

/** The tolerations of a pod that belongs to its node: it stays while the node is unwell, and comes when it is closed. */
export function daemonTolerations({ tolerations = [], hostNetwork }: PodSpec): Toleration[] {
  const own = [
    ...['not-ready', 'unreachable'].map((name) => exists(name, 'NoExecute')),
    ...['disk-pressure', 'memory-pressure', 'pid-pressure', 'unschedulable'].map((name) =>
      exists(name, 'NoSchedule'),
    ),
    ...(hostNetwork ? [exists('network-unavailable', 'NoSchedule')] : []),
  ];
  const isOwn = (one: Toleration): boolean => own.some((other) => isAlike(one, other));
  return [...tolerations.filter((one) => !isOwn(one)), ...own];
}

const exists = (name: string, effect: string): Toleration => ({
  key: prefix + name,
  operator: 'Exists',
  effect,
});

/** Tolerations of the same taints; for how long they tolerate them may differ. */
const isAlike = (a: Toleration, b: Toleration): boolean =>
  a.key === b.key &&
  a.operator === b.operator &&
  a.effect === b.effect &&
  (a.value ?? '') === (b.value ?? '');

/** The wish for a node takes the place of what was asked of nodes: that has been heeded in choosing it. */
function towards(affinity: Affinity | undefined, nodeName: string): Affinity {
  const term: NodeSelectorTerm = { matchFields: [{ key: nameField, operator: 'In', values: [nodeName] }] };
  return {
    ...affinity,
    nodeAffinity: {
      ...affinity?.nodeAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] },
    },
  };
}

/** The node that a pod is on, or is meant for. */
export function targetNode({ nodeName, entry }: IndexedPod): string | undefined {
  if (nodeName) return nodeName;
  const { spec } = entry.peek() as Pod;
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  for (const { matchFields = [] } of required?.nodeSelectorTerms ?? [])
    for (const { key, operator, values = [] } of matchFields)
      if (key === nameField && operator === 'In' && values.length === 1) return values[0];
  return undefined;
}
