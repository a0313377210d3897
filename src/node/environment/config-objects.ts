/**
 * A short-lived cache of the config maps and secrets that pods of this node refer to. When a hundred pods
 * refresh their volumes at the same time, the server is asked once.
 */
import { StatusError } from '../../api/errors/errors.ts';
import type { ConfigMap, Secret } from '../../api/generated/types.ts';
import type { Client } from '../../client/client.ts';
import { configMaps, type Resource, secrets } from '../../client/resources.ts';
import { wallClock } from '../../clock.ts';
import { composedKey } from '../../composed-key.ts';

/** Maximum age of a cached answer. */
const ageMaxMs = 3_000;
/** Maximum number of cached objects; each may be a megabyte. */
const objectsMax = 100;

/**
 * `fresh` asks the server: a user who changes a config map and then creates a pod expects the pod to see the
 * change. `cached` is for refreshing volumes that are already set up.
 */
export type Freshness = 'fresh' | 'cached';

export interface ConfigObjectsOptions {
  readonly now?: () => number;
  readonly ageMaxMs?: number;
}

interface CachedObject {
  readonly readAtMs: number;
  readonly object: Promise<unknown>;
}

export class ConfigObjects {
  /** In the order they were read, so the oldest is evicted first. */
  readonly #entries = new Map<string, CachedObject>();
  readonly #now: () => number;
  readonly #ageMaxMs: number;
  #closed = false;

  constructor(
    private readonly client: Client,
    options: ConfigObjectsOptions = {},
  ) {
    this.#now = options.now ?? wallClock;
    this.#ageMaxMs = options.ageMaxMs ?? ageMaxMs;
  }

  /** Undefined when it does not exist. */
  configMap(
    namespace: string,
    name: string,
    freshness: Freshness = 'cached',
  ): Promise<ConfigMap | undefined> {
    return this.#read(configMaps, namespace, name, freshness);
  }

  /** Undefined when it does not exist. */
  secret(namespace: string, name: string, freshness: Freshness = 'cached'): Promise<Secret | undefined> {
    return this.#read(secrets, namespace, name, freshness);
  }

  close(): void {
    this.#closed = true;
    this.#entries.clear();
  }

  #read<T>(of: Resource<T>, namespace: string, name: string, freshness: Freshness): Promise<T | undefined> {
    if (this.#closed) return Promise.reject(new Error('the node agent is closing'));
    this.#forgetOld();
    const key = composedKey(of.resource, namespace, name);
    const known = this.#entries.get(key);
    if (known && freshness === 'cached') return known.object as Promise<T | undefined>;
    const object = this.client.get(of, namespace, name).catch((error: unknown) => {
      if (error instanceof StatusError && error.code === 404) return undefined;
      throw error;
    });
    const entry = { readAtMs: this.#now(), object };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    // Cache only objects that exist: a pod that waits for a missing one must see it as soon as it is created.
    const drop = (): void => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
    };
    object.then((found) => found ?? drop(), drop);
    return object;
  }

  #forgetOld(): void {
    const oldestMs = this.#now() - this.#ageMaxMs;
    for (const [key, { readAtMs }] of this.#entries) {
      if (readAtMs > oldestMs && this.#entries.size < objectsMax) return;
      this.#entries.delete(key);
    }
  }
}
