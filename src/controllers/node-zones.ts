/**
 * Zones of nodes, and how fast lost nodes of a zone are evicted. The state of a zone is one of:
 *
 * normal    few of its nodes are lost: the usual rate
 * partial   many are lost, so the fault may be on our side: a lower rate in a large zone, no eviction in a small one
 * full      all are lost: the usual rate, because pods can move to other zones
 *
 * When the nodes of all zones are lost, this server is probably cut off from them: nothing is evicted. Rules and
 * figures are those of Kubernetes' node lifecycle controller.
 */
import type { Node } from '../api/generated/types.ts';

/** A zone with fewer lost nodes than this is normal, however small it is. */
const lostMin = 3;
const labelKeys = {
  region: ['topology.kubernetes.io/region', 'failure-domain.beta.kubernetes.io/region'],
  zone: ['topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone'],
};
/** A node with this label does not count in its zone. */
const excludedLabel = 'node.kubernetes.io/exclude-disruption';

export interface EvictionRates {
  /** Nodes per second that are evicted in a zone, unless too many are lost. */
  readonly nodeEvictionRate: number;
  /** The same rate for a large zone where too many are lost. */
  readonly secondaryNodeEvictionRate: number;
  /** The share of lost nodes from which too many are lost. */
  readonly unhealthyZoneThreshold: number;
  /** A zone with more nodes than this is large. */
  readonly largeClusterSizeThreshold: number;
}

type ZoneState = 'normal' | 'partial' | 'full';

interface Zone {
  ready: number;
  lost: number;
  /** When a node of the zone was last evicted. */
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

  /** Whether the state of a zone has changed since the last call. */
  get hasChanged(): boolean {
    const summary = JSON.stringify(this.#states());
    const changed = summary !== this.#summary;
    this.#summary = summary;
    return changed;
  }

  /**
   * Asks to evict a node. Returns 0 when it is allowed, otherwise how long to wait: Infinity while no node of the zone
   * may be evicted.
   */
  take(name: string, nowMs: number): number {
    const member = this.#members.get(name);
    if (!member || this.allLost) return Number.POSITIVE_INFINITY;
    const zone = this.#zones.get(member.zone)!;
    const rate = this.#rateOf(zone);
    if (rate <= 0) return Number.POSITIVE_INFINITY;
    const sinceMs = nowMs - zone.takenAtMs;
    // Ignore a clock that was set back, so that the zone does not wait.
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

  /** The states of zones with at least one node that counts. */
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

/** Region and zone of a node; empty for nodes without these labels, which form one zone. */
function zoneOf({ metadata }: Node): string {
  const of = (keys: readonly string[]): string =>
    keys.map((key) => metadata.labels?.[key]).find((value) => value !== undefined) ?? '';
  const [region, zone] = [of(labelKeys.region), of(labelKeys.zone)];
  return region || zone ? `${region}/${zone}` : '';
}
