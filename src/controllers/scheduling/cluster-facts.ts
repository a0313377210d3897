/** The scheduler's cache: nodes, the pods on them, and which of these have affinity rules. */
import type { Node } from '../../api/generated/types.ts';
import { hostOf, NodeFacts } from './node-facts.ts';
import type { PodFacts } from './pod-facts.ts';

export class ClusterFacts {
  readonly #nodes = new Map<string, NodeFacts>();
  readonly #placed = new Map<string, string>();
  /** Placed pods with affinity or anti-affinity terms, by uid. */
  readonly choosy = new Map<string, PodFacts>();
  #known: readonly NodeFacts[] | undefined;
  #sharesHosts: boolean | undefined;

  /** Existing nodes, in a stable order. */
  get nodes(): readonly NodeFacts[] {
    this.#known ??= [...this.#nodes.values()].filter((node) => node.known);
    return this.#known;
  }

  /** Whether two nodes are on the same host, as their labels say. */
  get sharesHosts(): boolean {
    this.#sharesHosts ??= new Set(this.nodes.map(hostOf)).size < this.nodes.length;
    return this.#sharesHosts;
  }

  /** Whether anything relevant has changed. */
  describeNode(name: string, node: Node | undefined): boolean {
    const facts = this.#nodeFor(name);
    const changed = facts.describe(node);
    if (!facts.known && facts.pods.size === 0) this.#nodes.delete(name);
    if (changed) {
      this.#known = undefined;
      this.#sharesHosts = undefined;
    }
    return changed;
  }

  /** Puts a pod on a node, or updates it there. */
  place(pod: PodFacts, nodeName: string): void {
    this.displace(pod.uid);
    this.#nodeFor(nodeName).add(pod);
    this.#placed.set(pod.uid, nodeName);
    if (pod.affinity?.podAntiAffinity || pod.affinity?.podAffinity) this.choosy.set(pod.uid, pod);
  }

  /** Whether the pod was on a node. */
  displace(uid: string): boolean {
    const nodeName = this.#placed.get(uid);
    if (nodeName === undefined) return false;
    this.#placed.delete(uid);
    this.choosy.delete(uid);
    const node = this.#nodes.get(nodeName)!;
    node.remove(uid);
    if (!node.known && node.pods.size === 0) this.#nodes.delete(nodeName);
    return true;
  }

  nodeOf(uid: string): NodeFacts | undefined {
    const name = this.#placed.get(uid);
    return name === undefined ? undefined : this.#nodes.get(name);
  }

  /** A node that exists. */
  node(name: string): NodeFacts | undefined {
    const facts = this.#nodes.get(name);
    return facts?.known ? facts : undefined;
  }

  #nodeFor(name: string): NodeFacts {
    let facts = this.#nodes.get(name);
    if (!facts) this.#nodes.set(name, (facts = new NodeFacts(name)));
    return facts;
  }
}
