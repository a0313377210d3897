/**
 * Follows another cluster: one watch for each of its resources that can be listed and watched, as they come and go. It sends
 * GET requests alone.
 */
import { StatusError } from '../../api/errors/errors.ts';
import { customResourceDefinition } from '../../api/kinds/apiextensions/custom-resource-definition.ts';
import { parseExact } from '../../api/text/exact-json.ts';
import { isJsonObject } from '../../api/text/object.ts';
import { builtinKind, knownInOtherVersion } from '../dump/copied-kinds.ts';
import type { NamedObject } from '../dump/stored-form.ts';
import type { SecretMode } from '../source/secret-values.ts';
import type { SourceClient } from '../source/source-client.ts';
import { isDefinitions, type SourceKind, sourceKinds, sourceName } from '../source/source-kinds.ts';
import { SourceObjects } from '../source/source-objects.ts';
import { FollowerFigures } from './follower-figures.ts';
import { type FollowerParts, KindFollower } from './kind-follower.ts';
import type { Recording } from './recording.ts';

/** How often discovery is read without a reason: resources of aggregated servers come and go without a definition. */
const discoveryMs = 5 * 60_000;
/** When it is read after a definition has changed: servers need a moment to serve its kinds. */
const changedMs = [200, 2_000, 15_000] as const;

/** How often it is written which resources are watched. */
const lifeMs = 10_000;
/** Failures that follow each other within this time are reported once. */
const failedEveryMs = 60_000;

interface ClusterFollowerOptions {
  readonly client: SourceClient;
  readonly recording: Recording;
  /** Resources such as `pods` or `deployments.apps`; undefined: all. */
  readonly kinds: readonly string[] | undefined;
  readonly secrets: SecretMode;
  readonly metadataOnly: boolean;
  readonly nowMs: () => number;
  readonly random: () => number;
  readonly warn: (message: string) => void;
}

export class ClusterFollower {
  readonly figures = new FollowerFigures();
  readonly #objects = new SourceObjects();
  readonly #followers = new Map<string, { readonly follower: KindFollower; readonly done: Promise<void> }>();
  readonly #ending = new AbortController();
  readonly #timers = new Set<NodeJS.Timeout>();
  #identity: Promise<string> | undefined;
  #discovering: Promise<void> | undefined;
  #isRunning = false;
  /** When something failed last. */
  #failedMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly options: ClusterFollowerOptions) {}

  /** Resources that are followed. */
  get resources(): string[] {
    return [...this.#followers.keys()];
  }

  /**
   * Records what is there, unless it is recorded already. Throws when the cluster cannot be read at all.
   * @param show called while it lists
   */
  async begin(show: (resource: string, done: number, total: number) => void): Promise<void> {
    const { recording, kinds: wanted, warn } = this.options;
    for await (const { value } of recording.objects(customResourceDefinition.id))
      this.#objects.note(parseExact(value.toString('utf8')) as NamedObject);
    const found = await this.#discover();
    for (const name of wanted ?? [])
      if (!found.some((kind) => kind.resource === name || sourceName(kind) === name))
        warn(`${name}: the cluster does not have it, or not yet`);
    for (const [done, kind] of found.entries()) {
      const follower = new KindFollower(kind, this.#parts());
      show(follower.name, done, found.length);
      try {
        await follower.begin();
      } catch (error) {
        // What may not be read is asked for again later.
        if (!(error instanceof StatusError)) throw error;
        warn(`${follower.name}: ${error.code === 403 ? 'it may not be read (403)' : error.message}`);
      }
      this.#followers.set(follower.name, { follower, done: Promise.resolve() });
    }
  }

  /** Follows everything, until it is stopped. */
  run(): void {
    this.#isRunning = true;
    for (const { follower } of [...this.#followers.values()]) this.#start(follower);
    const timer = setInterval(() => this.#rediscover(), discoveryMs);
    timer.unref();
    this.#timers.add(timer);
    const life = setInterval(() => void this.#live(), lifeMs);
    life.unref();
    this.#timers.add(life);
  }

  async stop(): Promise<void> {
    if (this.#isRunning) await this.#live();
    this.#ending.abort(new Error('the recording ends'));
    for (const timer of this.#timers) clearInterval(timer);
    for (const { follower } of this.#followers.values()) follower.stop();
    await Promise.all([...this.#followers.values()].map(({ done }) => done));
    await this.#discovering;
  }

  /** A recorder that begins again knows from it since when it has not seen the cluster. */
  async #live(): Promise<void> {
    const { recording, nowMs, warn } = this.options;
    await recording
      .live(this.figures.in('watching'), nowMs())
      .catch((error: Error) => warn(`the recording cannot be written: ${error.message}`));
  }

  /** The identity of a cluster is the uid of its oldest namespace. */
  identity(): Promise<string> {
    this.#identity ??= this.#askIdentity();
    return this.#identity;
  }

  async #askIdentity(): Promise<string> {
    try {
      const answer = await this.options.client.get('/api/v1/namespaces/kube-system');
      const { uid } = isJsonObject(answer) && isJsonObject(answer['metadata']) ? answer['metadata'] : {};
      return typeof uid === 'string' ? uid : '';
    } catch (error) {
      if (error instanceof StatusError && (error.code === 403 || error.code === 404)) return '';
      this.#identity = undefined;
      throw error;
    }
  }

  #start(follower: KindFollower): void {
    const done = follower.run().then(() => {
      if (!follower.isGone) return;
      this.#followers.delete(follower.name);
      this.#rediscoverLater();
    });
    this.#followers.set(follower.name, { follower, done });
  }

  #parts(): FollowerParts {
    const { client, recording, secrets, metadataOnly, nowMs, random, warn } = this.options;
    return {
      client,
      recording,
      secrets,
      metadataOnly,
      nowMs,
      random,
      warn,
      objects: this.#objects,
      figures: this.figures,
      identity: () => this.identity(),
      failed: (resource, why) => {
        this.#identity = undefined;
        // All resources fail together when the cluster is away: one sentence says it.
        if (nowMs() - this.#failedMs > failedEveryMs) warn(`${resource}: ${why}; trying again`);
        this.#failedMs = nowMs();
      },
      definitionsChanged: () => this.#rediscoverLater(),
    };
  }

  async #discover(): Promise<SourceKind[]> {
    const { client, kinds, secrets, warn } = this.options;
    const found = await sourceKinds(client, (what, why) => warn(`${what}: ${why}`));
    const wanted = kinds && new Set(kinds);
    return withoutTwins(found).filter(
      (kind) =>
        kind.isWatched &&
        (!wanted || isDefinitions(kind) || wanted.has(kind.resource) || wanted.has(sourceName(kind))) &&
        !(secrets === 'none' && sourceName(kind) === 'secrets'),
    );
  }

  #rediscoverLater(): void {
    if (!this.#isRunning || this.#ending.signal.aborted) return;
    for (const ms of changedMs) {
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        this.#rediscover();
      }, ms);
      timer.unref();
      this.#timers.add(timer);
    }
  }

  #rediscover(): void {
    if (this.#ending.signal.aborted) return;
    this.#discovering ??= this.#takeIn()
      .catch((error: Error) => {
        if (!this.#ending.signal.aborted) this.options.warn(`discovery: ${error.message}`);
      })
      .finally(() => {
        this.#discovering = undefined;
      });
  }

  /** Follows resources that have come, and those of which another version is preferred now. */
  async #takeIn(): Promise<void> {
    for (const kind of await this.#discover()) {
      if (this.#ending.signal.aborted) return;
      const known = this.#followers.get(sourceName(kind));
      if (known?.follower.source.apiVersion === kind.apiVersion) continue;
      known?.follower.stop();
      await known?.done;
      this.#start(new KindFollower(kind, this.#parts()));
    }
  }
}

/** Some objects are served by two groups, such as ingresses by `extensions` and `networking.k8s.io`: they are recorded once. */
function withoutTwins(kinds: readonly SourceKind[]): SourceKind[] {
  const storageOf = ({ apiVersion, kind }: SourceKind) =>
    (builtinKind(apiVersion, kind) ?? knownInOtherVersion(apiVersion, kind))?.storage;
  const chosen = new Map<string, SourceKind>();
  for (const kind of kinds) {
    const storage = storageOf(kind);
    if (!storage) continue;
    if (!chosen.has(storage.id) || storage.group === kind.group) chosen.set(storage.id, kind);
  }
  return kinds.filter((kind) => {
    const storage = storageOf(kind);
    return !storage || chosen.get(storage.id) === kind;
  });
}
