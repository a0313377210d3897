/** A cluster for tests: the embedding API, and what tests need beyond it. */
import { randomUUID } from 'node:crypto';
import type { KubeConfig } from '@kubernetes/client-node';
import type { Cluster } from '../cluster/cluster.ts';
import { type ObjectName, placeOf } from '../cluster/manifests/object-place.ts';
import type { StartOptions } from '../cluster/options/start-options.ts';
import { type Duration, durationMs } from './durations.ts';
import type { Faults } from './faults.ts';
import { applyFixtures, type FixtureSource } from './fixtures.ts';
import { Kit } from './kit.ts';
import { eventsAbout } from './object-events.ts';
import type { ObjectVersion } from './object-history.ts';
import type { SeenRequest } from './request-log.ts';
import type { RequestMatch } from './request-match.ts';
import { checkRoles, rightsOf, startUsers, type TestUser } from './test-users.ts';
import { testingPages } from './testing-pages.ts';
import { timelineText } from './timeline.ts';
import { type AnyObject, type Condition, waitForObject } from './waiting.ts';

const settledMs = 10_000;
const waitMs = 10_000;

/** Options of a test cluster: those of `start` that are about a cluster in memory, and its fixtures. */
export interface TestClusterOptions
  extends Omit<StartOptions, 'store' | 'dataDir' | 'etcd' | 'leaderElection' | 'users' | 'chance'> {
  /** Makes uids, name suffixes and other choices the same each time. Default: they are random. */
  readonly seed?: number | string;
  /** Users of the secure door, which is then open, with their rights. */
  readonly users?: readonly TestUser[];
  /** Objects that are there from the beginning: YAML text, the path of a file or folder, or objects. */
  readonly fixtures?: FixtureSource;
  /** Serve the kit under `/wherry/testing/` for programs in other languages. Default false. */
  readonly http?: boolean;
}

/** The clock of a test cluster: everything in the cluster that has to do with time follows it. */
export interface TestClock {
  /** The time of the cluster. */
  readonly now: Date;
  readonly frozen: boolean;
  /** Stops it, at the present time or at a given one. */
  freeze(at?: Date | string): void;
  /** Lets it run again, from where it stands. */
  thaw(): void;
  /**
   * Moves it forward by `10m`, `1h30m`, `2d` or a number of milliseconds, from timer to timer. Resolves when the cluster
   * has done everything that was due.
   */
  advance(duration: Duration): Promise<void>;
}

/** A cluster for tests. */
export interface TestCluster {
  /** Where the API answers, such as `http://127.0.0.1:43121`. */
  readonly url: string;
  /** A kubeconfig of the local door, where every client may do everything; YAML text. */
  readonly kubeconfig: string;
  /** The cluster as `start` gives it. */
  readonly cluster: Cluster;
  readonly clock: TestClock;
  readonly faults: Faults;
  /** A kubeconfig for one of the option `users`; YAML text. */
  kubeconfigFor(user: string): string;
  /** The token of one of the option `users`. */
  tokenFor(user: string): string;
  /** A KubeConfig of `@kubernetes/client-node`, which has to be installed; for the local door, or for a user. */
  kubeConfig(user?: string): Promise<KubeConfig>;
  /** Keeps the present state of all objects under a name. */
  snapshot(name: string): Promise<void>;
  /** Returns to a state. Watches of clients end with 410, and list again. */
  restore(name: string): Promise<void>;
  /** Returns to the state after the start; faults and records are gone, the clock shows the time of day. */
  reset(): Promise<void>;
  /** A second cluster with the same objects, independent from now on. It is closed with this one at the latest. */
  fork(): Promise<TestCluster>;
  /** Resolves when controllers, scheduler and nodes have nothing left to do; rejects with who has, after 10 seconds. */
  settled(options?: { readonly timeoutMs?: number }): Promise<void>;
  /**
   * Resolves with the first state of an object that fits, by a watch. The error after 10 seconds shows its last state and
   * its events.
   */
  waitFor(
    object: ObjectName,
    condition: Condition,
    options?: { readonly timeoutMs?: number },
  ): Promise<AnyObject | undefined>;
  /** The requests that the cluster got and that match, oldest first. */
  requests(match?: RequestMatch): SeenRequest[];
  /** Every version of an object, oldest first, with what it changed and who wrote it. */
  history(object: ObjectName): ObjectVersion[];
  /** The events about an object, or all. */
  events(object?: ObjectName): AnyObject[];
  /** What happened to an object and by whom, as text for people. */
  timeline(object: ObjectName): string;
  /** Applies objects: YAML text, the path of a file or folder, or objects. Gives them as they are stored. */
  apply(source: FixtureSource): Promise<AnyObject[]>;
  /** Stops the cluster. Safe to call twice. */
  close(): Promise<void>;
}

/** See `testCluster`. */
export async function startTestCluster(options: TestClusterOptions): Promise<TestCluster> {
  const { seed, users = [], fixtures, http = false, ...start } = options;
  const known = startUsers(users, randomUUID);
  const secure = start.secure ?? users.length > 0;
  const pages = http ? testingPages : undefined;
  const kit = await Kit.start({ start: { ...start, store: 'memory', secure, users: known }, seed, pages });
  try {
    await kit.cluster.nodesReady;
    await applyFixtures(kit.writing, rightsOf(users));
    if (fixtures !== undefined) await applyFixtures(kit.writing, fixtures);
    checkRoles(users, kit.registry);
    await kit.convergence.reached(settledMs);
    await kit.begin();
  } catch (error) {
    await kit.close();
    throw error;
  }
  return new RunningTestCluster(kit, new Map(known.map(({ name, token }) => [name, token!])));
}

class RunningTestCluster implements TestCluster {
  readonly clock: TestClock;
  readonly faults: Faults;
  readonly #kit: Kit;
  readonly #forks = new Set<TestCluster>();

  constructor(
    kit: Kit,
    private readonly tokens: ReadonlyMap<string, string>,
    /** Called when it is closed. */
    private readonly onClose: () => void = () => {},
  ) {
    this.#kit = kit;
    this.faults = kit.faults;
    this.clock = {
      get now() {
        return new Date(kit.clock.nowMs());
      },
      get frozen() {
        return !kit.clock.isRunning;
      },
      freeze: (at) => kit.clock.freeze(at === undefined ? undefined : timeOf(at)),
      thaw: () => kit.clock.thaw(),
      advance: async (duration) => kit.clock.advance(durationMs(duration)),
    };
  }

  get url(): string {
    return this.cluster.url;
  }

  get kubeconfig(): string {
    return this.cluster.kubeconfig;
  }

  get cluster(): Cluster {
    return this.#kit.cluster;
  }

  kubeconfigFor(user: string): string {
    return this.cluster.kubeconfigFor(user);
  }

  tokenFor(user: string): string {
    const token = this.tokens.get(user);
    if (token === undefined) throw new Error(`there is no user ${JSON.stringify(user)}`);
    return token;
  }

  async kubeConfig(user?: string): Promise<KubeConfig> {
    const { KubeConfig } = await import('@kubernetes/client-node').catch((cause: Error) => {
      throw new Error(`a KubeConfig needs the package @kubernetes/client-node: ${remedy(cause)}`, { cause });
    });
    const config = new KubeConfig();
    config.loadFromString(user === undefined ? this.kubeconfig : this.kubeconfigFor(user));
    return config;
  }

  snapshot(name: string): Promise<void> {
    return this.#kit.snapshot(name);
  }

  restore(name: string): Promise<void> {
    return this.#kit.restore(name);
  }

  reset(): Promise<void> {
    return this.#kit.reset();
  }

  async fork(): Promise<TestCluster> {
    const fork: TestCluster = new RunningTestCluster(await this.#kit.fork(), this.tokens, () =>
      this.#forks.delete(fork),
    );
    this.#forks.add(fork);
    return fork;
  }

  settled({ timeoutMs = settledMs }: { readonly timeoutMs?: number } = {}): Promise<void> {
    return this.#kit.convergence.reached(timeoutMs);
  }

  async waitFor(
    object: ObjectName,
    condition: Condition,
    { timeoutMs = waitMs }: { readonly timeoutMs?: number } = {},
  ): Promise<AnyObject | undefined> {
    const { registry } = this.#kit;
    return waitForObject(registry, placeOf(registry, object), condition, timeoutMs);
  }

  requests(match?: RequestMatch): SeenRequest[] {
    return this.#kit.requests.matching(match);
  }

  history(object: ObjectName): ObjectVersion[] {
    return this.#kit.history.of(placeOf(this.#kit.registry, object));
  }

  events(object?: ObjectName): AnyObject[] {
    const { registry } = this.#kit;
    return eventsAbout(registry, object === undefined ? undefined : placeOf(registry, object)) as AnyObject[];
  }

  timeline(object: ObjectName): string {
    const { registry, history, requests } = this.#kit;
    const place = placeOf(registry, object);
    const about = requests.matching({ kind: place.kind.kind, namespace: place.namespace, name: place.name });
    return timelineText(place, history.of(place), about, eventsAbout(registry, place));
  }

  apply(source: FixtureSource): Promise<AnyObject[]> {
    return applyFixtures(this.#kit.writing, source);
  }

  async close(): Promise<void> {
    this.onClose();
    await Promise.all([...[...this.#forks].map((fork) => fork.close()), this.#kit.close()]);
  }
}

function remedy({ message, code }: NodeJS.ErrnoException): string {
  if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') return 'install it';
  return message.includes('--experimental-vm-modules')
    ? 'Jest loads it with NODE_OPTIONS=--experimental-vm-modules'
    : `it cannot be loaded: ${message}`;
}

function timeOf(at: Date | string): number {
  const ms = new Date(at).getTime();
  if (Number.isNaN(ms)) throw new RangeError(`${JSON.stringify(at)} is no time`);
  return ms;
}
