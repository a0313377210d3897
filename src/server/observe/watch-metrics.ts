/** Watch metrics: number of events sent, and of watchers that were too slow. */
import type { Kind } from '../../api/kind/kind.ts';
import type { KindTable } from '../../api/kinds/kinds.ts';
import { composedKey } from '../../composed-key.ts';
import { type Exposition, labelText } from './exposition.ts';

/** The metrics of one kind, shared by all its streams. */
export class WatchCounter {
  events = 0;
  /** Watches that ended because history had moved past them. */
  expired = 0;

  constructor(readonly kind: Kind) {}
}

export class WatchMetrics {
  /** By version and resource, so that a replaced kind continues its counters. */
  readonly #counters = new Map<string, WatchCounter>();

  of(kind: Kind): WatchCounter {
    const id = composedKey(kind.apiVersion, kind.resource);
    let counter = this.#counters.get(id);
    if (!counter) {
      counter = new WatchCounter(kind);
      this.#counters.set(id, counter);
    }
    return counter;
  }

  /** Deletes the metrics of kinds that are no longer served. */
  writeTo(out: Exposition, kinds: KindTable): void {
    for (const [id, { kind }] of this.#counters)
      if (!kinds.resource(kind.apiVersion, kind.resource)) this.#counters.delete(id);
    out.family('apiserver_watch_events_total', 'counter', 'Events sent to watchers.');
    for (const { kind, events } of this.#counters.values()) {
      const { group, version, resource } = kind;
      out.sample(events, labelText({ group, version, kind: kind.kind, resource }));
    }
    out.family('apiserver_terminated_watchers_total', 'counter', 'Watchers that were too slow.');
    for (const { kind, expired } of this.#counters.values())
      if (expired > 0) out.sample(expired, labelText({ group: kind.group, resource: kind.resource }));
  }
}
