/**
 * The service proxy: lets services answer. It follows services and endpoints, listens at cluster IPs (where that is
 * possible), node ports and external IPs of this machine, and passes what comes to one who answers for the service.
 * All of it happens in this process; connections are dialled from the machine's own network.
 */
import type { Socket } from 'node:net';
import type { NamedService, ServiceDirectory } from '../../client/servicedirectory.ts';
import { wallClock } from '../../clock.ts';
import { dialTcp } from '../../streams/dialing.ts';
import { ClientAffinity } from './affinity.ts';
import type { NodeBridge } from './nodebridge.ts';
import { type ClusterDoor, clusterDoor, hostDoor, isOwnAddress, type ServiceDoor } from './servicedoor.ts';
import { type ListenerContext, ServiceListener } from './servicelistener.ts';
import { type ServiceEntry, type ServiceTarget, serviceEntries } from './serviceports.ts';
import { Subnet } from './subnet.ts';
import { join, reset } from './tcpforward.ts';

/** Connections through this node at one time. Beyond that they are reset. */
const connectionsMax = 8_192;
/** Each takes a descriptor. */
const listenersMax = 4_096;
/** Targets that are tried for one connection: the first may have gone just now. */
const triesMax = 3;

export interface ServiceProxySettings {
  /** Its owner starts it. */
  readonly directory: ServiceDirectory;
  readonly nodeName: string;
  /** The address of the node, where node ports answer. */
  readonly address: string;
  readonly serviceRange: string;
  /** Opened already; cluster IPs are on it. */
  readonly bridge?: NodeBridge;
  /** Whether pods have the machine's network: then those that wait at its loopback address alone are found, too. */
  readonly sharedNetwork: boolean;
  readonly onError: (error: Error) => void;
  readonly now?: () => number;
  /** From 0 to below 1. */
  readonly random?: () => number;
}

export class ServiceProxy {
  readonly #listeners = new Map<string, Map<string, ServiceListener>>();
  readonly #affinities = new Map<string, ClientAffinity>();
  readonly #connections = new Set<Socket>();
  readonly #cluster: ClusterDoor;
  readonly #range: Subnet;
  readonly #context: ListenerContext;
  readonly #now: () => number;
  readonly #random: () => number;
  #count = 0;
  #closed = false;

  constructor(private readonly options: ServiceProxySettings) {
    const { serviceRange, bridge, onError } = options;
    const range = Subnet.parse(serviceRange);
    if (!range) throw new Error(`${JSON.stringify(serviceRange)} is no IPv4 range`);
    this.#range = range;
    this.#cluster = clusterDoor(range, bridge);
    this.#now = options.now ?? wallClock;
    this.#random = options.random ?? Math.random;
    this.#context = {
      addresses: (entry) => this.#addresses(entry),
      door: (entry) => this.#door(entry),
      serve: (client, entry) => void this.#serve(client, entry),
      choose: (client, entry) => this.#choose(client, entry, entry.targets),
      onError,
    };
  }

  /** Who gets to cluster IPs here. */
  describe(): string {
    return this.#cluster.words;
  }

  /** Resolves when all services answer that can. */
  async start(): Promise<void> {
    const { directory } = this.options;
    directory.onChange((changed) => this.#refresh(changed));
    for (const { metadata } of directory.services())
      this.#refresh({ namespace: metadata.namespace ?? '', name: metadata.name ?? '' });
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

  #refresh({ namespace, name }: NamedService): void {
    if (this.#closed) return;
    const { directory, nodeName, address, onError } = this.options;
    const key = `${namespace}/${name}`;
    const service = directory.service(namespace, name);
    const entries = service
      ? serviceEntries(service, directory.endpoints(namespace, name), { nodeName, address })
      : [];
    const before = this.#listeners.get(key) ?? new Map<string, ServiceListener>();
    const after = new Map<string, ServiceListener>();
    for (const entry of entries) {
      const known = before.get(entry.key);
      before.delete(entry.key);
      known?.update(entry);
      const listener = known ?? this.#listener(entry);
      if (listener) after.set(entry.key, listener);
    }
    for (const gone of before.values()) {
      this.#count--;
      gone.close().catch(onError);
    }
    if (after.size) this.#listeners.set(key, after);
    else this.#listeners.delete(key);
    this.#forgetClients(key, entries);
  }

  #listener(entry: ServiceEntry): ServiceListener | undefined {
    const { entrance, ip, subject } = entry;
    const refuse = (why: string): void => this.options.onError(new Error(`${subject} ${why}`));
    if (this.#count >= listenersMax) {
      refuse(`cannot answer: ${listenersMax} ports do already`);
      return undefined;
    }
    if (entrance === 'cluster' && this.#cluster.door && !this.#range.has(ip!))
      refuse(`does not answer at ${ip}: it is not in ${this.#range.text}`);
    this.#count++;
    return new ServiceListener(entry, this.#context);
  }

  /** Ports that are gone, or no longer want clients to stay, know nobody. */
  #forgetClients(service: string, entries: readonly ServiceEntry[]): void {
    const staying = new Set(
      entries.filter(({ affinityMs }) => affinityMs).map(({ affinityKey }) => affinityKey),
    );
    for (const key of this.#affinities.keys())
      if (key.startsWith(`${service}:`) && !staying.has(key)) this.#affinities.delete(key);
  }

  #addresses({ entrance, ip }: ServiceEntry): readonly string[] {
    if (entrance === 'node') return [...new Set([this.options.address, '127.0.0.1'])];
    if (entrance === 'external') return isOwnAddress(ip!) ? [ip!] : [];
    return this.#cluster.door && this.#range.has(ip!) ? [ip!] : [];
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
    let left = entry.targets;
    for (let tries = 0; tries < triesMax && !this.#closed; tries++) {
      const target = this.#choose(client, entry, left);
      if (!target) return undefined;
      try {
        return await dialTcp(this.#waysTo(target), target.port);
      } catch {
        left = left.filter((one) => one !== target);
      }
    }
    return undefined;
  }

  #waysTo({ ip, shared }: ServiceTarget): readonly string[] {
    return shared && this.options.sharedNetwork ? [ip, '127.0.0.1'] : [ip];
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
    // An IPv4 client of an IPv6 socket is the same client.
    const name = client.replace(/^::ffff:/, '');
    const target = affinity.find(name, targets) ?? pick();
    if (target) affinity.keep(name, target, affinityMs);
    return target;
  }
}
