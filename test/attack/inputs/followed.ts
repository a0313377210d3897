/** Inputs whose cost comes after the answer: controllers and nodes work on them. */
import { create, type ListInput, many, owners, pod } from './shapes.ts';

export const followed: readonly ListInput[] = [
  create('containers that run', 4_000, (n) =>
    pod({ containers: many(n, (i) => ({ name: `c${i}`, image: 'i' })) }),
  ),
  create('owners that are gone', 2_500, (n) => ({
    kind: 'ConfigMap',
    metadata: { ownerReferences: owners(n) },
  })),
];
