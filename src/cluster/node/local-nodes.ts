/** The nodes of this process: one that runs pods as processes of the machine, and any number of simulated ones. */
import { userAgentOf } from '../../api/values/release.ts';
import { Client } from '../../client/client.ts';
import type { Agent } from '../../node/agent/agent.ts';
import type { ApiDoor } from '../../node/network/service-proxy.ts';
import type { Timers } from '../../timers.ts';
import type { Lifecycle } from '../options/lifecycles.ts';
import type { NodeGroup } from '../options/node-groups.ts';
import type { NodeOptions } from '../options/nodes.ts';
import type { ApiAddress } from '../shared/api-address.ts';
import { type OpenNode, openNode } from './node.ts';
import type { NodeConnections } from './node-connections.ts';
import { SimulatedNodes } from './simulated-nodes.ts';

export interface LocalNodesOptions {
  readonly api: ApiAddress;
  readonly connections: NodeConnections;
  /** Options of the node; absent: no pods run on this machine. */
  readonly node: NodeOptions | undefined;
  /** The door to which the service `kubernetes` leads on this machine. */
  readonly apiDoor?: ApiDoor | undefined;
  readonly simulated: readonly NodeGroup[];
  readonly lifecycles: readonly Lifecycle[];
  readonly randomBelow: (bound: number) => number;
  /** Grace period before a silent node counts as lost. */
  readonly graceMs: number;
  readonly now: () => number;
  readonly timers: Timers;
  readonly onError: (error: Error) => void;
}

export class LocalNodes {
  readonly simulated: SimulatedNodes;
  readonly #client: Client;
  #node: OpenNode | undefined;
  /** The name of the node that is not simulated, also while it is stopped. */
  #ownName: string | undefined;
  #dropping: Promise<void> | undefined;
  #starting: Promise<void> | undefined;
  #closed = false;

  constructor(private readonly options: LocalNodesOptions) {
    this.#client = new Client(options.api.url, { userAgent: userAgentOf('kubelet') }, options.api);
    this.simulated = new SimulatedNodes({ client: this.#client, ...options });
  }

  /** Text about the node for the first lines of output. */
  get description(): string | undefined {
    return this.#node?.description;
  }

  /** The agents of this process, by the name of their node. */
  get agents(): ReadonlyMap<string, Agent> {
    const { agents } = this.simulated;
    return this.#node ? new Map([...agents, [this.#node.name, this.#node.agent]]) : agents;
  }

  /** Pods that run as processes of this machine. */
  get podsRunning(): number {
    return this.#node?.agent.processPods ?? 0;
  }

  /** Requests of the agents that are not answered yet. */
  get requestsUnderWay(): number {
    return this.#client.underWay;
  }

  /** Resolves when all nodes are registered. */
  start(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  async #start(): Promise<void> {
    await Promise.all([this.#startOwn(), this.simulated.begin(this.options.simulated)]);
  }

  async #startOwn(): Promise<void> {
    const { node, apiDoor, now, timers, onError, connections } = this.options;
    if (!node) return;
    const opened = await openNode(this.#client, { now, timers, apiDoor, onError, ...node });
    if (this.#closed) return opened.close();
    this.#node = opened;
    this.#ownName = opened.name;
    connections.addLocal(opened.name, () => opened.agent.connect());
    await opened.start();
  }

  /** Stops a node as a power failure would: its containers are gone, and nothing is written to the API. */
  async drop(name: string): Promise<void> {
    const node = this.#node;
    if (!node || node.name !== name) return this.simulated.stop(name);
    this.#node = undefined;
    this.options.connections.removeLocal(name);
    this.#dropping = node.close({ silently: true });
    await this.#dropping;
  }

  /**
   * Starts a stopped node, or a new simulated one. Resolves when it is registered.
   * @param resumes whether simulated containers that run according to the statuses of their pods go on
   */
  async restart(name: string, { resumes = false } = {}): Promise<void> {
    // The error of a failed start has been reported already.
    await this.#starting?.catch(() => undefined);
    if (name !== this.#ownName) return this.simulated.start(name, { resumes });
    await this.#dropping;
    if (!this.#node && !this.#closed) {
      this.#starting = this.#startOwn();
      await this.#starting;
    }
  }

  /** Ends the pods and reports the nodes as not ready; the server must still be running. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#node) this.options.connections.removeLocal(this.#node.name);
    await Promise.all([this.#node?.close(), this.#dropping, this.simulated.close()]);
    // A start under way stops when it sees the close; ignore its error.
    await this.#starting?.catch(() => undefined);
    this.#client.close();
  }
}
