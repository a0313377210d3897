/**
 * A short-lived cache of the config maps and secrets that pods of this node refer to. When a hundred pods refresh their
 * volumes at the same time, the server is asked once. Objects shown in volumes are watched, if the agent may do so, one
 * watch for each: then volumes change with them.
 */
import { StatusError } from '../../api/errors/errors.ts';
import type { ConfigMap, Secret } from '../../api/generated/types.ts';
import type { Client } from '../../client/client.ts';
import { Informer } from '../../client/informer.ts';
import { configMaps, type Resource, secrets } from '../../client/resources.ts';
import { wallClock } from '../../clock.ts';
import { composedKey } from '../../composed-key.ts';

/** Maximum age of a cached answer. */
const ageMaxMs = 3_000;
/** Maximum number of cached objects; each may be a megabyte. */
const objectsMax = 100;
/** Maximum number of watched objects; volumes of others are refreshed periodically. */
const followedMax = 500;

/**
 * `fresh` asks the server: a user who changes a config map and then creates a pod expects the pod to see the
 * change. `cached` is for refreshing volumes that are already set up.
 */
export type Freshness = 'fresh' | 'cached';

export interface ConfigObjectsOptions {
  readonly now?: () => number;
  readonly ageMaxMs?: number;
  /** Whether the client may watch the objects. Default: it may not. */
  readonly follows?: boolean;
  readonly onError?: (error: Error) => void;
}

/** A config map or a secret, by its name. */
export interface ShownObject {
  readonly resource: 'configmaps' | 'secrets';
  readonly namespace: string;
  readonly name: string;
}

interface Followed {
  readonly informer: { close(): void };
  readonly listeners: Set<() => void>;
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
  readonly #followed = new Map<string, Followed>();
  #closed = false;

  constructor(
    private readonly client: Client,
    private readonly options: ConfigObjectsOptions = {},
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

  /** Calls the listener at the beginning and when the object has changed; returns a function that ends this. */
  follow(shown: ShownObject, listener: () => void): () => void {
    const { resource, namespace, name } = shown;
    const key = composedKey(resource, namespace, name);
    if (!this.options.follows || this.#closed) return () => undefined;
    if (!this.#followed.has(key) && this.#followed.size >= followedMax) return () => undefined;
    const followed = this.#followed.get(key) ?? this.#begin(shown, key);
    this.#followed.set(key, followed);
    followed.listeners.add(listener);
    return () => {
      followed.listeners.delete(listener);
      if (followed.listeners.size || this.#followed.get(key) !== followed) return;
      this.#followed.delete(key);
      followed.informer.close();
    };
  }

  close(): void {
    this.#closed = true;
    this.#entries.clear();
    for (const { informer } of this.#followed.values()) informer.close();
    this.#followed.clear();
  }

  #begin({ resource, namespace, name }: ShownObject, key: string): Followed {
    const listeners = new Set<() => void>();
    const informer = new Informer<ConfigMap | Secret>(
      this.client,
      resource === 'secrets' ? secrets : configMaps,
      {
        namespace,
        fieldSelector: `metadata.name=${name}`,
        changed: (object) => {
          this.#entries.delete(key);
          // Volumes keep the files of a deleted object.
          if (!object) return;
          for (const listener of listeners) listener();
        },
        onError: this.options.onError ?? (() => undefined),
      },
    );
    void informer.start();
    return { informer, listeners };
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
