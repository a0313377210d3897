/**
 * The bridge of a node connects its pods, its services and the machine. All names have a prefix (`wh` or `wherry-`) and
 * a hash of the agent's identity, so that interfaces of other programs and agents are never touched:
 *
 *   machine ── wh1a2b3c4d (bridge, 10.217.5.1/24)
 *                ├─ wh1a2b3c4dp3 ══ eth0 in wherry-1a2b3c4d-p3         a pod, 10.217.5.3
 *                ├─ wh1a2b3c4dp4 ══ eth0 in wherry-1a2b3c4d-p4         a pod, 10.217.5.4
 *                └─ wh1a2b3c4ds  ══ eth0 in wherry-1a2b3c4d-services   10.217.5.2, and all cluster IPs
 *
 * The services' namespace also leads to pods of other nodes on this machine: a veth pair connects it with theirs, and it
 * forwards. The machine itself forwards nothing.
 *
 * Services have their own network namespace, because they listen on ports like 80 and 8080: on the machine these would
 * conflict with programs that listen on all addresses. The machine and the pods have a route to it.
 */

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { platform } from '../../platform.ts';
import type { Spawner } from '../process/spawner.ts';
import { type DeviceRoute, IpError, IpRoute, namespacePath } from './ip-route.ts';
import { NamespaceSockets } from './namespace-sockets.ts';
import { NetworkClaims } from './network-claim.ts';
import { NetworkGuard } from './network-guard.ts';
import { defaultPodRange, parsePodRange, Subnet } from './subnet.ts';

/** Attempts to take a free part of the range, as other agents may take parts at the same time. */
const claimsTriedMax = 16;

/** The key under which a claim records where packets for the pods of the node are sent. */
const routerName = 'router';

const gatewayNumber = 1;
const serviceNumber = 2;
export const podNumberMin = 3;

export interface NodeBridgeOptions {
  /** Identifies this agent among those of the machine, across restarts: made of its folder and the node's name. */
  readonly identity: string;
  /** Default `10.217.0.0/16`; the node takes a free /24 of it. */
  readonly podRange?: string;
  readonly serviceRange: string;
  readonly spawner: Spawner;
  /** Where the agents of this machine record which interfaces they own. Default `/run/wherry`. */
  readonly claimFolder?: string;
}

export class NodeBridge {
  readonly id: string;
  readonly link: string;
  readonly ip: IpRoute;
  readonly nsenter: string;
  readonly serviceRange: Subnet;
  /** Opens sockets in the services' namespace. */
  readonly sockets: NamespaceSockets;
  /** The range that the subnets of all nodes are taken from. */
  readonly #podRange: Subnet;
  readonly #claims: NetworkClaims;
  readonly #spawner: Spawner;
  #guard: NetworkGuard | undefined;
  #subnet: Subnet | undefined;
  #hostRouteProblem: string | undefined;
  readonly #strangers: string[] = [];
  #opening: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: NodeBridgeOptions) {
    const { identity, podRange = defaultPodRange, serviceRange, spawner, claimFolder } = options;
    const ip = IpRoute.find(spawner);
    const nsenter = spawner.tool('nsenter');
    const services = Subnet.parse(serviceRange);
    if (!ip || !nsenter) throw new Error('a pod network needs the programs ip and nsenter');
    if (!services) throw new Error(`${JSON.stringify(serviceRange)} is no IPv4 range`);
    this.id = createHash('sha256').update(identity).digest('hex').slice(0, 8);
    this.link = linkPrefix(this.id);
    this.ip = ip;
    this.nsenter = nsenter;
    this.serviceRange = services;
    this.sockets = new NamespaceSockets(this.namespace('services'), nsenter);
    this.#podRange = parsePodRange(podRange);
    this.#spawner = spawner;
    this.#claims = new NetworkClaims(spawner, claimFolder);
  }

  /** The subnet of this node's pods. Available once the bridge is open, like all getters below. */
  get subnet(): Subnet {
    return this.#subnet!;
  }

  /** The machine's address, as pods see it. */
  get gateway(): string {
    return this.subnet.address(gatewayNumber);
  }

  /** The agent's own address in the services' namespace, where every port is free. */
  get serviceAddress(): string {
    return this.subnet.address(serviceNumber);
  }

  /** Ranges that pods reach through the services' namespace: pods of other nodes, and services. */
  get routedRanges(): readonly Subnet[] {
    const { serviceRange, subnet } = this;
    return [
      ...(this.#podRange.prefixLength < subnet.prefixLength ? [this.#podRange] : []),
      ...(serviceRange.isLoopback ? [] : [serviceRange]),
    ];
  }

  /** Nodes of this machine whose pods cannot be reached from here: they are in another range. */
  get strangers(): readonly string[] {
    return this.#strangers;
  }

  /** Why the machine itself has no route to cluster IPs (pods always have one). */
  get hostRouteProblem(): string | undefined {
    return this.#hostRouteProblem;
  }

  namespace(part: string): string {
    return `${namespacePrefix(this.id)}${part}`;
  }

  /** Removes what a killed agent has left, and creates the bridge. Idempotent. */
  open(): Promise<void> {
    this.#opening ??= this.#open();
    return this.#opening;
  }

  /** Removes everything. Safe to call twice, and before `open()`. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** `ip` commands that connect a namespace to the bridge with a veth pair: a new one, or that of a process. */
  joining(namespace: string, link: string, number: number, pid?: number): string[] {
    return [
      pid === undefined ? `netns add ${namespace}` : `netns attach ${namespace} ${pid}`,
      // A fixed hardware address per IP: with a random one, a reused IP would be unreachable until ARP caches expire.
      `link add ${link} type veth peer name eth0 address ${this.#hardwareAddress(number)} netns ${namespace}`,
      `link set ${link} addrgenmode none master ${this.link} up`,
    ];
  }

  /** `ip` commands to run inside that namespace. */
  settingUp(number: number): string[] {
    const { subnet, gateway } = this;
    return [
      'link set lo up',
      'link set eth0 addrgenmode none',
      `addr add ${subnet.address(number)}/${subnet.prefixLength} dev eth0`,
      'link set eth0 up',
      `route add default via ${gateway}`,
    ];
  }

  async #open(): Promise<void> {
    if (this.#closing) throw new Error('the network is closed');
    if (await this.#claims.isHeld(this.id))
      throw new Error('another agent uses the pod network of this node');
    for (const id of new Set([this.id, ...(await this.#claims.abandoned())])) {
      await removeNetwork(this.ip, id);
      await this.#claims.drop(id);
    }
    this.#guard = guardOf(this.id, this.#spawner, this.#claims);
    const names = { links: `${this.link}*`, namespaces: `${namespacePrefix(this.id)}*` };
    try {
      await this.#claims.claim(this.id, names, this.#guard.pid);
      await this.#makeBridge();
      await this.#makeServices();
      const { text } = this.subnet;
      await this.#claims.claim(
        this.id,
        { ...names, pods: text, services: this.serviceRange.text, [routerName]: this.serviceAddress },
        this.#guard.pid,
      );
      await this.#joinOthers();
    } catch (error) {
      await this.#remove();
      throw error;
    }
  }

  async #remove(): Promise<void> {
    await removeNetwork(this.ip, this.id);
    await this.#claims.drop(this.id);
    await this.#guard?.dismiss();
  }

  async #close(): Promise<void> {
    const opened = await this.#opening?.then(
      () => true,
      () => false,
    );
    await this.sockets.close();
    if (opened) await this.#remove();
  }

  async #makeBridge(): Promise<void> {
    const { ip, link } = this;
    await ip.batch([`link add ${link} type bridge`, `link set ${link} addrgenmode none up`]);
    const routes = await ip.routes();
    let tried = 0;
    for (const subnet of this.#podRange.parts(Number.parseInt(this.id, 16))) {
      if (subnet.overlaps(this.serviceRange) || routes.some(({ to }) => to.overlaps(subnet))) continue;
      if (++tried > claimsTriedMax) break;
      this.#subnet = subnet;
      if (await this.#takeSubnet(subnet)) return;
    }
    const [route] = routes.filter(({ to }) => to.overlaps(this.#podRange));
    const why = route ? `this machine has a route to ${route.to.text} (${route.device})` : 'services have it';
    throw new Error(`nothing of the pod range ${this.#podRange.text} is free: ${why}`);
  }

  /** Adds the route to the subnet. Adding fails if the route exists, so only one of several nodes gets the subnet. */
  async #takeSubnet(subnet: Subnet): Promise<boolean> {
    const { ip, link, gateway } = this;
    try {
      await ip.batch([
        // Set explicitly: otherwise the bridge would take over the hardware address of one of its ports.
        `link set ${link} address ${this.#hardwareAddress(gatewayNumber)}`,
        `addr add ${gateway}/${subnet.prefixLength} dev ${link} noprefixroute`,
        `route add ${subnet.text} dev ${link} src ${gateway}`,
      ]);
      return true;
    } catch (error) {
      if (!(error instanceof IpError && error.isTaken)) throw error;
      await ip.batch([`addr flush dev ${link}`]);
      return false;
    }
  }

  /**
   * Connects the services' namespace with those of the other nodes on this machine, and lets it forward between their
   * pods. Both of two nodes that start at the same time may try; the second finds it done.
   */
  async #joinOthers(): Promise<void> {
    const own = this.namespace('services');
    const forwarding = ['sh', '-c', 'echo 1 > /proc/sys/net/ipv4/ip_forward'];
    await this.#spawner.run([this.nsenter, `--net=${namespacePath(own)}`, '--', ...forwarding]);
    for (const [id, { pods, [routerName]: router }] of await this.#claims.others(this.id)) {
      const subnet = Subnet.parse(pods ?? '');
      if (!subnet || !router) continue;
      // Pods have a route to their own range only; other ranges are reached only if the machine itself forwards.
      if (!this.#podRange.overlaps(subnet) && !(await machineForwards())) this.#strangers.push(subnet.text);
      const other = `${namespacePrefix(id)}services`;
      const [there, here] = [linkPrefix(id), linkPrefix(this.id)];
      try {
        await this.ip.batch([`link add ${there} netns ${own} type veth peer name ${here} netns ${other}`]);
        await this.ip.batch(
          [`link set ${there} up`, `route add ${subnet.text} via ${router} dev ${there} onlink`],
          own,
        );
        await this.ip.batch(
          [
            `link set ${here} up`,
            `route add ${this.subnet.text} via ${this.serviceAddress} dev ${here} onlink`,
          ],
          other,
        );
      } catch (error) {
        // The other node has gone, or has made the connection itself.
        if (!(error instanceof IpError)) throw error;
      }
    }
  }

  /** Lets services answer at one more range. Pods need a route to it, too. */
  async addServiceRange(range: Subnet): Promise<void> {
    await this.ip.batch([`route add local ${range.text} dev lo`], this.namespace('services'));
    if ((await this.ip.routes()).some(({ to }) => to.overlaps(range))) return;
    await this.ip.attempt([`route add ${range.text} via ${this.serviceAddress} dev ${this.link}`]);
  }

  async removeServiceRange(range: Subnet): Promise<void> {
    await this.ip.attempt([`route del ${range.text} via ${this.serviceAddress} dev ${this.link}`]);
    await this.ip
      .batch([`route del local ${range.text} dev lo`], this.namespace('services'))
      .catch(() => undefined);
  }

  async #makeServices(): Promise<void> {
    const { ip, link, serviceRange } = this;
    const namespace = this.namespace('services');
    await ip.batch(this.joining(namespace, `${link}s`, serviceNumber));
    await ip.batch(this.settingUp(serviceNumber), namespace);
    if (serviceRange.isLoopback) return;
    await ip.batch([`route add local ${serviceRange.text} dev lo`], namespace);
    const conflict = (await ip.routes()).find(({ to }) => to.overlaps(serviceRange));
    this.#hostRouteProblem = conflict ? problemOf(conflict) : undefined;
    if (conflict) return;
    try {
      await ip.batch([`route add ${serviceRange.text} via ${this.serviceAddress} dev ${link}`]);
    } catch (error) {
      if (!(error instanceof IpError && error.isTaken)) throw error;
      this.#hostRouteProblem = `this machine has got another route to ${serviceRange.text}`;
    }
  }

  #hardwareAddress(number: number): string {
    const bytes = this.subnet.address(number).split('.').map(Number);
    return ['0a', '58', ...bytes.map((byte) => byte.toString(16).padStart(2, '0'))].join(':');
  }
}

const problemOf = ({ to, device }: DeviceRoute): string =>
  `this machine has a route to ${to.text} (${device})`;

const linkPrefix = (id: string): string => `wh${id}`;

const namespacePrefix = (id: string): string => `wherry-${id}-`;

const guardOf = (id: string, spawner: Spawner, claims: NetworkClaims): NetworkGuard =>
  new NetworkGuard(spawner, {
    linkPrefix: linkPrefix(id),
    namespacePrefix: namespacePath(namespacePrefix(id)),
    claimFile: claims.path(id),
  });

/** Removes all links and namespaces of an agent; addresses and routes go with them. */
export async function removeNetwork(ip: IpRoute, id: string): Promise<void> {
  const [links, namespaces] = await Promise.all([ip.links(), ip.namespaces()]);
  await ip.attempt([
    ...links.filter((name) => name.startsWith(linkPrefix(id))).map((name) => `link del ${name}`),
    ...namespaces.filter((name) => name.startsWith(namespacePrefix(id))).map((name) => `netns del ${name}`),
  ]);
}

/** Why this machine cannot have pod networks; undefined when it can. Tries it out: makes a network and removes it. */
export async function netnsProblem(spawner: Spawner, claimFolder?: string): Promise<string | undefined> {
  if (!platform.isLinux) return 'only Linux has network namespaces';
  if (process.getuid?.() !== 0) return 'it takes the rights of root';
  const ip = IpRoute.find(spawner);
  if (!ip) return 'there is no program called ip';
  if (!spawner.tool('nsenter')) return 'there is no program called nsenter';
  const probe = createHash('sha256')
    .update(`probe ${process.pid} ${performance.now()}`)
    .digest('hex')
    .slice(0, 8);
  const [link, namespace] = [linkPrefix(probe), `${namespacePrefix(probe)}probe`];
  // If this process is killed during the test, its guard or the next agent removes the rest.
  const claims = new NetworkClaims(spawner, claimFolder);
  const guard = guardOf(probe, spawner, claims);
  try {
    await claims.claim(probe, { links: `${link}*`, namespaces: namespace }, guard.pid);
    await ip.batch([
      `netns add ${namespace}`,
      `link add ${link} type bridge`,
      `link add ${link}p type veth peer name eth0 netns ${namespace}`,
      `link set ${link}p master ${link} up`,
    ]);
    await ip.batch(['link set lo up', 'link set eth0 up'], namespace);
    return undefined;
  } catch (error) {
    return `the system does not allow it: ${(error as Error).message}`;
  } finally {
    await removeNetwork(ip, probe)
      .then(() => claims.drop(probe))
      .then(() => guard.dismiss())
      .catch(() => undefined);
  }
}

const machineForwards = async (): Promise<boolean> =>
  (await readFile('/proc/sys/net/ipv4/ip_forward', 'utf8').catch(() => '')).trim() === '1';
