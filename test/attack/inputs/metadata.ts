/** Metadata and data of an object. */
import { create, data, type ListInput, labels, managed, many, owners, record } from './shapes.ts';

export const metadata: readonly ListInput[] = [
  create('labels', 5_000, (n) => ({ kind: 'ConfigMap', metadata: { labels: labels(n) } })),
  create('annotations', 2_500, (n) => ({
    kind: 'ConfigMap',
    metadata: {
      annotations: record(
        n,
        (i) => `a${i}`,
        () => 'v',
      ),
    },
  })),
  create('finalizers', 7_500, (n) => ({
    kind: 'ConfigMap',
    metadata: { finalizers: many(n, (i) => `example.com/f${i}`) },
  })),
  create('owner references', 2_500, (n) => ({ kind: 'ConfigMap', metadata: { ownerReferences: owners(n) } })),
  create('managed fields', 2_000, (n) => ({
    kind: 'ConfigMap',
    metadata: { managedFields: managed(n, (i) => `k${i}`) },
  })),
  create('managed fields of one field', 2_000, (n) => ({
    kind: 'ConfigMap',
    data: data(2),
    metadata: { managedFields: managed(n, () => 'key-1') },
  })),
  create('data', 7_500, (n) => ({ kind: 'ConfigMap', data: data(n) })),
];
