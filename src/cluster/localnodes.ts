/** The nodes of this process: one that runs pods as processes of the machine, and any number that only pretend. */
import { Client } from '../client/client.ts';
import type { Agent } from '../node/agent.ts';
import { type NodeOptions, openNode, type RunningNode } from './node.ts';
import type { Ways } from './nodeway.ts';

/** Simulated nodes that are registered at once. */
const startWidth = 16;
/** Theirs is an easy life: fewer signs of it keep a thousand of them cheap. */
const simulatedHeartbeat = { leaseMs: 20_000, lookMs: 3_600_000, statusMs: 3_600_000 };
const simulatedCapacity = { cpu: '32', memory: '256Gi', 'ephemeral-storage': '1Ti' };

export interface LocalNodesOptions {
  readonly url: string;
  readonly ways: Ways;
  /** Absent: no pod is run here. */
  readonly node: NodeOptions | undefined;
  readonly simulated: number;
  readonly now: () => number;
  readonly onError: (error: Error) => void;
}

export class LocalNodes {
  readonly #client: Client;
  readonly #agents = new Map<string, Agent>();
  #node: RunningNode | undefined;
  #pods: { close(): void } | undefined;
  #closed = false;

  constructor(private readonly options: LocalNodesOptions) {
    this.#client = new Client(options.url, { userAgent: 'wherry-node' });
  }

  /** What the first lines printed say about the node. */
  get description(): string | undefined {
    return this.#node?.description;
  }

  /** Resolves when all nodes are registered. */
  async start(): Promise<void> {
    const { node, simulated, now, onError, ways } = this.options;
    if (node) {
      this.#node = await openNode(this.#client, { now, onError, ...node });
      this.#serve(this.#node.name, this.#node.agent);
    }
    await Promise.all([this.#node?.agent.start(), simulated > 0 ? this.#simulate(simulated) : undefined]);
    if (this.#closed) for (const name of this.#agents.keys()) ways.removeLocal(name);
  }

  #serve(name: string, agent: Agent): void {
    this.#agents.set(name, agent);
    this.options.ways.addLocal(name, () => agent.connect());
  }

  async #simulate(count: number): Promise<void> {
    const { now, onError } = this.options;
    const [{ Agent }, { SharedPods }, { SimulatedAddresses, SimulatedRuntime }] = await Promise.all([
      import('../node/agent.ts'),
      import('../node/podfeed.ts'),
      import('../node/simulatedruntime.ts'),
    ]);
    const podFeed = new SharedPods(this.#client, onError);
    this.#pods = podFeed;
    const addresses = new SimulatedAddresses();
    const waiting = Array.from({ length: count }, (_, i) => `simulated-${i + 1}`);
    const work = async (): Promise<void> => {
      for (let name = waiting.shift(); name !== undefined && !this.#closed; name = waiting.shift()) {
        const agent = new Agent({
          nodeName: name,
          client: this.#client,
          runtime: new SimulatedRuntime(addresses, now),
          folder: '',
          address: addresses.take().ip,
          labels: { 'wherry.dev/simulated': 'true' },
          capacity: simulatedCapacity,
          podFeed,
          heartbeat: simulatedHeartbeat,
          now,
          onError,
        });
        this.#serve(name, agent);
        await agent.start();
      }
    };
    await Promise.all(Array.from({ length: startWidth }, work));
  }

  /** Ends the pods and says goodbye to the server, which must still be there. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const name of this.#agents.keys()) this.options.ways.removeLocal(name);
    await Promise.all([...this.#agents.values()].map((agent) => agent.close()));
    await this.#node?.close();
    this.#pods?.close();
    this.#client.close();
  }
}
