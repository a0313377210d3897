/**
 * The network of a node: pod network, service proxy and name server. It uses the best mode that the machine allows, and
 * describes it for the log.
 *
 *   netns   every pod has its own address; cluster IPs and service names work
 *   host    pods share the machine's network; cluster IPs work only with the necessary rights
 */
import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { isIPv4 } from 'node:net';
import { join } from 'node:path';
import type { Pod, ServiceCIDR } from '../../api/generated/types.ts';
import type { Client } from '../../client/client.ts';
import { eventSink } from '../../client/event-sink.ts';
import { EventRecorder } from '../../client/events.ts';
import { Informer } from '../../client/informer.ts';
import { serviceCidrs } from '../../client/resources.ts';
import { ServiceDirectory } from '../../client/service-directory.ts';
import { wallClock } from '../../clock.ts';
import { makeFolders } from '../machine/folder-care.ts';
import { DnsServer } from '../network/dns.ts';
import { machineResolver } from '../network/dns-forward.ts';
import { NetnsNetwork } from '../network/netns-network.ts';
import { NodeBridge, netnsProblem } from '../network/node-bridge.ts';
import { NodeZone } from '../network/node-zone.ts';
import { filterProblem } from '../network/packet-filter.ts';
import { PodFilters } from '../network/pod-filters.ts';
import { HostNetwork, type PodNetwork } from '../network/pod-network.ts';
import { PolicyTable } from '../network/policy-table.ts';
import { resolvConf } from '../network/resolv-conf.ts';
import { clusterDoor } from '../network/service-door.ts';
import { type ApiDoor, ServiceProxy } from '../network/service-proxy.ts';
import { parsePodRange, Subnet } from '../network/subnet.ts';
import { takenPorts } from '../network/taken-ports.ts';
import type { NetworkAdvice } from '../pods/node-setup.ts';
import { Spawner } from '../process/spawner.ts';

const identityName = 'network-id';

const podNetworkModes = ['auto', 'netns', 'host'] as const;
/** `netns`: each pod has an address of its own (Linux, as root); `host`: pods share the machine's; `auto`: the best possible. */
export type PodNetworkMode = (typeof podNetworkModes)[number];

export interface NodeNetworkOptions {
  /** Default `auto`: `netns` where the machine allows it, else `host`. */
  readonly mode?: PodNetworkMode;
  readonly nodeName: string;
  /** The address of the node. */
  readonly address: string;
  /** The agent's own folder. */
  readonly folder: string;
  /** Default `10.217.0.0/16`. */
  readonly podRange?: string;
  /** Where node ports listen; default: on loopback. */
  readonly nodePortHost?: string | undefined;
  /** The range the API server gives cluster IPs from. */
  readonly serviceRange: string;
  /** The API server on this machine to which the service `kubernetes` may lead. */
  readonly apiDoor?: ApiDoor | undefined;
  /** The time of events. Default: that of the machine. */
  readonly now?: (() => number) | undefined;
  readonly onError: (error: Error) => void;
  /** Whether the client may read the pods of all nodes, without which policies cannot be enforced. Default true. */
  readonly seesAllPods?: boolean;
  /** Where the agents of this machine record which interfaces they own; for tests. */
  readonly claimFolder?: string;
}

export class NodeNetwork implements NetworkAdvice {
  readonly mode: 'netns' | 'host';
  /** Handed to the runtime, which closes it. */
  readonly pods: PodNetwork;
  /** Why network policies are not enforced on this node; undefined when they are. */
  readonly policyProblem: string | undefined = 'pods share the network of the machine';
  readonly #filters: PodFilters | undefined;
  readonly #netns: NetnsNetwork | undefined;
  #policies: PolicyTable | undefined;
  #ranges: Informer<ServiceCIDR> | undefined;
  /** Ranges of services besides the one the node was started with. */
  #furtherRanges: readonly Subnet[] = [];
  #rangesWork: Promise<void> = Promise.resolve();
  #directory: ServiceDirectory | undefined;
  #zone: NodeZone | undefined;
  #proxy: ServiceProxy | undefined;
  #dns: DnsServer | undefined;
  #starting: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  private constructor(
    private readonly options: NodeNetworkOptions,
    private readonly spawner: Spawner,
    private readonly bridge: NodeBridge | undefined,
    /** Why pods have no networks of their own; undefined when they have. */
    private readonly why: string | undefined,
  ) {
    const { address, onError } = options;
    const own = bridge && why === undefined;
    this.mode = own ? 'netns' : 'host';
    if (!own) {
      this.pods = new HostNetwork(address);
      return;
    }
    this.policyProblem =
      options.seesAllPods === false
        ? 'a node with credentials of its own sees only its own pods'
        : filterProblem(spawner);
    const surroundings = () => ({
      node: [bridge.gateway, ...(isIPv4(address) ? [address] : [])],
      nameServer: bridge.serviceAddress,
      services: [bridge.serviceRange, ...this.#furtherRanges].map(({ text }) => text),
    });
    this.#filters =
      this.policyProblem === undefined ? new PodFilters({ spawner, surroundings, onError }) : undefined;
    this.#netns = new NetnsNetwork({ bridge, address, spawner, onError, filters: this.#filters });
    this.pods = this.#netns;
  }

  /**
   * Opens the best network the mode and the machine allow, and removes what a killed agent has left. Throws
   * when the requested mode is not possible.
   */
  static async open(options: NodeNetworkOptions): Promise<NodeNetwork> {
    const { mode = 'auto', podRange, serviceRange, onError } = options;
    if (podRange !== undefined) parsePodRange(podRange);
    const services = Subnet.parse(serviceRange);
    if (!services) throw new Error(`${JSON.stringify(serviceRange)} is no IPv4 range`);
    const spawner = new Spawner();
    try {
      // With `host`, the bridge is only needed for services, and not even for those when their range is on loopback.
      const wanted = mode !== 'host' || !services.isLoopback;
      const problem = wanted ? await netnsProblem(spawner, options.claimFolder) : 'it was not asked for';
      const bridge = problem === undefined ? await openBridge(options, spawner) : problem;
      const made = bridge instanceof NodeBridge ? bridge : undefined;
      if (mode === 'netns' && !made) throw new Error(`pods cannot have networks of their own: ${bridge}`);
      if (mode === 'host' && problem === undefined && !made)
        onError(new Error(`cluster IPs are not available: ${bridge}`));
      const why = mode === 'host' ? 'as asked for' : made ? undefined : String(bridge);
      return new NodeNetwork(options, spawner, made, why);
    } catch (error) {
      spawner.close();
      throw error;
    }
  }

  /** Lines about the network for the log at start. */
  describe(): string[] {
    const { serviceRange } = this.options;
    const pods =
      this.bridge && this.mode === 'netns'
        ? `each pod has an address of ${this.bridge.subnet.text}`
        : `pods share the network of this machine (${this.why})`;
    const { words } = clusterDoor(Subnet.parse(serviceRange)!, this.bridge);
    const names = this.mode === 'netns' ? 'by name and by variables' : 'by variables, not by name';
    const lines = [`pod network ${this.mode}: ${pods}`, `services: ${words}; pods find them ${names}`];
    if (this.mode !== 'netns') return lines;
    const { policyProblem } = this;
    const strangers = this.bridge?.strangers ?? [];
    if (strangers.length)
      lines.push(
        `pods of other nodes on this machine (${strangers.join(', ')}) are not reached: they have another --pod-range`,
      );
    if (policyProblem !== undefined) lines.push(`network policies are not enforced: ${policyProblem}`);
    return lines;
  }

  /** Starts the service proxy and the name server. Resolves when they know all existing services. */
  async start(client: Client): Promise<void> {
    if (this.#closing) throw new Error('the network is closed');
    this.#starting = this.#start(client);
    await this.#starting;
  }

  async #start(client: Client): Promise<void> {
    const { nodeName, address, nodePortHost = '127.0.0.1', serviceRange, apiDoor } = this.options;
    const { now = wallClock, onError } = this.options;
    const directory = new ServiceDirectory(client, onError);
    this.#directory = directory;
    const zone = new NodeZone(client, nodeName, onError);
    this.#zone = zone;
    await directory.start();
    if (this.#closing) return;
    const policies = await this.#followPolicies(client);
    const recorder = new EventRecorder(eventSink(client), {
      ...{ component: 'kube-proxy', host: nodeName, now, onError },
    });
    this.#proxy = new ServiceProxy({
      onUnserved: ({ metadata }, reason) =>
        recorder.warning({ apiVersion: 'v1', kind: 'Service', metadata }, 'FailedToListen', reason),
      allows: policies && ((from, { ip, port }, protocol) => policies.allows(from, ip, protocol, port)),
      furtherRanges: () => this.#furtherRanges,
      ...{ directory, nodeName, zone, address, nodePortHost, serviceRange, apiDoor, onError },
      bridge: this.bridge,
      sharedNetwork: this.mode === 'host',
    });
    if (this.bridge && this.mode === 'netns') {
      this.#dns = new DnsServer({ directory, door: this.bridge.sockets, onError });
      await this.#dns.listen(this.bridge.serviceAddress);
    }
    await this.#proxy.start();
    this.#followRanges(client);
  }

  /** Follows network policies; undefined where they are not enforced. */
  async #followPolicies(client: Client): Promise<PolicyTable | undefined> {
    if (!this.#filters) return undefined;
    const policies = new PolicyTable(client, this.options.onError);
    this.#policies = policies;
    await policies.start();
    await this.#filters.follow(policies);
    return policies;
  }

  /** Follows the ranges of services, to which a cluster may add while the node runs. */
  #followRanges(client: Client): void {
    const netns = this.#netns;
    if (!netns || this.#closing) return;
    const { onError } = this.options;
    this.#ranges = new Informer(client, serviceCidrs, {
      changed: () => {
        this.#rangesWork = this.#rangesWork.then(() => this.#setRanges(netns)).catch(onError);
      },
      onError,
    });
    // Not awaited: a role from an older cluster may not allow it.
    void this.#ranges.start();
  }

  async #setRanges(netns: NetnsNetwork): Promise<void> {
    if (this.#closing) return;
    const own = Subnet.parse(this.options.serviceRange)!;
    const found = [...this.#ranges!.all()]
      .flatMap(({ spec }) => spec?.cidrs ?? [])
      .flatMap((text) => Subnet.parse(text) ?? [])
      .filter((range) => !range.overlaps(own) && !range.isLoopback);
    const further = [...new Map(found.map((range) => [range.text, range])).values()];
    await netns.setServiceRanges(further);
    this.#furtherRanges = further;
    this.#filters?.refresh();
    this.#proxy?.refreshAll();
  }

  async resolvConf(pod: Pod): Promise<string | undefined> {
    if (!this.bridge || this.mode !== 'netns') return undefined;
    return resolvConf(pod, this.bridge.serviceAddress, await machineResolver());
  }

  async portWarnings(pod: Pod): Promise<readonly string[]> {
    const shared = this.mode === 'host' || pod.spec?.hostNetwork;
    const why = shared ? ': pods share the network of the machine' : '';
    const taken = await takenPorts(pod, shared ? 'containerPort' : 'hostPort');
    return taken.map((port) => `port ${port} is taken by another process on this node${why}`);
  }

  /** Removes every interface and namespace. Call it after closing the agent. Safe to call twice. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#directory?.close();
    this.#zone?.close();
    this.#policies?.close();
    this.#ranges?.close();
    // Wait for a start under way: what it is opening cannot be closed yet.
    await this.#starting?.catch(() => undefined);
    await this.#rangesWork;
    await this.#proxy?.close();
    await this.#dns?.close();
    await this.pods.close();
    await this.bridge?.close();
    this.spawner.close();
  }
}

/** The bridge, or the reason why it could not be made. */
async function openBridge(options: NodeNetworkOptions, spawner: Spawner): Promise<NodeBridge | string> {
  const { folder, podRange, serviceRange, claimFolder } = options;
  const identity = await identityOf(folder);
  const bridge = new NodeBridge({ identity, podRange, serviceRange, spawner, claimFolder });
  try {
    await bridge.open();
    return bridge;
  } catch (error) {
    return (error as Error).message;
  }
}

/**
 * A random id, kept in the agent's folder, that identifies this node on its machine across restarts. The folder's
 * path would not do: two containers may use the same path for different folders.
 */
async function identityOf(folder: string): Promise<string> {
  const path = join(folder, identityName);
  const known = await readFile(path, 'utf8').catch(() => '');
  if (/^[0-9a-f-]{36}$/.test(known)) return known;
  const identity = randomUUID();
  await makeFolders(folder, 0o700);
  await writeFile(path, identity, { mode: 0o600 });
  return identity;
}
