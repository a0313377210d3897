/**
 * A network where every pod has its own address, loopback interface and ports: a network namespace on the
 * node's bridge. Pods, services and the machine reach each other, and pods of other nodes on this machine. There is no
 * route to other machines: that would need rules in the machine's packet filter, which Wherry does not touch.
 */
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Pod } from '../../api/generated/types.ts';
import { dialTcp } from '../../streams/dial/dialing.ts';
import { dialError } from '../../streams/dial/net-error.ts';
import type { Spawner } from '../process/spawner.ts';
import { HostPorts } from './host-ports.ts';
import { namespacePath } from './ip-route.ts';
import { NamespaceSockets } from './namespace-sockets.ts';
import { type NodeBridge, podNumberMin } from './node-bridge.ts';
import type { PodFilters } from './pod-filters.ts';
import { type PodAttachment, type PodNetwork, sharedAddress } from './pod-network.ts';
import type { Subnet } from './subnet.ts';
import { parseListeners } from './taken-ports.ts';

export interface NetnsNetworkOptions {
  readonly bridge: NodeBridge;
  /** The address of the node, for pods with hostNetwork. */
  readonly address: string;
  readonly spawner: Spawner;
  readonly onError: (error: Error) => void;
  /** Applies network policies to pods; absent where they are not enforced. */
  readonly filters?: PodFilters;
}

interface Attached {
  readonly number: number;
  readonly namespace: string;
  readonly link: string;
  readonly attachment: PodAttachment;
  readonly sockets: NamespaceSockets;
  readonly hostPorts: HostPorts;
}

export class NetnsNetwork implements PodNetwork {
  readonly #pods = new Map<string, Promise<Attached>>();
  readonly #numbers = new Set<number>();
  /** Numbers of pods that have not joined again yet, by uid. */
  readonly #reserved = new Map<string, number>();
  /** Ranges by their text. */
  readonly #furtherRanges = new Map<string, Subnet>();
  #lastNumber = podNumberMin - 1;
  #closed = false;

  constructor(private readonly options: NetnsNetworkOptions) {}

  attach(pod: Pod): Promise<PodAttachment> {
    return this.#attachment(pod);
  }

  join(pod: Pod, pid: number): Promise<PodAttachment> {
    return this.#attachment(pod, pid);
  }

  async #attachment(pod: Pod, pid?: number): Promise<PodAttachment> {
    if (this.#closed) throw new Error('the pod network is closed');
    if (pod.spec?.hostNetwork) return { ip: this.options.address, wrap: (command) => [...command] };
    const uid = pod.metadata.uid!;
    let attached = this.#pods.get(uid);
    if (!attached) {
      attached = this.#attach(pod, pid);
      this.#pods.set(uid, attached);
      // Forget a failed attempt, so that it can be repeated.
      attached.catch(() => this.#pods.delete(uid));
    }
    return (await attached).attachment;
  }

  reserve(uid: string, ip: string): void {
    const { subnet } = this.options.bridge;
    const number = subnet.numberOf(ip);
    if (number === undefined || number < podNumberMin || this.#numbers.has(number)) return;
    this.#numbers.add(number);
    this.#reserved.set(uid, number);
  }

  async detach(uid: string): Promise<void> {
    const reserved = this.#reserved.get(uid);
    if (reserved !== undefined) this.#numbers.delete(reserved);
    this.#reserved.delete(uid);
    const attaching = this.#pods.get(uid);
    if (!attaching) return;
    this.#pods.delete(uid);
    this.options.filters?.detached(uid);
    const attached = await attaching.catch(() => undefined);
    if (!attached) return;
    await Promise.all([attached.sockets.close(), attached.hostPorts.close()]);
    await this.#remove(attached);
  }

  /** Dials a port inside the pod's network, so that servers on the pod's loopback address are reached, too. */
  async dial(uid: string, port: number): Promise<Duplex> {
    const attached = await this.#pods.get(uid);
    if (!attached) return dialTcp(['127.0.0.1', this.options.address], port);
    try {
      return await dialTcp([attached.attachment.ip], port);
    } catch (error) {
      const socket = await this.#dialLoopback(attached, port);
      if (!socket) throw dialError('127.0.0.1', port, (error as Error).cause ?? error);
      return socket;
    }
  }

  /** Dials a port at the pod's address; a pod with hostNetwork has that of the node. */
  async reach(uid: string, port: number): Promise<Duplex> {
    const attached = await this.#pods.get(uid);
    return dialTcp([attached?.attachment.ip ?? sharedAddress(this.options.address)], port);
  }

  /** Sets the further ranges at which services answer, besides the node's own. */
  async setServiceRanges(ranges: readonly Subnet[]): Promise<void> {
    const { bridge } = this.options;
    const wanted = new Map(ranges.map((range) => [range.text, range]));
    const gone = [...this.#furtherRanges.values()].filter(({ text }) => !wanted.has(text));
    const added = ranges.filter(({ text }) => !this.#furtherRanges.has(text));
    for (const range of added) await bridge.addServiceRange(range);
    // Added before the routes of existing pods: a pod that is attached meanwhile gets its routes from here.
    for (const range of added) this.#furtherRanges.set(range.text, range);
    for (const { text } of gone) this.#furtherRanges.delete(text);
    const commands = [
      ...added.map(({ text }) => `route replace ${text} via ${bridge.serviceAddress}`),
      ...gone.map(({ text }) => `route del ${text}`),
    ];
    for (const attaching of this.#pods.values()) {
      const attached = await attaching.catch(() => undefined);
      if (attached) await bridge.ip.batch(commands, attached.namespace).catch(() => undefined);
    }
    for (const range of gone) await bridge.removeServiceRange(range);
  }

  /** Does nothing: opening the bridge removes what was left. */
  async recover(): Promise<void> {
    await this.options.bridge.open();
  }

  /** Detaches the pods; the bridge stays open. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#pods.keys()].map((uid) => this.detach(uid)));
  }

  async #attach(pod: Pod, pid: number | undefined): Promise<Attached> {
    const { bridge, address, onError } = this.options;
    await bridge.open();
    const number = this.#takeNumber(pod.metadata.uid!);
    const namespace = bridge.namespace(`p${number}`);
    const link = `${bridge.link}p${number}`;
    const { ip, serviceAddress, nsenter } = bridge;
    const routes = [...bridge.routedRanges, ...this.#furtherRanges.values()].map(
      ({ text }) => `route replace ${text} via ${serviceAddress}`,
    );
    const place = { number, namespace, link };
    try {
      await ip.batch(bridge.joining(namespace, link, number, pid));
      await ip.batch([...bridge.settingUp(number), ...routes], namespace);
    } catch (error) {
      await this.#remove(place);
      throw new Error(`cannot give the pod a network: ${(error as Error).message}`, { cause: error });
    }
    const network = `--net=${namespacePath(namespace)}`;
    const attachment = {
      ip: bridge.subnet.address(number),
      // A command that already uses nsenter gets one more option: nsenter opens all namespaces before it enters any.
      wrap: (command: readonly string[]) =>
        command[0] === nsenter
          ? [nsenter, network, ...command.slice(1)]
          : [nsenter, network, '--', ...command],
    };
    try {
      await this.options.filters?.attached(pod, namespace);
    } catch (error) {
      this.options.filters?.detached(pod.metadata.uid!);
      await this.#remove(place);
      throw error;
    }
    const hostPorts = new HostPorts(pod, (port) => ({ ip: attachment.ip, port }), address, onError);
    await hostPorts.settled();
    return { ...place, attachment, hostPorts, sockets: new NamespaceSockets(namespace, nsenter) };
  }

  async #remove({ number, namespace, link }: Pick<Attached, 'number' | 'namespace' | 'link'>): Promise<void> {
    await this.options.bridge.ip.attempt([`link del ${link}`, `netns del ${namespace}`]);
    this.#numbers.delete(number);
  }

  /** The reserved address, else the one after the last one given out: clients may still take a freed address for its former pod. */
  #takeNumber(uid: string): number {
    const reserved = this.#reserved.get(uid);
    this.#reserved.delete(uid);
    if (reserved !== undefined) return reserved;
    const numberMax = this.options.bridge.subnet.size - 2;
    const count = numberMax - podNumberMin + 1;
    for (let step = 1; step <= count; step++) {
      const number = podNumberMin + ((this.#lastNumber - podNumberMin + step) % count);
      if (this.#numbers.has(number)) continue;
      this.#numbers.add(number);
      this.#lastNumber = number;
      return number;
    }
    throw new Error(`all ${count} addresses of ${this.options.bridge.subnet.text} are taken by pods`);
  }

  /**
   * Checks first whether a process listens there: connecting takes a helper process, and probes connect every
   * second.
   */
  async #dialLoopback({ attachment, sockets }: Attached, port: number): Promise<Socket | undefined> {
    const { spawner } = this.options;
    const tables = attachment.wrap(['cat', '/proc/net/tcp', '/proc/net/tcp6']);
    const { stdout } = await spawner.run(tables);
    const listeners = parseListeners(stdout).filter((one) => one.loopback && one.port === port);
    if (!listeners.length) return undefined;
    return sockets.connect('127.0.0.1', port).catch(() => sockets.connect('::1', port));
  }
}
