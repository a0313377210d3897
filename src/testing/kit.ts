/**
 * The test kit of one cluster. It is made before the cluster starts, because it provides clock, store and a step for
 * requests, and gets the cluster's parts when they exist.
 */
import { randomInt, randomUUID } from 'node:crypto';
import type { Cluster } from '../cluster/cluster.ts';
import type { ClusterParts } from '../cluster/cluster-parts.ts';
import type { StartOptions } from '../cluster/options/start-options.ts';
import type { Instruments } from '../cluster/shared/instruments.ts';
import { startWith } from '../cluster/start.ts';
import type { Registry, Sources } from '../registry/registry.ts';
import { returnTo, storedState } from '../registry/stored-state.ts';
import { parseStoreKey } from '../registry/view/key.ts';
import type { Writing } from '../registry/writing.ts';
import type { RequestContext } from '../server/http/context.ts';
import type { MemoryState } from '../store/memory.ts';
import type { Victims } from './chaos.ts';
import { Convergence } from './convergence.ts';
import { type Accidents, InjectedFaults } from './faults.ts';
import { ObjectHistory } from './object-history.ts';
import { Randomness } from './randomness.ts';
import { RefusingStore } from './refusing-store.ts';
import { factsOf, RequestLog } from './request-log.ts';
import type { RequestFacts } from './request-match.ts';
import { VirtualClock } from './virtual-clock.ts';

/** How long the clock waits at each timer for the cluster to finish its work. */
const quietMaxMs = 30_000;
/** Maximum number of snapshots of one cluster. */
const snapshotsMax = 1_000;

/** A state to return to. */
export interface Snapshot {
  readonly state: MemoryState;
  /** The nodes of this process that were running. */
  readonly nodes: readonly string[];
  /** The position in the seeded random sequence. */
  readonly position: number | undefined;
}

/** The kit over HTTP. */
interface KitPages {
  /** The OpenAPI documents about its paths. */
  readonly documents: Readonly<Record<string, object>>;
  /** Answers requests for its paths; false for other paths. */
  answer(context: RequestContext): Promise<boolean>;
}

export interface KitOptions {
  readonly start: StartOptions;
  readonly seed: number | string | undefined;
  /** Makes the HTTP paths of the kit on the local door; undefined: the kit has no paths. */
  readonly pages?: ((kit: Kit) => KitPages) | undefined;
  /** The initial state; undefined: empty. */
  readonly snapshot?: Snapshot;
}

export class Kit {
  readonly clock: VirtualClock;
  readonly faults: InjectedFaults;
  readonly requests: RequestLog;
  readonly history = new ObjectHistory();
  readonly snapshots = new Map<string, Snapshot>();
  readonly #randomness: Randomness | undefined;
  #store: RefusingStore | undefined;
  #writing: Writing | undefined;
  #cluster: Cluster | undefined;
  #parts: ClusterParts | undefined;
  #convergence: Convergence | undefined;
  #baseline: Snapshot | undefined;

  private constructor(private readonly options: KitOptions) {
    const { seed, snapshot } = options;
    this.#randomness = seed === undefined ? undefined : new Randomness(seed);
    if (this.#randomness && snapshot?.position !== undefined) this.#randomness.position = snapshot.position;
    this.clock = new VirtualClock({
      isBusy: () => this.requests.unanswered > 0 || (this.#convergence?.isBusy() ?? false),
      quiet: async () =>
        this.#convergence?.reached(quietMaxMs, 'the clock cannot move on', () => this.#askers()),
    });
    this.faults = new InjectedFaults(this.#victims());
    this.requests = new RequestLog(this.clock.nowMs);
  }

  /** Starts a cluster with a kit. Resolves when its nodes are registered and everything has settled. */
  static async start(options: KitOptions): Promise<Kit> {
    const kit = new Kit(options);
    const { cluster, parts } = await startWith(options.start, kit.#instruments());
    kit.#cluster = cluster;
    kit.#parts = parts;
    kit.#convergence = new Convergence(parts, kit.clock);
    return kit;
  }

  get cluster(): Cluster {
    return this.#cluster!;
  }

  /** For verbs that write. */
  get writing(): Writing {
    return this.#writing!;
  }

  get registry(): Registry {
    return this.writing.registry;
  }

  get convergence(): Convergence {
    return this.#convergence!;
  }

  /** Makes the current state the one that `reset` returns to. */
  async begin(): Promise<void> {
    this.#baseline = await this.#taken();
    this.requests.clear();
  }

  async snapshot(name: string): Promise<void> {
    if (!this.snapshots.has(name) && this.snapshots.size >= snapshotsMax)
      throw new RangeError(`there are ${snapshotsMax} snapshots already`);
    this.snapshots.set(name, await this.#taken());
  }

  async restore(name: string): Promise<void> {
    const snapshot = this.snapshots.get(name);
    if (!snapshot) throw new Error(`there is no snapshot ${JSON.stringify(name)}`);
    await this.#return(snapshot);
  }

  /** Returns to the state after the start: objects, nodes, clock and seed; removes faults and records. */
  async reset(): Promise<void> {
    this.faults.clear();
    this.clock.reset();
    await this.#return(this.#baseline!);
    this.requests.clear();
    this.history.clear(this.#baseline!.state.items);
  }

  /** A second cluster with the same objects. */
  async fork(): Promise<Kit> {
    const snapshot = await this.#taken();
    const { nodes } = snapshot;
    const fork = await Kit.start({
      ...this.options,
      start: { ...this.options.start, port: 0, simulatedNodes: 0 },
      snapshot,
    });
    for (const [name, taken] of this.snapshots) fork.snapshots.set(name, taken);
    await Promise.all(nodes.map((name) => fork.#parts!.nodes.restart(name, { resumes: true })));
    await fork.begin();
    fork.history.clear(snapshot.state.items);
    return fork;
  }

  async close(): Promise<void> {
    this.clock.thaw();
    await this.#cluster?.close();
    this.clock.close();
  }

  async #taken(): Promise<Snapshot> {
    const nodes = [...this.#parts!.nodes.agents.keys()];
    return { state: await storedState(this.#store!), nodes, position: this.#randomness?.position };
  }

  async #return({ state, nodes, position }: Snapshot): Promise<void> {
    const { nodes: local } = this.#parts!;
    const gone = [...local.agents.keys()].filter((name) => !nodes.includes(name));
    await Promise.all(gone.map((name) => local.drop(name)));
    await returnTo(this.#store!.unrefused, this.registry.view, () => state.items);
    const missing = nodes.filter((name) => !local.agents.has(name));
    await Promise.all(missing.map((name) => local.restart(name, { resumes: true })));
    if (this.#randomness && position !== undefined) this.#randomness.position = position;
  }

  /** Requests that are being answered; the clock waits for them, because their deadlines are on the same clock. */
  #askers(): string[] {
    const { unanswered } = this.requests;
    return unanswered > 0 ? [`${unanswered} requests`] : [];
  }

  #instruments(): Instruments {
    const pages = this.options.pages?.(this);
    return {
      sources: this.#sources(),
      timers: this.clock,
      openStore: (options) => {
        this.#store = new RefusingStore(options, this.options.snapshot?.state, (key) => this.#refuses(key));
        return this.#store;
      },
      step: (context) => this.#see(context),
      observer: (context, code) => this.requests.end(context, code),
      watched: (context, stream) => this.faults.watched(context, factsOf(context, this.registry), stream),
      page: pages ? (context) => pages.answer(context) : async () => false,
      documents: pages?.documents,
      onCommit: (request, revision) => this.history.noteWriter(request, revision),
      attach: (writing) => {
        this.#writing = writing;
        this.history.attach(writing.registry);
      },
    };
  }

  #sources(): Sources {
    const randomness = this.#randomness;
    return {
      nowMs: this.clock.nowMs,
      uid: () => randomness?.uid() ?? randomUUID(),
      randomBelow: (bound) => randomness?.below(bound) ?? randomInt(bound),
    };
  }

  /** Records a request and applies faults, except for requests to the kit itself. */
  #see(context: RequestContext): void | Promise<void> {
    if (context.info.path.startsWith('/wherry/')) return;
    const facts = factsOf(context, this.registry);
    this.requests.begin(context, facts);
    return this.faults.apply(context, facts);
  }

  #refuses(key: string): boolean {
    return this.faults.refusesWrite((): RequestFacts => {
      const { id, namespace, name } = parseStoreKey(key);
      const kind = [...this.registry.kinds.stored()].find((one) => one.id === id);
      const [kindName = '', resource = ''] = [kind?.kind, kind?.resource];
      return {
        verb: '',
        kind: kindName,
        resource,
        subresource: '',
        namespace,
        name,
        userAgent: '',
        user: '',
      };
    });
  }

  #victims(): Omit<Victims, 'watches'> {
    const agents = () => [...this.#parts!.nodes.agents];
    return {
      accidents: this.#accidents(),
      timers: this.clock,
      nodes: () => agents().map(([name]) => name),
      containers: () => agents().flatMap(([, agent]) => agent.runningContainers()),
    };
  }

  #accidents(): Accidents {
    return {
      dropNode: async (name) => {
        const { nodes } = this.#parts!;
        if (!nodes.agents.has(name))
          throw new Error(
            `there is no simulated node ${JSON.stringify(name)}, and no real one in this process`,
          );
        await nodes.drop(name);
      },
      restartNode: (name) => this.#parts!.nodes.restart(name),
      killContainer: ({ namespace, name }, container) => {
        const { agents } = this.#parts!.nodes;
        if (![...agents.values()].some((agent) => agent.killContainer(namespace, name, container)))
          throw new Error(`no container ${container ?? ''} of the pod ${namespace}/${name} runs`);
      },
    };
  }
}
