/** Live objects: a list of whole objects, or a single one, kept up to date. For short lists. */
import { signal } from '@preact/signals';
import { json, type Query } from './api.ts';
import { follow, type Sink } from './follower.ts';
import type { ApiObject, ListAnswer } from './objects.ts';

/** Objects that are kept; a longer list is cut. */
const objectsMax = 5_000;

export class LiveObjects {
  /** By uid, in the order of the server; a new map with every change, at most once per frame. */
  readonly items = signal<readonly ApiObject[]>([]);
  readonly state = signal<'loading' | 'live' | 'past' | 'refused'>('loading');
  readonly error = signal<Error | undefined>(undefined);
  readonly #byUid = new Map<string, ApiObject>();
  readonly #stop = new AbortController();
  #scheduled = false;

  constructor(path: string, query: Query = {}, at?: number) {
    void follow({ path, query, accept: json, at, signal: this.#stop.signal }, this.#sink(at));
  }

  close(): void {
    this.#stop.abort();
  }

  #sink(at: number | undefined): Sink {
    let seen = new Set<string>();
    return {
      begin: () => {
        seen = new Set();
      },
      page: (page) => {
        for (const item of (page as ListAnswer<ApiObject>).items) {
          seen.add(item.metadata.uid);
          this.#byUid.set(item.metadata.uid, item);
        }
        return this.#byUid.size < objectsMax;
      },
      end: () => {
        for (const uid of this.#byUid.keys()) if (!seen.has(uid)) this.#byUid.delete(uid);
        this.#tell();
        this.error.value = undefined;
        this.state.value = at === undefined ? 'live' : 'past';
      },
      events: (events) => {
        for (const { type, object } of events) {
          const { uid } = (object as ApiObject).metadata;
          if (type === 'DELETED') this.#byUid.delete(uid);
          else if (this.#byUid.size < objectsMax || this.#byUid.has(uid)) this.#byUid.set(uid, object);
        }
        this.#schedule();
      },
      refused: (error) => {
        this.error.value = error;
        this.state.value = 'refused';
      },
    };
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setTimeout(() => this.#tell(), 50);
  }

  #tell(): void {
    this.#scheduled = false;
    this.items.value = [...this.#byUid.values()];
  }
}
