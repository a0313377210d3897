/**
 * The service proxy: follows services and their slices, listens at cluster IPs (where possible), node ports and
 * external IPs of this machine, and forwards connections to an endpoint of the service. It runs in user
 * space, in this process; connections are dialled from the machine's own network.
 */
import type { Socket } from 'node:net';
import type { Service } from '../../api/generated/types.ts';
import type { NamedService, ServiceDirectory } from '../../client/service-directory.ts';
import { wallClock } from '../../clock.ts';
import { dialDoor, dialTcp } from '../../streams/dial/dialing.ts';
import { isEveryAddress, isOwnAddress } from '../machine/machine-address.ts';
import { ClientAffinity } from './affinity.ts';
import type { NodeBridge } from './node-bridge.ts';
import type { NodeZone } from './node-zone.ts';
import { sharedAddress } from './pod-network.ts';
import { type ClusterDoor, clusterDoor, hostDoor, type ServiceDoor } from './service-door.ts';
import { type ListenerContext, ServiceListener } from './service-listener.ts';
import { type ProxyingNode, type ServiceEntry, type ServiceTarget, serviceEntries } from './service-ports.ts';
import { Subnet } from './subnet.ts';
import { join, reset } from './tcp-forward.ts';

/** Maximum concurrent connections through this node. Further ones are reset. */
const connectionsMax = 8_192;
/** Maximum number of listeners; each takes a file descriptor. */
const listenersMax = 4_096;
/** Those that the services of one namespace may have: the others need some, too. */
const listenersOfOneMax = 1_024;
/** Targets tried for one connection: the first may just have gone. */
const triesMax = 3;

/**
 * The one Wherry server on this machine to which the service `kubernetes` may lead; connections to all others are
 * refused.
 */
export interface ApiDoor {
  readonly port: number;
  /**
   * Whether it requires credentials. A server that does not is only reachable at the cluster IP, which only this
   * machine has.
   */
  readonly isSecure: boolean;
}

export interface ServiceProxySettings {
  /** Absent: connections to every Wherry server of this machine are refused. */
  readonly apiDoor?: ApiDoor | undefined;
  /** Started by its owner, not here. */
  readonly directory: ServiceDirectory;
  readonly nodeName: string;
  /** The zone of the node. */
  readonly zone?: NodeZone;
  /** The address of the node. */
  readonly address: string;
  /** Where node ports listen, beside loopback; `0.0.0.0` for all addresses of the machine. */
  readonly nodePortHost: string;
  readonly serviceRange: string;
  /** Already open; cluster IPs are served on it. */
  readonly bridge?: NodeBridge;
  /** Whether pods share the machine's network: then they move with it when the machine gets another address. */
  readonly sharedNetwork: boolean;
  /** Whether a client may connect to a target; absent: it always may. */
  readonly allows?: (client: string, target: ServiceTarget, protocol: string) => boolean;
  /** The current ranges besides `serviceRange`. */
  readonly furtherRanges?: () => readonly Subnet[];
  readonly onError: (error: Error) => void;
  /** Called when a service cannot answer at a port, such as one that another process has. */
  readonly onUnserved?: (service: Service, reason: string) => void;
  readonly now?: () => number;
  /** A number from 0 to below 1, like Math.random. */
  readonly random?: () => number;
}

export class ServiceProxy {
  readonly #listeners = new Map<string, Map<string, ServiceListener>>();
  readonly #affinities = new Map<string, ClientAffinity>();
  readonly #connections = new Set<Socket>();
  readonly #cluster: ClusterDoor;
  readonly #range: Subnet;
  readonly #context: ListenerContext;
  readonly #node: ProxyingNode;
  readonly #now: () => number;
  readonly #random: () => number;
  #count = 0;
  /** Listeners by namespace. */
  readonly #counts = new Map<string, number>();
  #closed = false;

  constructor(private readonly options: ServiceProxySettings) {
    const { serviceRange, bridge, onError } = options;
    const range = Subnet.parse(serviceRange);
    if (!range) throw new Error(`${JSON.stringify(serviceRange)} is no IPv4 range`);
    this.#range = range;
    this.#cluster = clusterDoor(range, bridge);
    this.#now = options.now ?? wallClock;
    const { nodeName, address, zone } = options;
    this.#node = {
      ...{ nodeName, address },
      get zone() {
        return zone?.name;
      },
    };
    this.#random = options.random ?? Math.random;
    this.#context = {
      addresses: (entry) => this.#addresses(entry),
      door: (entry) => this.#door(entry),
      serve: (client, entry) => void this.#serve(client, entry),
      choose: (client, entry) => this.#choose(client, entry, this.#allowed(client, entry)),
      failed: ({ service }, { message }) => service && options.onUnserved?.(service, message),
      onError,
    };
  }

  /** A sentence about which clients reach cluster IPs here. */
  describe(): string {
    return this.#cluster.words;
  }

  /** Resolves when every service listens or has failed to. */
  async start(): Promise<void> {
    const { directory } = this.options;
    directory.onChange((changed) => this.#refresh(changed));
    this.options.zone?.onChange(() => this.refreshAll());
    this.refreshAll();
    await this.settled();
  }

  async settled(): Promise<void> {
    await Promise.all(
      [...this.#listeners.values()].flatMap((map) => [...map.values()].map((one) => one.settled())),
    );
  }

  async close(): Promise<void> {
    this.#closed = true;
    const listeners = [...this.#listeners.values()].flatMap((map) => [...map.values()]);
    this.#listeners.clear();
    await Promise.all(listeners.map((listener) => listener.close()));
    for (const connection of this.#connections) reset(connection);
  }

  /** Called when the ranges have changed. */
  refreshAll(): void {
    for (const { metadata } of this.options.directory.services())
      this.#refresh({ namespace: metadata.namespace ?? '', name: metadata.name ?? '' });
  }

  #refresh({ namespace, name }: NamedService): void {
    if (this.#closed) return;
    const { directory, onError } = this.options;
    const key = `${namespace}/${name}`;
    const service = directory.service(namespace, name);
    const entries = service ? serviceEntries(service, directory.slices(namespace, name), this.#node) : [];
    const before = this.#listeners.get(key) ?? new Map<string, ServiceListener>();
    const after = new Map<string, ServiceListener>();
    for (const entry of entries) {
      const known = before.get(entry.key);
      before.delete(entry.key);
      known?.update(entry);
      const listener = known ?? this.#listener(entry, namespace);
      if (listener) after.set(entry.key, listener);
    }
    for (const gone of before.values()) {
      this.#counted(namespace, -1);
      gone.close().catch(onError);
    }
    if (after.size) this.#listeners.set(key, after);
    else this.#listeners.delete(key);
    this.#forgetClients(key, entries);
  }

  #counted(namespace: string, change: 1 | -1): void {
    this.#count += change;
    const count = (this.#counts.get(namespace) ?? 0) + change;
    if (count > 0) this.#counts.set(namespace, count);
    else this.#counts.delete(namespace);
  }

  #listener(entry: ServiceEntry, namespace: string): ServiceListener | undefined {
    const { entrance, ip, subject } = entry;
    const refuse = (why: string): void => this.options.onError(new Error(`${subject} ${why}`));
    if (this.#count >= listenersMax) {
      refuse(`cannot answer: ${listenersMax} ports do already`);
      return undefined;
    }
    if ((this.#counts.get(namespace) ?? 0) >= listenersOfOneMax) {
      refuse(`cannot answer: ${listenersOfOneMax} ports of its namespace do already`);
      return undefined;
    }
    if (entrance === 'cluster' && this.#cluster.door && !this.#isServed(ip!))
      refuse(`does not answer at ${ip}: it is not in ${this.#range.text}`);
    this.#counted(namespace, 1);
    return new ServiceListener(entry, this.#context);
  }

  /** Drops the affinity tables of ports that are gone or no longer want affinity. */
  #forgetClients(service: string, entries: readonly ServiceEntry[]): void {
    const staying = new Set(
      entries.filter(({ affinityMs }) => affinityMs).map(({ affinityKey }) => affinityKey),
    );
    for (const key of this.#affinities.keys())
      if (key.startsWith(`${service}:`) && !staying.has(key)) this.#affinities.delete(key);
  }

  #addresses({ entrance, ip }: ServiceEntry): readonly string[] {
    if (entrance === 'node') return this.#nodePortAddresses;
    if (entrance === 'external') return isOwnAddress(ip!) ? [ip!] : [];
    return this.#cluster.door && this.#isServed(ip!) ? [ip!] : [];
  }

  get #nodePortAddresses(): readonly string[] {
    const { nodePortHost } = this.options;
    return isEveryAddress(nodePortHost) ? [nodePortHost] : [...new Set([nodePortHost, '127.0.0.1'])];
  }

  #isServed(ip: string): boolean {
    const { furtherRanges } = this.options;
    return this.#range.has(ip) || furtherRanges?.().some((range) => range.has(ip)) === true;
  }

  #door({ entrance }: ServiceEntry): ServiceDoor {
    return entrance === 'cluster' ? this.#cluster.door! : hostDoor;
  }

  async #serve(client: Socket, entry: ServiceEntry): Promise<void> {
    client.on('error', () => undefined);
    client.allowHalfOpen = true;
    if (this.#closed || this.#connections.size >= connectionsMax) return reset(client);
    this.#connections.add(client);
    client.once('close', () => this.#connections.delete(client));
    const target = await this.#dial(client.remoteAddress ?? '', entry);
    if (!target || client.destroyed || this.#closed) {
      target?.destroy();
      return reset(client);
    }
    join(client, target);
  }

  async #dial(client: string, entry: ServiceEntry): Promise<Socket | undefined> {
    let left = this.#allowed(client, entry);
    for (let tries = 0; tries < triesMax && !this.#closed; tries++) {
      const target = this.#choose(client, entry, left);
      if (!target) return undefined;
      try {
        const dial = this.#isApiDoor(entry, target) ? dialDoor : dialTcp;
        return await dial([this.#addressOf(target)], target.port);
      } catch {
        left = left.filter((one) => one !== target);
      }
    }
    return undefined;
  }

  #allowed(client: string, { targets, protocol }: ServiceEntry): readonly ServiceTarget[] {
    const { allows } = this.options;
    return allows ? targets.filter((target) => allows(client, target, protocol)) : targets;
  }

  #isApiDoor({ isApi, entrance }: ServiceEntry, { port }: ServiceTarget): boolean {
    const { apiDoor } = this.options;
    return isApi && port === apiDoor?.port && (apiDoor.isSecure || entrance === 'cluster');
  }

  #addressOf({ ip, shared }: ServiceTarget): string {
    return shared && this.options.sharedNetwork ? sharedAddress(ip) : ip;
  }

  #choose(
    client: string,
    { affinityKey, affinityMs }: ServiceEntry,
    targets: readonly ServiceTarget[],
  ): ServiceTarget | undefined {
    const pick = (): ServiceTarget | undefined => targets[Math.floor(this.#random() * targets.length)];
    if (affinityMs === undefined) return pick();
    let affinity = this.#affinities.get(affinityKey);
    if (!affinity) this.#affinities.set(affinityKey, (affinity = new ClientAffinity(this.#now)));
    // Map IPv4-mapped IPv6 addresses to IPv4: it is the same client.
    const name = client.replace(/^::ffff:/, '');
    const target = affinity.find(name, targets) ?? pick();
    if (target) affinity.keep(name, target, affinityMs);
    return target;
  }
}
