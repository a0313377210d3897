/** The scheduler's cache of a node: what it offers, and what the pods on it use of that. */
import type { Node, Taint } from '../../api/generated/types.ts';
import { type HostPort, TakenPorts } from '../../api/rules/shared/taken-ports.ts';
import { type Amounts, amountsOf, type PodFacts } from './pod-facts.ts';

export const hostnameLabel = 'kubernetes.io/hostname';

/** The host that a node is on: its name, unless a label says otherwise. */
export const hostOf = ({ labels, name }: NodeFacts): string =>
  Object.hasOwn(labels, hostnameLabel) ? labels[hostnameLabel]! : name;

export class NodeFacts {
  labels: Readonly<Record<string, string>> = {};
  taints: readonly Taint[] = [];
  unschedulable = false;
  allocatable: Amounts = new Map();
  readonly pods = new Map<string, PodFacts>();
  readonly requested = new Map<string, number>();
  /** Number of non-terminating pods of each controller on this node, by uid. */
  readonly kin = new Map<string, number>();
  cpuForScore = 0;
  memoryForScore = 0;
  readonly #ports = new TakenPorts();
  /** How many pods use each disk: one of them may name tens of thousands. */
  readonly #disks = new Map<string, number>();
  /** Undefined while pods name the node but it does not exist. */
  signature: string | undefined;

  constructor(readonly name: string) {}

  get known(): boolean {
    return this.signature !== undefined;
  }

  /** Updates the node; returns whether anything relevant to scheduling has changed. */
  describe(node: Node | undefined): boolean {
    const before = this.signature;
    this.labels = node?.metadata.labels ?? {};
    this.taints = node?.spec?.taints ?? [];
    this.unschedulable = node?.spec?.unschedulable ?? false;
    const amounts = node?.status?.allocatable ?? node?.status?.capacity;
    this.allocatable = amountsOf(amounts);
    this.signature =
      node && JSON.stringify([this.labels, this.taints.map(taintText), this.unschedulable, amounts]);
    return this.signature !== before;
  }

  add(pod: PodFacts): void {
    this.pods.set(pod.uid, pod);
    this.#ports.add(pod.hostPorts);
    this.#count(pod, 1);
  }

  remove(uid: string): PodFacts | undefined {
    const pod = this.pods.get(uid);
    if (!pod) return undefined;
    this.pods.delete(uid);
    this.#ports.remove(pod.hostPorts);
    this.#count(pod, -1);
    return pod;
  }

  portTaken(wanted: HostPort): boolean {
    return this.#ports.has(wanted);
  }

  diskTaken(disk: string): boolean {
    return this.#disks.has(disk);
  }

  #count(pod: PodFacts, sign: 1 | -1): void {
    for (const [name, amount] of pod.requests)
      this.requested.set(name, (this.requested.get(name) ?? 0) + sign * amount);
    for (const disk of pod.disks) {
      const uses = (this.#disks.get(disk) ?? 0) + sign;
      if (uses) this.#disks.set(disk, uses);
      else this.#disks.delete(disk);
    }
    this.cpuForScore += sign * pod.cpuForScore;
    this.memoryForScore += sign * pod.memoryForScore;
    if (!pod.ownerUid || pod.deleting) return;
    const kin = (this.kin.get(pod.ownerUid) ?? 0) + sign;
    if (kin) this.kin.set(pod.ownerUid, kin);
    else this.kin.delete(pod.ownerUid);
  }
}

const taintText = ({ key, value, effect }: Taint): string => `${key}=${value ?? ''}:${effect}`;
