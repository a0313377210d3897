/** Topology spread: prefers, or requires, domains with the fewest pods of a group. */
import type { TopologySpreadConstraint } from '../../api/generated/types.ts';
import { type LabelSelector, selectorFromObject } from '../../api/kind/label-selector.ts';
import { optimized } from '../../switches.ts';
import type { ClusterFacts } from './cluster-facts.ts';
import { KinCrowd } from './kin-crowd.ts';
import { selectsNode, tolerates } from './node-affinity.ts';
import { hostnameLabel, type NodeFacts } from './node-facts.ts';
import type { PodFacts } from './pod-facts.ts';

/** Pods of one group: those of one controller, which nodes count, or those that the caller selects. */
export type Kin = { readonly ownerUid: string } | ((pod: PodFacts) => boolean);

/** Number of matching pods in each topology domain. */
class Count {
  readonly places = new Map<string, number>();
  readonly key: string;
  readonly #means: (pod: PodFacts) => boolean;
  /** Whether the new pod matches its own constraint. */
  readonly self: number;

  constructor(
    private readonly pod: PodFacts,
    cluster: ClusterFacts,
    readonly constraint: TopologySpreadConstraint,
    kin?: Kin,
  ) {
    this.key = constraint.topologyKey ?? hostnameLabel;
    const selector = selectorOf(constraint, pod);
    const means = typeof kin === 'function' ? kin : undefined;
    this.#means = means ?? ((other) => other.namespace === pod.namespace && selector.matches(other.labels));
    this.self = this.#means(pod) ? 1 : 0;
    for (const node of cluster.nodes) {
      const place = this.placeOf(node);
      if (place === undefined || !this.#eligible(node)) continue;
      const here = typeof kin === 'object' ? (node.kin.get(kin.ownerUid) ?? 0) : this.#matching(node);
      this.places.set(place, (this.places.get(place) ?? 0) + here);
    }
  }

  #matching(node: NodeFacts): number {
    let sum = 0;
    for (const other of node.pods.values()) if (!other.deleting && this.#means(other)) sum++;
    return sum;
  }

  placeOf(node: NodeFacts): string | undefined {
    if (Object.hasOwn(node.labels, this.key)) return node.labels[this.key];
    return this.key === hostnameLabel ? node.name : undefined;
  }

  #eligible(node: NodeFacts): boolean {
    const { nodeAffinityPolicy = 'Honor', nodeTaintsPolicy = 'Ignore' } = this.constraint;
    if (nodeAffinityPolicy === 'Honor' && !selectsNode(this.pod, node)) return false;
    return (
      nodeTaintsPolicy !== 'Honor' ||
      node.taints.every(
        ({ effect, ...taint }) =>
          effect === 'PreferNoSchedule' || tolerates(this.pod.tolerations, { effect, ...taint }),
      )
    );
  }

  get least(): number {
    if (this.places.size < (this.constraint.minDomains ?? 1)) return 0;
    let least = Number.POSITIVE_INFINITY;
    for (const count of this.places.values()) least = Math.min(least, count);
    return least;
  }
}

function selectorOf(constraint: TopologySpreadConstraint, pod: PodFacts): LabelSelector {
  const { labelSelector, matchLabelKeys = [] } = constraint;
  if (!matchLabelKeys.length)
    return selectorFromObject(labelSelector as Parameters<typeof selectorFromObject>[0]);
  const matchLabels: Record<string, string> = { ...labelSelector?.matchLabels };
  for (const key of matchLabelKeys) if (Object.hasOwn(pod.labels, key)) matchLabels[key] = pod.labels[key]!;
  return selectorFromObject({ ...labelSelector, matchLabels } as Parameters<typeof selectorFromObject>[0]);
}

export class TopologySpread {
  readonly #hard: { count: Count; least: number }[] = [];
  readonly #soft: Count[] = [];
  readonly #kin: KinCrowd | undefined;

  /** `kin` selects the group for a pod without constraints. */
  constructor(pod: PodFacts, cluster: ClusterFacts, kin: Kin | undefined) {
    for (const constraint of pod.spread) {
      const count = new Count(pod, cluster, constraint);
      if (constraint.whenUnsatisfiable === 'ScheduleAnyway') this.#soft.push(count);
      else this.#hard.push({ count, least: count.least });
    }
    if (pod.spread.length > 0 || !kin) return;
    if (optimized && typeof kin === 'object' && !cluster.sharesHosts) this.#kin = new KinCrowd(kin.ownerUid);
    else this.#soft.push(new Count(pod, cluster, { topologyKey: hostnameLabel, maxSkew: 3 }, kin));
  }

  failure(node: NodeFacts): string | undefined {
    for (const { count, least } of this.#hard) {
      const place = count.placeOf(node);
      if (place === undefined)
        return "node(s) didn't match pod topology spread constraints (missing required label)";
      const skew = (count.places.get(place) ?? 0) + count.self - least;
      if (skew > (count.constraint.maxSkew ?? 1))
        return "node(s) didn't match pod topology spread constraints";
    }
    return undefined;
  }

  /** Number of pods of the group in this domain; fewer is better. */
  crowd(node: NodeFacts): number {
    let sum = this.#kin?.on(node) ?? 0;
    for (const count of this.#soft) {
      const place = count.placeOf(node);
      sum += place === undefined ? 0 : (count.places.get(place) ?? 0);
    }
    return sum;
  }
}
