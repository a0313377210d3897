/**
 * Daemon placement: on which nodes a daemon set wants a pod. The scheduler binds it like any other; node affinity by
 * name directs the pod to its node.
 */
import type {
  Affinity,
  NodeSelectorTerm,
  Pod,
  PodSpec,
  Taint,
  Toleration,
} from '../../api/generated/types.ts';
import { selectsNode, tolerates } from '../scheduling/node-affinity.ts';
import type { IndexedPod } from '../shared/indexed-pod.ts';

const prefix = 'node.kubernetes.io/';
const nameField = 'metadata.name';

/** The relevant parts of a node. */
export interface PlaceableNode {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly Taint[];
}

export interface DaemonVerdict {
  /** Whether the node should have a pod. */
  readonly runs: boolean;
  /** Whether an existing pod may stay. */
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

  /** Directs a pod of the template to a node. */
  aim(pod: Pod, nodeName: string): void {
    const spec = (pod.spec ??= {});
    spec.tolerations = [...this.#tolerations];
    spec.affinity = towards(spec.affinity, nodeName);
  }
}

/** The tolerations of daemon pods: they stay on a node that is not ready, and are created on an unschedulable one. */
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

/** Whether tolerations are for the same taints; tolerationSeconds may differ. */
const isAlike = (a: Toleration, b: Toleration): boolean =>
  a.key === b.key &&
  a.operator === b.operator &&
  a.effect === b.effect &&
  (a.value ?? '') === (b.value ?? '');

/** Replaces the node affinity of the template, which was evaluated when the node was chosen. */
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

/** The node that a pod is on, or is directed to. */
export function targetNode({ nodeName, entry }: IndexedPod): string | undefined {
  if (nodeName) return nodeName;
  const { spec } = entry.peek() as Pod;
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  for (const { matchFields = [] } of required?.nodeSelectorTerms ?? [])
    for (const { key, operator, values = [] } of matchFields)
      if (key === nameField && operator === 'In' && values.length === 1) return values[0];
  return undefined;
}
