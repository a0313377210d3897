/**
 * An informer: a local copy of a selection of objects that follows the server. It lists, then watches; when a
 * watch ends it continues from its last version, and when that is too old it lists again and reports the
 * differences.
 */
import { StatusError } from '../api/errors/errors.ts';
import type { Client, Selection } from './client.ts';
import { isUnserved } from './refusal.ts';
import type { Resource } from './resources.ts';

const retryFirstMs = 50;
const retryMaxMs = 5_000;
/** Interval of retries for a resource that the server does not have. */
const absentRetryMs = 30_000;

export interface InformerOptions<T> extends Selection {
  /**
   * Called with the object as it is now (undefined when deleted) and as it was before. An object replaced by
   * another of the same name is first reported as deleted.
   */
  readonly changed: (object: T | undefined, previous: T | undefined) => void;
  /** Called with errors, which name the resource. A missing resource is reported once. */
  readonly onError: (error: Error) => void;
  /** Called once when the server does not have the resource; until it has, no objects are known. */
  readonly onAbsent?: () => void;
}

interface Meta {
  readonly metadata: {
    readonly uid?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly resourceVersion?: string;
  };
}

const keyOf = (object: unknown): string => {
  const { namespace = '', name = '' } = (object as Meta).metadata;
  return `${namespace}/${name}`;
};

const uidOf = (object: unknown): string | undefined => (object as Meta).metadata.uid;

const versionOf = (object: unknown): string => (object as Meta).metadata.resourceVersion!;

export class Informer<T> {
  readonly #objects = new Map<string, T>();
  #version: string | undefined;
  #watch: { close(): void } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #retryMs = retryFirstMs;
  #closed = false;
  #isAbsent = false;
  #synced: (() => void) | undefined;

  constructor(
    private readonly client: Client,
    private readonly of: Resource<T>,
    private readonly options: InformerOptions<T>,
  ) {}

  /** Resolves when `changed` has been called for every existing object. */
  start(): Promise<void> {
    const synced = new Promise<void>((resolve) => {
      this.#synced = resolve;
    });
    void this.#go();
    return synced;
  }

  get(namespace: string, name: string): T | undefined {
    return this.#objects.get(`${namespace}/${name}`);
  }

  all(): IterableIterator<T> {
    return this.#objects.values();
  }

  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#watch?.close();
    this.#synced?.();
  }

  async #go(): Promise<void> {
    try {
      if (this.#version === undefined) await this.#list();
      if (!this.#closed) this.#follow();
    } catch (error) {
      if (isUnserved(error)) this.#missed(error as Error);
      else this.#later(error as Error);
    }
  }

  /** Called when the server does not have the resource; it may get it later, with a definition or a newer version. */
  #missed(error: Error): void {
    if (this.#closed) return;
    if (!this.#isAbsent) {
      this.#isAbsent = true;
      this.options.onAbsent?.();
      this.#report(error);
    }
    this.#synced?.();
    this.#timer = setTimeout(() => void this.#go(), absentRetryMs);
  }

  #report(error: Error): void {
    const { apiVersion, resource } = this.of;
    this.options.onError(new Error(`${resource} of ${apiVersion}: ${error.message}`, { cause: error }));
  }

  async #list(): Promise<void> {
    const { items, resourceVersion } = await this.client.list(this.of, this.options);
    if (this.#closed) return;
    const gone = new Set(this.#objects.keys());
    for (const item of items) {
      gone.delete(keyOf(item));
      this.#set(item);
    }
    for (const key of gone) this.#remove(key);
    this.#version = resourceVersion;
    this.#synced?.();
  }

  #follow(): void {
    this.#watch = this.client.watch(this.of, this.options, this.#version!, {
      changed: (type, object) => {
        this.#retryMs = retryFirstMs;
        this.#version = versionOf(object);
        if (type === 'DELETED') this.#remove(keyOf(object), object);
        else this.#set(object);
      },
      bookmark: (version) => {
        this.#retryMs = retryFirstMs;
        this.#version = version;
      },
      ended: (error) => {
        // This copy's version is too old, or the server has lost the versions after it: list again.
        const lost = error instanceof StatusError && (error.code === 410 || error.code === 504);
        if (lost) this.#version = undefined;
        this.#later(lost ? undefined : error);
      },
    });
  }

  #later(error: Error | undefined): void {
    if (this.#closed) return;
    if (error) this.#report(error);
    this.#timer = setTimeout(() => void this.#go(), this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, retryMaxMs);
  }

  #set(object: T): void {
    const key = keyOf(object);
    const previous = this.#objects.get(key);
    if (previous && versionOf(previous) === versionOf(object)) return;
    const same = previous && uidOf(previous) === uidOf(object);
    if (previous && !same) this.#remove(key);
    this.#objects.set(key, object);
    this.#tell(object, same ? previous : undefined);
  }

  #remove(key: string, last?: T): void {
    const previous = this.#objects.get(key);
    this.#objects.delete(key);
    if (previous) this.#tell(undefined, last ?? previous);
  }

  #tell(object: T | undefined, previous: T | undefined): void {
    try {
      this.options.changed(object, previous);
    } catch (error) {
      this.options.onError(error as Error);
    }
  }
}
