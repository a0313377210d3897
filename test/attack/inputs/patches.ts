/** Patches of an object that is there. */
import {
  change,
  container,
  data,
  env,
  jsonPatch,
  type ListInput,
  labels,
  many,
  merge,
  owners,
  pod,
  record,
  strategic,
} from './shapes.ts';

export const patches: readonly ListInput[] = [
  change(
    'operations of a JSON patch',
    2_400,
    () => ({ kind: 'ConfigMap', data: {} }),
    (n, path) => ({
      method: 'PATCH',
      path,
      headers: jsonPatch,
      body: many(n, (i) => ({ op: 'add', path: `/data/k${i}`, value: 'v' })),
    }),
  ),
  change(
    'JSON patch at the head of a list',
    2_400,
    () => ({ kind: 'ConfigMap', metadata: { finalizers: ['example.com/a'] } }),
    (n, path) => ({
      method: 'PATCH',
      path,
      headers: jsonPatch,
      body: many(n, (i) => ({ op: 'add', path: '/metadata/finalizers/0', value: `example.com/f${i}` })),
    }),
  ),
  change(
    'JSON patch that tests',
    2_400,
    () => ({ kind: 'ConfigMap', data: data(5_000) }),
    (n, path) => ({
      method: 'PATCH',
      path,
      headers: jsonPatch,
      body: many(n, () => ({ op: 'test', path: '/kind', value: 'ConfigMap' })),
    }),
  ),
  change(
    'merge patch',
    5_000,
    () => ({ kind: 'ConfigMap' }),
    (n, path) => ({ method: 'PATCH', path, headers: merge, body: { data: data(n) } }),
  ),
  change(
    'merge patch that removes',
    5_000,
    (n) => ({ kind: 'ConfigMap', data: data(n) }),
    (n, path) => ({
      method: 'PATCH',
      path,
      headers: merge,
      body: {
        data: record(
          n,
          (i) => `key-${i}`,
          () => null,
        ),
      },
    }),
  ),
  change(
    'strategic patch of labels',
    3_333,
    () => ({ kind: 'ConfigMap' }),
    (n, path) => ({ method: 'PATCH', path, headers: strategic, body: { metadata: { labels: labels(n) } } }),
  ),
  change(
    'strategic patch of tolerations',
    5_000,
    () => pod({}),
    (n, path) => ({
      method: 'PATCH',
      path,
      headers: strategic,
      body: { spec: { tolerations: many(n, (i) => ({ key: `k${i}`, operator: 'Exists' })) } },
    }),
  ),
  change(
    'strategic patch of env',
    5_000,
    (n) => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      spec: {
        selector: { matchLabels: { a: 'b' } },
        template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ ...container, env: env(n) }] } },
      },
    }),
    (n, path) => ({
      method: 'PATCH',
      path,
      headers: strategic,
      body: {
        spec: {
          template: {
            spec: { containers: [{ name: 'main', env: many(n, (i) => ({ name: `V${i}`, value: 'w' })) }] },
          },
        },
      },
    }),
  ),
  change(
    'strategic patch with an order',
    5_000,
    (n) => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      spec: {
        selector: { matchLabels: { a: 'b' } },
        template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ ...container, env: env(n) }] } },
      },
    }),
    (n, path) => ({
      method: 'PATCH',
      path,
      headers: strategic,
      body: {
        spec: {
          template: {
            spec: {
              containers: [
                {
                  name: 'main',
                  '$setElementOrder/env': many(n, (i) => ({ name: `V${n - 1 - i}` })),
                  env: [{ name: 'V0', value: 'w' }],
                },
              ],
            },
          },
        },
      },
    }),
  ),
  change(
    'strategic patch that deletes',
    5_000,
    (n) => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      spec: {
        selector: { matchLabels: { a: 'b' } },
        template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ ...container, env: env(n) }] } },
      },
    }),
    (n, path) => ({
      method: 'PATCH',
      path,
      headers: strategic,
      body: {
        spec: {
          template: {
            spec: {
              containers: [{ name: 'main', env: many(n, (i) => ({ name: `V${i}`, $patch: 'delete' })) }],
            },
          },
        },
      },
    }),
  ),
  change(
    'strategic patch of finalizers',
    3_333,
    (n) => ({ kind: 'ConfigMap', metadata: { finalizers: many(n, (i) => `example.com/f${i}`) } }),
    (n, path) => ({
      method: 'PATCH',
      path,
      headers: strategic,
      body: { metadata: { finalizers: many(n, (i) => `example.com/g${i}`) } },
    }),
  ),
  change(
    'strategic deletion of finalizers',
    3_333,
    (n) => ({ kind: 'ConfigMap', metadata: { finalizers: many(n, (i) => `example.com/f${i}`) } }),
    (n, path) => ({
      method: 'PATCH',
      path,
      headers: strategic,
      body: { metadata: { '$deleteFromPrimitiveList/finalizers': many(n, (i) => `example.com/f${i}`) } },
    }),
  ),
  change(
    'strategic patch of owners',
    5_000,
    (n) => ({ kind: 'ConfigMap', metadata: { ownerReferences: owners(n) } }),
    (n, path) => ({
      method: 'PATCH',
      path,
      headers: strategic,
      body: { metadata: { ownerReferences: owners(n).map((owner) => ({ ...owner, controller: false })) } },
    }),
  ),
];
