/**
 * Simulated nodes: agents that only simulate their pods, and share watches and addresses. They can be stopped
 * and started to test how a cluster reacts.
 */
import { subdomainName } from '../../api/values/names.ts';
import type { Client } from '../../client/client.ts';
import type { Agent } from '../../node/agent/agent.ts';
import type { SharedPods } from '../../node/agent/pod-feed.ts';
import type { Timers } from '../../timers.ts';
import type { Lifecycle } from '../options/lifecycles.ts';
import { type NodeGroup, taintsOf } from '../options/node-groups.ts';
import type { Lifecycles } from './lifecycles.ts';
import type { NodeConnections } from './node-connections.ts';

/** Number of nodes registered concurrently. */
const startWidth = 16;
/** Interval of status reports; long, so that a thousand simulated nodes stay cheap. */
const heartbeatMs = 3_600_000;
const leaseMs = 20_000;
/** Share of the grace period between lease renewals: at least two fit into it. */
const leaseShare = 0.4;
const capacity = { cpu: '32', memory: '256Gi', 'ephemeral-storage': '1Ti' };

export interface SimulatedNodesOptions {
  readonly client: Client;
  readonly connections: NodeConnections;
  /** Grace period before a silent node counts as lost. */
  readonly graceMs: number;
  readonly now: () => number;
  readonly timers: Timers;
  /** What happens to pods and nodes as time passes. */
  readonly lifecycles: readonly Lifecycle[];
  readonly randomBelow: (bound: number) => number;
  readonly onError: (error: Error) => void;
}

/** Stops and starts simulated nodes, to test how a cluster reacts. */
export interface SimulatedPower {
  /** Starts a stopped node, or a new one. Resolves when it is registered. */
  start(name: string): Promise<void>;
  /** Stops a node as a power failure would: its containers are gone, and the API is not told. */
  stop(name: string): Promise<void>;
}

export class SimulatedNodes implements SimulatedPower {
  readonly #agents = new Map<string, Agent>();
  readonly #stopping = new Map<string, Promise<void>>();
  /** What the nodes that were asked for are like, by their names. */
  readonly #groups = new Map<string, NodeGroup>();
  #making: Promise<(name: string, resumes: boolean) => Agent> | undefined;
  #pods: SharedPods | undefined;
  #lives: Lifecycles | undefined;
  #closed = false;

  constructor(private readonly options: SimulatedNodesOptions) {}

  /** Starts the first nodes: `simulated-1` and so on, with the numbers of groups of the same name going on. */
  async begin(groups: readonly NodeGroup[]): Promise<void> {
    const counts = new Map<string, number>();
    for (const group of groups) {
      const { simulated = 0, name = 'simulated' } = group;
      const before = counts.get(name) ?? 0;
      counts.set(name, before + simulated);
      for (let i = 1; i <= simulated; i++) this.#groups.set(`${name}-${before + i}`, group);
    }
    const waiting = [...this.#groups.keys()];
    const count = waiting.length;
    const work = async (): Promise<void> => {
      for (let name = waiting.shift(); name !== undefined && !this.#closed; name = waiting.shift())
        await this.start(name);
    };
    await Promise.all(Array.from({ length: Math.min(startWidth, count) }, work));
  }

  /** @param resumes whether containers that run according to the statuses of their pods go on */
  async start(name: string, { resumes = false }: { resumes?: boolean } = {}): Promise<void> {
    const [problem] = subdomainName(name, false);
    if (problem) throw new Error(`${JSON.stringify(name)} is no name for a node: ${problem}`);
    this.#making ??= this.#maker();
    const make = await this.#making;
    await this.#stopping.get(name);
    if (this.#closed) return;
    let agent = this.#agents.get(name);
    if (!agent) {
      agent = make(name, resumes);
      this.#agents.set(name, agent);
      this.options.connections.addLocal(name, () => agent!.connect());
    }
    await agent.start();
    this.#lives?.nodeStarted(name, this.#labelsOf(name));
  }

  #labelsOf(name: string): Record<string, string> {
    return { 'wherry.dev/simulated': 'true', ...this.#groups.get(name)?.labels };
  }

  /** The agents that run, by the name of their node. */
  get agents(): ReadonlyMap<string, Agent> {
    return this.#agents;
  }

  async stop(name: string): Promise<void> {
    const agent = this.#agents.get(name);
    if (!agent) return this.#stopping.get(name);
    this.#agents.delete(name);
    this.options.connections.removeLocal(name);
    const stopped = agent.close({ silently: true }).finally(() => this.#stopping.delete(name));
    this.#stopping.set(name, stopped);
    await stopped;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#lives?.close();
    // Wait for shared parts that are still being loaded.
    await this.#making?.catch(() => undefined);
    for (const name of this.#agents.keys()) this.options.connections.removeLocal(name);
    await Promise.all([
      ...[...this.#agents.values()].map((agent) => agent.close()),
      ...this.#stopping.values(),
    ]);
    this.#pods?.close();
  }

  /** Loads what all simulated nodes share, with the first of them. */
  async #maker(): Promise<(name: string, resumes: boolean) => Agent> {
    const { client, graceMs, now, timers, onError, lifecycles } = this.options;
    if (lifecycles.length) {
      const { Lifecycles } = await import('./lifecycles.ts');
      this.#lives = new Lifecycles({ ...this.options, power: this });
    }
    const lives = this.#lives;
    const [
      { Agent },
      { SharedPods },
      { SimulatedAddresses, SimulatedRuntime },
      { simulatedVolumes: volumes },
    ] = await Promise.all([
      import('../../node/agent/agent.ts'),
      import('../../node/agent/pod-feed.ts'),
      import('../../node/runtime/simulated/simulated-runtime.ts'),
      import('../../node/volumes/local-volumes.ts'),
    ]);
    this.#pods = new SharedPods(client, onError);
    const podFeed = lives?.feed(this.#pods) ?? this.#pods;
    const addresses = new SimulatedAddresses();
    const nodeAddresses = new Map<string, string>();
    const heartbeat = {
      leaseMs: Math.min(leaseMs, graceMs * leaseShare),
      lookMs: heartbeatMs,
      statusMs: heartbeatMs,
    };
    return (name, resumes) => {
      const group = this.#groups.get(name) ?? {};
      const address = nodeAddresses.get(name) ?? addresses.take().ip;
      nodeAddresses.set(name, address);
      return new Agent({
        nodeName: name,
        client,
        runtime: new SimulatedRuntime(addresses, now, timers, resumes, lives),
        folder: '',
        volumes,
        address,
        labels: this.#labelsOf(name),
        taints: taintsOf(group.taints),
        capacity: { ...capacity, ...group.capacity },
        podFeed,
        heartbeat,
        now,
        timers,
        onError,
      });
    };
  }
}
