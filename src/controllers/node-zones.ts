/**
 * Zones of nodes, and how fast the nodes of each are given up. A node that is not ready is one of:
 *
 *   normal    few nodes of its zone are lost: the usual rate
 *   partial   many are lost, so the fault may be on our side: a lower rate in a large zone, no eviction in a small one
 *   full      all nodes of the zone are lost: the usual rate, because pods can move to other zones
 *
 * When the nodes of all zones are lost, it is likely that this server is cut off from them: nothing is evicted.
 * Rules and figures are those of Kubernetes' node lifecycle controller.
 */
import type { Node } from '../api/generated/types.ts';

/** A zone with fewer lost nodes is normal, however small it is. */
const lostMin = 3;
const labelKeys = {
  region: ['topology.kubernetes.io/region', 'failure-domain.beta.kubernetes.io/region'],
  zone: ['topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone'],
};
/** A node with this label does not count in its zone. */
const excludedLabel = 'node.kubernetes.io/exclude-disruption';

export interface EvictionRates {
  /** Nodes per second that are given up in a zone, unless too many are lost. */
  readonly nodeEvictionRate: number;
  /** The same where too many are lost, in a large zone. */
  readonly secondaryNodeEvictionRate: number;
  /** The share of lost nodes from which on too many are lost. */
  readonly unhealthyZoneThreshold: number;
  /** A zone with more nodes is large. */
  readonly largeClusterSizeThreshold: number;
}

type ZoneState = 'normal' | 'partial' | 'full';

interface Zone {
  ready: number;
  lost: number;
  /** When a node of it was last given up. */
  takenAtMs: number;
}

interface Member {
  readonly zone: string;
  readonly isReady: boolean;
  readonly counts: boolean;
}

export class NodeZones {
  readonly #members = new Map<string, Member>();
  readonly #zones = new Map<string, Zone>();
  #summary = '';

  constructor(private readonly rates: EvictionRates) {}

  set(node: Node): void {
    const name = node.metadata.name!;
    this.#count(name, -1);
    this.#members.set(name, {
      zone: zoneOf(node),
      isReady:
        node.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true,
      counts: node.metadata.labels?.[excludedLabel] === undefined,
    });
    this.#count(name, 1);
  }

  remove(name: string): void {
    this.#count(name, -1);
    this.#members.delete(name);
  }

  /** Whether the nodes of all zones are lost. */
  get allLost(): boolean {
    const states = this.#states();
    return states.length > 0 && states.every(([, state]) => state === 'full');
  }

  /** Whether the state of a zone is another than when this was last asked. */
  get hasChanged(): boolean {
    const summary = JSON.stringify(this.#states());
    const changed = summary !== this.#summary;
    this.#summary = summary;
    return changed;
  }

  /**
   * Takes the right to give up a node. Returns 0 when it is granted, else how long to wait: for ever as long as no node
   * of the zone may be given up.
   */
  take(name: string, nowMs: number): number {
    const member = this.#members.get(name);
    if (!member || this.allLost) return Number.POSITIVE_INFINITY;
    const zone = this.#zones.get(member.zone)!;
    const rate = this.#rateOf(zone);
    if (rate <= 0) return Number.POSITIVE_INFINITY;
    const sinceMs = nowMs - zone.takenAtMs;
    // A clock that was set back must not keep the zone waiting.
    if (sinceMs >= 0 && sinceMs < 1000 / rate) return 1000 / rate - sinceMs;
    zone.takenAtMs = nowMs;
    return 0;
  }

  #rateOf(zone: Zone): number {
    const { nodeEvictionRate, secondaryNodeEvictionRate, largeClusterSizeThreshold } = this.rates;
    if (this.#stateOf(zone) !== 'partial') return nodeEvictionRate;
    return zone.ready + zone.lost > largeClusterSizeThreshold ? secondaryNodeEvictionRate : 0;
  }

  #stateOf({ ready, lost }: Zone): ZoneState {
    if (ready === 0 && lost > 0) return 'full';
    const share = lost / (ready + lost);
    return lost >= lostMin && share >= this.rates.unhealthyZoneThreshold ? 'partial' : 'normal';
  }

  /** The states of zones that have nodes which count. */
  #states(): [zone: string, state: ZoneState][] {
    return [...this.#zones]
      .filter(([, { ready, lost }]) => ready + lost > 0)
      .map(([name, zone]) => [name, this.#stateOf(zone)]);
  }

  #count(name: string, by: 1 | -1): void {
    const member = this.#members.get(name);
    if (!member) return;
    const zone = this.#zones.get(member.zone) ?? { ready: 0, lost: 0, takenAtMs: Number.NEGATIVE_INFINITY };
    this.#zones.set(member.zone, zone);
    if (member.counts) zone[member.isReady ? 'ready' : 'lost'] += by;
  }
}

/** The zone with its region; empty for nodes without these labels, which are one zone. */
function zoneOf({ metadata }: Node): string {
  const of = (keys: readonly string[]): string =>
    keys.map((key) => metadata.labels?.[key]).find((value) => value !== undefined) ?? '';
  const [region, zone] = [of(labelKeys.region), of(labelKeys.zone)];
  return region || zone ? `${region}/${zone}` : '';
}
