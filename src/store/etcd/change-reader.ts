/** Turns events of etcd into changes of the store. */
import type { Change } from '../store.ts';
import type { Keyspace } from './keyspace.ts';
import type { EtcdEvent } from './messages.ts';
import { type Stamped, unstamp } from './stamp.ts';

export interface ReadChanges {
  readonly changes: readonly Change[];
  /** The mark of each change, in the order of the changes; undefined for a write without a mark. */
  readonly marks: readonly (string | undefined)[];
  /** Revision of the last event, which need not be a change of an object. */
  readonly last: number;
  /** Whether a server has come, gone or written its key. */
  readonly servers: boolean;
}

/** Reads one sequence of events. The times of its changes never go back. */
export class ChangeReader {
  readonly #keyspace: Keyspace;
  readonly #now: () => number;
  #timeMs = 0;

  constructor(keyspace: Keyspace, now: () => number) {
    this.#keyspace = keyspace;
    this.#now = now;
  }

  read(events: readonly EtcdEvent[]): ReadChanges {
    const deletions = this.#deletions(events);
    const changes: Change[] = [];
    const marks: (string | undefined)[] = [];
    const nowMs = this.#now();
    let servers = false;
    for (const event of events) {
      const key = this.#keyspace.decode(event.key);
      if (key === undefined) {
        servers ||= this.#keyspace.isServer(event.key);
        continue;
      }
      const revision = event.modRevision;
      const stamped = event.deleted ? deletions?.get(revision) : unstamp(event.value);
      // Use the time in the stamp, but never one in the future or before the last change: a server with a wrong clock
      // can then neither prolong nor shorten how long history is kept.
      this.#timeMs = Math.min(nowMs, Math.max(this.#timeMs, stamped?.timeMs ?? nowMs));
      changes.push({ key, revision, timeMs: this.#timeMs, value: event.deleted ? null : stamped!.value });
      marks.push(stamped?.mark);
    }
    return { changes, marks, last: events.at(-1)!.modRevision, servers };
  }

  /** The stamps of deletions, by revision. */
  #deletions(events: readonly EtcdEvent[]): Map<number, Stamped> | undefined {
    let found: Map<number, Stamped> | undefined;
    for (const { key, value, modRevision } of events) {
      if (!key.equals(this.#keyspace.deletion)) continue;
      found ??= new Map();
      found.set(modRevision, unstamp(value));
    }
    return found;
  }
}
