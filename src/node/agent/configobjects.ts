/**
 * Config objects: the config maps and secrets that pods of this node refer to. A hundred pods that look after their
 * volumes at the same time ask the server once.
 */
import { StatusError } from '../../api/errors.ts';
import type { ConfigMap, Secret } from '../../api/generated/types.ts';
import type { Client } from '../../client/client.ts';
import { configMaps, type Resource, secrets } from '../../client/resources.ts';
import { wallClock } from '../../clock.ts';

/** How old an answer may be when a cached one will do. */
const ageMaxMs = 3_000;
/** Objects kept; each may have a megabyte. */
const objectsMax = 100;

/**
 * `fresh` asks the server: who changes a config map and then makes a pod expects the pod to see the change. `cached`
 * is for looking after volumes that are set up already.
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
  /** In the order they were read. */
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

  /** Undefined when there is none. */
  configMap(
    namespace: string,
    name: string,
    freshness: Freshness = 'cached',
  ): Promise<ConfigMap | undefined> {
    return this.#read(configMaps, namespace, name, freshness);
  }

  /** Undefined when there is none. */
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
    const key = `${of.resource}/${namespace}/${name}`;
    const known = this.#entries.get(key);
    if (known && freshness === 'cached') return known.object as Promise<T | undefined>;
    const object = this.client.get(of, namespace, name).catch((error: unknown) => {
      if (error instanceof StatusError && error.code === 404) return undefined;
      throw error;
    });
    const entry = { readAtMs: this.#now(), object };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    // Only what is there is kept: who waits for an object is to see it as soon as it is made.
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
