/**
 * The registration of a node: its Node object, the status in it, and the lease that proves the node is alive.
 * The status is written when it changes and every few minutes; the small lease is renewed every few seconds.
 *
 * Taints are left to the node lifecycle controller, which removes the one that a new node starts with.
 */
import { lookup } from 'node:dns/promises';
import { isDeepStrictEqual } from 'node:util';
import { StatusError } from '../../api/errors/errors.ts';
import type {
  Lease,
  Node,
  NodeAddress,
  NodeCondition,
  NodeStatus,
  OwnerReference,
  Taint,
} from '../../api/generated/types.ts';
import { isExtendedResource } from '../../api/rules/shared/resource-name.ts';
import type { ResourceList } from '../../api/values/resource-list.ts';
import { formatMicroTime, formatTime } from '../../api/values/time.ts';
import type { Client } from '../../client/client.ts';
import { isUnserved } from '../../client/refusal.ts';
import { csiNodes, leases, nodes } from '../../client/resources.ts';
import type { Timer, Timers } from '../../timers.ts';
import {
  goArch,
  goOs,
  machineCapacity,
  machineInfo,
  machinePressure,
  noPressure,
  type Pressure,
} from '../machine/machine.ts';
import { statusPatch } from '../pods/status-patch.ts';
import type { NodeVersion } from './node-version.ts';

const leaseNamespace = 'kube-node-lease';
const leaseSeconds = 40;
const retryFirstMs = 100;
const retryMaxMs = 7_000;
/** Time limit for the last status write (`NodeNotReady`) of a closing agent. */
const farewellMaxMs = 2_000;
/** After this many missed renewals the agent reads its Node object, at this renewal and the next: it may have been marked unreachable. */
const missedRenewals = 2;
/** Share of its interval by which a heartbeat may be late when a test moves the clock, so that none is missed. */
const heartbeatSlack = 0.5;
/** Features of this kubelet that the API server may use. */
const declaredFeatures = ['ExtendWebSocketsToKubelet', 'PodPortsThroughKubelet'];

export interface HeartbeatTimes {
  /** Interval between lease renewals. */
  readonly leaseMs: number;
  /** Interval between checks of the machine's condition; a change is written at once. */
  readonly lookMs: number;
  /** Interval between status writes when nothing has changed. */
  readonly statusMs: number;
}

export const defaultHeartbeat: HeartbeatTimes = { leaseMs: 10_000, lookMs: 10_000, statusMs: 300_000 };

export interface RegistrationOptions {
  readonly nodeName: string;
  readonly version: NodeVersion;
  readonly client: Client;
  /** The file system it is on counts as the node's disk. */
  readonly folder: string;
  readonly address: string;
  /** Reported as an address as well, if it resolves to `address`. */
  readonly hostname?: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Further features of this node. */
  readonly features: readonly string[];
  /** Overrides of the machine's own capacity. */
  readonly capacity: Readonly<Record<string, string>>;
  /** Taints of a node that is made; one that exists keeps its own. */
  readonly taints: readonly Taint[];
  readonly maxPods: number;
  readonly kubeletPort: number;
  /** What runs its pods: `containerd://2.1.4`. */
  readonly runtimeVersion: string;
  /** Whether its pods are simulated. */
  readonly simulated: boolean;
  readonly heartbeat: HeartbeatTimes;
  readonly now: () => number;
  readonly timers: Timers;
  /** Called with the event reason of each changed condition: `NodeReady`, `NodeHasSufficientMemory`, … */
  readonly tell: (reason: string) => void;
  readonly onError: (error: Error) => void;
}

type Fixed = Omit<NodeStatus, 'conditions'>;

interface NodeResources {
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
  /** Whether the allocatable extended resources have to be written. */
  readonly changed: boolean;
}

export class NodeRegistration {
  #node: Node;
  #fixed: Fixed = {};
  #writtenAtMs = 0;
  #renewedAtMs: number | undefined;
  /** How many of the next renewals also read the Node object. */
  #doubts = 0;
  #readiness: Readiness = {
    status: 'True',
    reason: 'KubeletReady',
    message: 'kubelet is posting ready status',
  };
  #leaseTimer: Timer | undefined;
  #statusTimer: Timer | undefined;
  #retryTimer: NodeJS.Timeout | undefined;
  #wake: (() => void) | undefined;
  #beating: Promise<void> = Promise.resolve();
  #looking: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(private readonly options: RegistrationOptions) {
    this.#node = { metadata: { name: options.nodeName } };
  }

  /** The Node object as last read or written. */
  get node(): Node {
    return this.#node;
  }

  /** The resources pods may use. */
  get allocatable(): Record<string, string> {
    return this.#resources(this.#node.status).allocatable;
  }

  /** Resolves when the node is registered; retries with back-off until the API server answers. */
  async start(): Promise<void> {
    this.#fixed = await this.#describe();
    let retryMs = retryFirstMs;
    while (!this.#closed) {
      try {
        await this.#register();
        break;
      } catch (error) {
        this.options.onError(error as Error);
        await this.#pause(retryMs);
        retryMs = Math.min(retryMs * 2, retryMaxMs);
      }
    }
    if (this.#closed) return;
    await this.#renew();
    if (!this.options.simulated) await this.#makeCsiNode();
    const { timers, heartbeat } = this.options;
    const { leaseMs, lookMs } = heartbeat;
    const slackMs = leaseMs * heartbeatSlack;
    const beat = (): void => {
      this.#beating = this.#renew();
      this.#leaseTimer = timers.set(beat, leaseMs, slackMs);
    };
    // Spread the renewals of agents that start together.
    this.#leaseTimer = timers.set(beat, leaseMs * shareOf(this.options.nodeName), slackMs);
    const look = (): void => {
      this.#looking = this.#look();
      this.#statusTimer = timers.set(look, lookMs, lookMs * heartbeatSlack);
    };
    this.#statusTimer = timers.set(look, lookMs, lookMs * heartbeatSlack);
  }

  /** Ends the heartbeat and, unless `silently`, reports the node as not ready. */
  async close(silently = false): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.options.timers.clear(this.#leaseTimer);
    this.options.timers.clear(this.#statusTimer);
    clearTimeout(this.#retryTimer);
    this.#wake?.();
    await Promise.all([this.#beating, this.#looking]);
    if (!this.#node.metadata.uid || silently) return;
    this.#readiness = { status: 'False', reason: 'KubeletNotReady', message: 'node is shutting down' };
    let timer: NodeJS.Timeout | undefined;
    const tooLong = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, farewellMaxMs);
    });
    // Ignore errors: the API server is often shut down at the same time.
    const farewell = this.#writeStatus(noPressure).catch(() => undefined);
    await Promise.race([farewell, tooLong]);
    clearTimeout(timer);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.#retryTimer = setTimeout(resolve, ms);
    });
  }

  async #describe(): Promise<Fixed> {
    const { nodeName, folder, maxPods, capacity: wanted } = this.options;
    const { runtimeVersion, simulated, kubeletPort, version } = this.options;
    const capacity = { ...(await machineCapacity(folder, maxPods)), ...wanted };
    const info = await machineInfo(simulated ? nodeName : undefined);
    return {
      capacity,
      allocatable: capacity,
      addresses: await this.#addresses(),
      daemonEndpoints: { kubeletEndpoint: { Port: kubeletPort } },
      nodeInfo: {
        ...info,
        containerRuntimeVersion: runtimeVersion,
        kubeletVersion: version.kubelet,
        kubeProxyVersion: version.kubeProxy,
      },
      ...(version.declaresFeatures
        ? { declaredFeatures: [...declaredFeatures, ...this.options.features].sort() }
        : {}),
    };
  }

  /**
   * The addresses of the node. Its name is among them, because clients of Kubernetes 1.1 look for it. The host name is
   * added only if it resolves to the node's own address: the API server prefers a host name over the IP, so one that
   * does not resolve, or resolves to loopback (common on laptops), would make the node unreachable.
   */
  async #addresses(): Promise<NodeAddress[]> {
    const { address, hostname, simulated } = this.options;
    const own = ['InternalIP', 'LegacyHostIP'].map((type) => ({ type, address }));
    if (!hostname || simulated) return own;
    const resolved = await lookup(hostname, { all: true }).catch(() => []);
    const leadsHere = resolved.length > 0 && resolved.every((one) => one.address === address);
    return leadsHere ? [own[0]!, { type: 'Hostname', address: hostname }, own[1]!] : own;
  }

  async #register(): Promise<void> {
    const { client, nodeName, taints } = this.options;
    const found = await this.#read();
    if (found) return this.#takeOver(found);
    const status = this.#status(await this.#pressure(), undefined);
    this.#node = await client.create(nodes, undefined, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: nodeName, labels: this.#labels(), annotations },
      ...(taints.length ? { spec: { taints: [...taints] } } : {}),
      status,
    });
    this.#writtenAtMs = this.options.now();
    this.#tellConditions([], status.conditions ?? []);
  }

  /** The Node object as it is now; undefined when it was deleted. */
  async #read(): Promise<Node | undefined> {
    const { client, nodeName } = this.options;
    return client.get(nodes, undefined, nodeName).catch((error: unknown) => {
      if (error instanceof StatusError && error.code === 404) return undefined;
      throw error;
    });
  }

  /** Takes over an existing Node object: sets labels, annotations and status. */
  async #takeOver(found: Node): Promise<void> {
    const { client, nodeName } = this.options;
    this.#node = found;
    const { labels, annotations: notes } = found.metadata;
    const lacks = (wanted: Record<string, string>, has: Record<string, string> | undefined): boolean =>
      Object.entries(wanted).some(([key, value]) => has?.[key] !== value);
    if (lacks(this.#labels(), labels) || lacks(annotations, notes))
      this.#node = await client.patch(nodes, undefined, nodeName, {
        metadata: { labels: this.#labels(), annotations },
      });
    await this.#writeStatus(await this.#pressure());
  }

  #labels(): Record<string, string> {
    const { nodeName, labels } = this.options;
    return {
      'beta.kubernetes.io/arch': goArch(),
      'beta.kubernetes.io/os': goOs(),
      'kubernetes.io/arch': goArch(),
      'kubernetes.io/hostname': nodeName,
      'kubernetes.io/os': goOs(),
      ...labels,
    };
  }

  async #pressure(): Promise<Pressure> {
    return this.options.simulated ? noPressure : machinePressure(this.options.folder);
  }

  /** Reads the Node object and corrects its status: the node lifecycle controller may have marked it unreachable. */
  async #look(): Promise<void> {
    try {
      const found = await this.#read();
      // A Node object that was deleted is created again only when an agent starts.
      if (!found || this.#closed) return;
      if (found.metadata.uid !== this.#node.metadata.uid) return await this.#takeOver(found);
      this.#node = found;
      const pressure = await this.#pressure();
      if (this.#closed) return;
      const due = this.options.now() - this.#writtenAtMs >= this.options.heartbeat.statusMs;
      const known = found.status?.conditions ?? [];
      const changed = this.#conditions(pressure, known).some(
        ({ type, status }) => known.find((one) => one.type === type)?.status !== status,
      );
      const stocked = this.#resources(found.status).changed;
      if (due || changed || stocked) await this.#writeStatus(pressure);
    } catch (error) {
      this.#report(error as Error);
    }
  }

  async #writeStatus(pressure: Pressure): Promise<void> {
    const { client, nodeName } = this.options;
    const before = this.#node.status ?? {};
    const status = this.#status(pressure, before);
    const patch = statusPatch(before, { ...before, ...status });
    if (!patch) return;
    const body = { metadata: { uid: this.#node.metadata.uid }, status: patch };
    this.#node = await client.patch(nodes, undefined, nodeName, body, 'strategic', 'status');
    this.#writtenAtMs = this.options.now();
    this.#tellConditions(before.conditions ?? [], status.conditions ?? []);
  }

  #status(pressure: Pressure, before: NodeStatus | undefined): NodeStatus {
    const known = before?.conditions ?? [];
    const own = this.#conditions(pressure, known);
    const others = known.filter(({ type }) => !own.some((one) => one.type === type));
    const { capacity, allocatable } = this.#resources(before);
    return { ...this.#fixed, capacity, allocatable, conditions: [...own, ...others] };
  }

  /**
   * The machine's resources, and the extended resources that other writers have put into the node's capacity: as a
   * kubelet does, keeps them and makes them allocatable.
   */
  #resources(status: NodeStatus | undefined): NodeResources {
    const given = extendedOf(status?.capacity);
    const capacity = { ...given, ...this.#fixed.capacity };
    const allocatable = { ...given, ...this.#fixed.allocatable };
    const changed = !isDeepStrictEqual(given, extendedOf(status?.allocatable));
    return { capacity, allocatable, changed };
  }

  #conditions(pressure: Pressure, known: readonly NodeCondition[]): NodeCondition[] {
    const now = formatTime(this.options.now());
    return conditionsOf(pressure, this.#readiness).map((condition) => {
      const before = known.find(({ type }) => type === condition.type);
      const since = before?.status === condition.status ? before?.lastTransitionTime : undefined;
      return { ...condition, lastHeartbeatTime: now, lastTransitionTime: since ?? now };
    });
  }

  #tellConditions(before: readonly NodeCondition[], after: readonly NodeCondition[]): void {
    for (const { type, status, reason = '' } of after) {
      if (before.find((one) => one.type === type)?.status === status) continue;
      const told = eventReasons[reason];
      if (told) this.options.tell(told);
    }
  }

  /** Renews the lease; creates it if it does not exist. */
  async #renew(): Promise<void> {
    const { client, nodeName, now } = this.options;
    const spec = {
      holderIdentity: nodeName,
      leaseDurationSeconds: leaseSeconds,
      renewTime: formatMicroTime(now()),
    };
    try {
      try {
        await client.patch(leases, leaseNamespace, nodeName, { spec });
      } catch (error) {
        if (!(error instanceof StatusError && error.code === 404)) throw error;
        await this.#makeLease(spec);
      }
      await this.#renewed();
    } catch (error) {
      if (isUnserved(error)) await this.#beatByStatus();
      else this.#report(error as Error);
    }
  }

  /** Writes the status as a heartbeat, each time: for servers without leases, as in Kubernetes 1.1. */
  #beatByStatus(): Promise<void> {
    this.#writtenAtMs = 0;
    return this.#look();
  }

  /**
   * Creates the lease only while its Node exists: the garbage collector would delete the lease of a missing
   * owner, and the next renewal would create it again, in an endless loop.
   */
  async #makeLease(spec: Lease['spec']): Promise<void> {
    const { client, nodeName } = this.options;
    const found = await this.#read();
    if (!found || this.#closed) return;
    if (found.metadata.uid !== this.#node.metadata.uid) await this.#takeOver(found);
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: nodeName, namespace: leaseNamespace, ownerReferences: [this.#owner()] },
      spec,
    };
    await client.create(leases, leaseNamespace, lease).catch((error: unknown) => {
      // A slow earlier renewal has created it in the meantime.
      if (!(error instanceof StatusError && error.code === 409)) throw error;
    });
  }

  /** Storage drivers register themselves in this object. This node has no drivers, so it stays empty. */
  async #makeCsiNode(): Promise<void> {
    const { client, nodeName } = this.options;
    const csiNode = {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'CSINode',
      metadata: { name: nodeName, ownerReferences: [this.#owner()] },
      spec: { drivers: [] },
    };
    await client.create(csiNodes, undefined, csiNode).catch((error: unknown) => {
      // It exists already, or the server does not have such objects.
      const isExpected = error instanceof StatusError && (error.code === 409 || error.code === 404);
      if (!isExpected) this.#report(error as Error);
    });
  }

  #owner(): OwnerReference {
    const { name, uid } = this.#node.metadata;
    return { apiVersion: 'v1', kind: 'Node', name, uid };
  }

  /** After a gap in renewals, reads the Node object: it may have been marked unreachable and needs correcting. */
  async #renewed(): Promise<void> {
    const { now, heartbeat } = this.options;
    const silentMs = now() - (this.#renewedAtMs ?? now());
    this.#renewedAtMs = now();
    // Check at two renewals: the controller's write may arrive only after the first.
    if (silentMs >= missedRenewals * heartbeat.leaseMs) this.#doubts = 2;
    if (this.#doubts === 0 || this.#closed) return;
    this.#doubts--;
    await this.#look();
  }

  #report(error: Error): void {
    if (!this.#closed) this.options.onError(error);
  }
}

/** Hashes a name to a share between 0 and 1. Similar names get unrelated shares. */
export function shareOf(name: string): number {
  let hash = 0x811c9dc5;
  for (const character of name) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}

const extendedOf = (list: ResourceList = {}): ResourceList =>
  Object.fromEntries(Object.entries(list).filter(([name]) => isExtendedResource(name)));

const annotations = { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' };

interface Readiness {
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

function conditionsOf({ memory, disk, pid }: Pressure, readiness: Readiness): NodeCondition[] {
  return [
    memory
      ? bad('MemoryPressure', 'KubeletHasInsufficientMemory', 'kubelet has insufficient memory available')
      : good('MemoryPressure', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'),
    disk
      ? bad('DiskPressure', 'KubeletHasDiskPressure', 'kubelet has disk pressure')
      : good('DiskPressure', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'),
    pid
      ? bad('PIDPressure', 'KubeletHasInsufficientPID', 'kubelet has insufficient PID available')
      : good('PIDPressure', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'),
    { type: 'Ready', ...readiness },
  ];
}

const good = (type: string, reason: string, message: string) => ({ type, status: 'False', reason, message });
const bad = (type: string, reason: string, message: string) => ({ type, status: 'True', reason, message });

/** The event reasons for each condition and status. */
const eventReasons: Partial<Record<string, string>> = {
  KubeletHasSufficientMemory: 'NodeHasSufficientMemory',
  KubeletHasInsufficientMemory: 'NodeHasInsufficientMemory',
  KubeletHasNoDiskPressure: 'NodeHasNoDiskPressure',
  KubeletHasDiskPressure: 'NodeHasDiskPressure',
  KubeletHasSufficientPID: 'NodeHasSufficientPID',
  KubeletHasInsufficientPID: 'NodeHasInsufficientPID',
  KubeletReady: 'NodeReady',
  KubeletNotReady: 'NodeNotReady',
};
