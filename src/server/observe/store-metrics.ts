/**
 * Store metrics: duration of writes and number of objects. The names contain `etcd`, as in Kubernetes, because
 * dashboards look for them, whatever the store is.
 */
import { groupResource, type ResourceId } from '../../api/kind/kind.ts';
import type { KindTable } from '../../api/kinds/kinds.ts';
import type { Registry } from '../../registry/registry.ts';
import { SEPARATOR } from '../../store/store.ts';
import { type Exposition, Histogram, labelText } from './exposition.ts';

/** Buckets begin below Kubernetes' 5 ms: a store in the same process takes a fraction of that. */
const secondsBounds: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 5, 10, 30, 60,
];

class Series {
  readonly seconds = new Histogram(secondsBounds);
  count = 0;
  errors = 0;

  constructor(
    readonly id: string,
    readonly labels: string,
  ) {}
}

export class StoreMetrics {
  readonly #series = new Map<string, Series>();
  /** Records the duration of a write; `failed` when the store failed. */
  observe(operation: string, key: string, tookMs: number, failed: boolean): void {
    const id = key.slice(0, Math.max(key.indexOf(SEPARATOR), 0));
    const written = `${operation} ${id}`;
    let series = this.#series.get(written);
    if (!series) {
      series = new Series(id, labelText({ operation, ...groupResource(id) }));
      this.#series.set(written, series);
    }
    series.count++;
    if (failed) series.errors++;
    series.seconds.observe(tookMs / 1000);
  }

  /** Deletes the series of resources that are no longer served. */
  writeTo(out: Exposition, kinds: KindTable): void {
    for (const [written, { id }] of this.#series)
      if (id !== '' && !isStored(kinds, id)) this.#series.delete(written);
    const all = [...this.#series.values()];
    out.family('etcd_request_duration_seconds', 'histogram', 'Time the store took for a write.');
    for (const { labels, seconds } of all) seconds.writeTo(out, labels);
    out.family('etcd_requests_total', 'counter', 'Writes the store was asked for.');
    for (const { labels, count } of all) out.sample(count, labels);
    out.family('etcd_request_errors_total', 'counter', 'Writes the store could not carry out.');
    for (const { labels, errors } of all) if (errors > 0) out.sample(errors, labels);
  }
}

const isStored = (kinds: KindTable, id: string): boolean => {
  for (const _ of kinds.versions(id as ResourceId)) return true;
  return false;
};

/** The number of objects of all resources together. */
export function countObjects({ kinds, view }: Registry): number {
  let count = 0;
  for (const kind of kinds.stored()) count += view.collection(kind).size;
  return count;
}

export async function writeStoreSize({ kinds, view, store }: Registry, out: Exposition): Promise<void> {
  const stored = [...kinds.stored()];
  out.family('apiserver_storage_objects', 'gauge', 'Objects of a resource.');
  for (const kind of stored) {
    const { group, resource } = kind;
    out.sample(
      view.collection(kind).size,
      labelText({ resource: group ? `${resource}.${group}` : resource }),
    );
  }
  out.family('apiserver_resource_objects', 'gauge', 'Objects of a resource, by group.');
  for (const kind of stored)
    out.sample(view.collection(kind).size, labelText({ group: kind.group, resource: kind.resource }));
  out.family('apiserver_storage_size_bytes', 'gauge', 'What the store takes up, history included.');
  out.sample((await store.stats()).bytes, labelText({ storage_cluster_id: 'etcd-0' }));
  out.single('wherry_history_changes', 'gauge', 'Changes that are kept for watches.', view.changeCount);
  out.single('wherry_store_revision', 'counter', 'Newest resource version.', view.revision);
}
