/**
 * Pod affinity: which topology domains (a node, a zone) hold pods that the new pod wants to be with, or that want it
 * to stay away. Computed once per pod to be scheduled, then used for every node.
 */
import type { PodAffinityTerm } from '../../api/generated/types.ts';
import { type LabelSelector, selectorFromObject } from '../../api/kind/label-selector.ts';
import { Memo } from '../../memo.ts';
import type { ClusterFacts } from './cluster-facts.ts';
import type { NodeFacts } from './node-facts.ts';
import type { PodFacts } from './pod-facts.ts';

/** Labels of a namespace, for terms with a namespaceSelector. */
export type NamespaceLabels = (namespace: string) => Readonly<Record<string, string>>;

export type AffinityFailure =
  | "node(s) didn't match pod affinity rules"
  | "node(s) didn't match pod anti-affinity rules"
  | "node(s) didn't satisfy existing pods anti-affinity rules";

/** A compiled term, which tests whether it selects a pod. */
class Term {
  readonly topologyKey: string;
  readonly #selector: LabelSelector;
  /** Undefined: that of the pod which has the term. */
  readonly #namespaces: ReadonlySet<string> | undefined;
  readonly #namespaceSelector: LabelSelector | undefined;

  constructor(term: PodAffinityTerm) {
    this.topologyKey = term.topologyKey ?? '';
    this.#selector = selectorFromObject(term.labelSelector as Parameters<typeof selectorFromObject>[0]);
    this.#namespaceSelector = term.namespaceSelector
      ? selectorFromObject(term.namespaceSelector as Parameters<typeof selectorFromObject>[0])
      : undefined;
    const named = term.namespaces ?? [];
    this.#namespaces = named.length || this.#namespaceSelector ? new Set(named) : undefined;
  }

  means(owner: PodFacts, { namespace, labels }: PodFacts, labelsOf: NamespaceLabels): boolean {
    const here =
      (this.#namespaces ? this.#namespaces.has(namespace) : namespace === owner.namespace) ||
      (this.#namespaceSelector?.matches(labelsOf(namespace)) ?? false);
    return here && this.#selector.matches(labels);
  }
}

/** Terms of placed pods are asked about every pod that is scheduled; a tenant may make them long. */
const terms = new Memo((term: PodAffinityTerm) => new Term(term));

const placeOf = (node: NodeFacts, key: string): string | undefined =>
  Object.hasOwn(node.labels, key) ? `${key}=${node.labels[key]}` : undefined;

export class PodAffinity {
  readonly #wanted: { term: Term; places: Set<string> }[] = [];
  readonly #unwanted: { term: Term; places: Set<string> }[] = [];
  /** Domains with a pod whose anti-affinity selects the new one. */
  readonly #closed = new Set<string>();
  readonly #liking = new Map<string, number>();
  /** No pod matches yet, but the pod matches its own term: the first of a group may go anywhere. */
  readonly #firstOfItsKind: boolean;

  /** Undefined when there are no terms at all. */
  static of(pod: PodFacts, cluster: ClusterFacts, labelsOf: NamespaceLabels): PodAffinity | undefined {
    const own = pod.affinity?.podAffinity ?? pod.affinity?.podAntiAffinity;
    return own || cluster.choosy.size > 0 ? new PodAffinity(pod, cluster, labelsOf) : undefined;
  }

  private constructor(
    pod: PodFacts,
    cluster: ClusterFacts,
    private readonly labelsOf: NamespaceLabels,
  ) {
    const { podAffinity, podAntiAffinity } = pod.affinity ?? {};
    for (const term of podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [])
      this.#wanted.push({ term: terms.of(term), places: new Set() });
    for (const term of podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [])
      this.#unwanted.push({ term: terms.of(term), places: new Set() });
    const preferred = [
      ...(podAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((one) => ({
        ...one,
        sign: 1,
      })),
      ...(podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map((one) => ({
        ...one,
        sign: -1,
      })),
    ].map(({ podAffinityTerm, weight, sign }) => ({
      term: terms.of(podAffinityTerm ?? {}),
      weight: sign * (weight ?? 0),
    }));
    if (this.#wanted.length + this.#unwanted.length + preferred.length > 0)
      for (const node of cluster.nodes)
        for (const other of node.pods.values()) {
          if (other.deleting && other.finished) continue;
          for (const { term, places } of [...this.#wanted, ...this.#unwanted])
            if (term.means(pod, other, labelsOf)) this.#mark(places, node, term.topologyKey);
          for (const { term, weight } of preferred)
            if (term.means(pod, other, labelsOf)) this.#like(node, term.topologyKey, weight);
        }
    for (const other of cluster.choosy.values()) this.#hear(other, pod, cluster);
    this.#firstOfItsKind =
      this.#wanted.length > 0 &&
      this.#wanted.every(({ places }) => places.size === 0) &&
      this.#wanted.every(({ term }) => term.means(pod, pod, labelsOf));
  }

  /** Adds the terms of a placed pod that select the new one. */
  #hear(other: PodFacts, pod: PodFacts, cluster: ClusterFacts): void {
    const node = cluster.nodeOf(other.uid)!;
    const { podAffinity, podAntiAffinity } = other.affinity!;
    for (const term of podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []) {
      const one = terms.of(term);
      if (one.means(other, pod, this.labelsOf)) this.#mark(this.#closed, node, one.topologyKey);
    }
    for (const {
      podAffinityTerm,
      weight,
    } of podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []) {
      const one = terms.of(podAffinityTerm ?? {});
      if (one.means(other, pod, this.labelsOf)) this.#like(node, one.topologyKey, -(weight ?? 0));
    }
    for (const { podAffinityTerm, weight } of podAffinity?.preferredDuringSchedulingIgnoredDuringExecution ??
      []) {
      const one = terms.of(podAffinityTerm ?? {});
      if (one.means(other, pod, this.labelsOf)) this.#like(node, one.topologyKey, weight ?? 0);
    }
  }

  #mark(places: Set<string>, node: NodeFacts, key: string): void {
    const place = placeOf(node, key);
    if (place !== undefined) places.add(place);
  }

  #like(node: NodeFacts, key: string, weight: number): void {
    const place = placeOf(node, key);
    if (place !== undefined) this.#liking.set(place, (this.#liking.get(place) ?? 0) + weight);
  }

  failure(node: NodeFacts): AffinityFailure | undefined {
    for (const { term, places } of this.#wanted) {
      const place = placeOf(node, term.topologyKey);
      if (place === undefined || !(places.has(place) || this.#firstOfItsKind))
        return "node(s) didn't match pod affinity rules";
    }
    for (const { term, places } of this.#unwanted) {
      const place = placeOf(node, term.topologyKey);
      if (place !== undefined && places.has(place)) return "node(s) didn't match pod anti-affinity rules";
    }
    if (this.#closed.size)
      for (const [key, value] of Object.entries(node.labels))
        if (this.#closed.has(`${key}=${value}`))
          return "node(s) didn't satisfy existing pods anti-affinity rules";
    return undefined;
  }

  preference(node: NodeFacts): number {
    if (this.#liking.size === 0) return 0;
    let sum = 0;
    for (const [key, value] of Object.entries(node.labels)) sum += this.#liking.get(`${key}=${value}`) ?? 0;
    return sum;
  }
}
