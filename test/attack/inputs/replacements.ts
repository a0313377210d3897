/** Applies and replacements of an object that is there. */
import {
  apply,
  change,
  container,
  data,
  env,
  type ListInput,
  labels,
  managed,
  many,
  pod,
  record,
} from './shapes.ts';

export const replacements: readonly ListInput[] = [
  change(
    'apply of data',
    3_333,
    (n) => ({ kind: 'ConfigMap', data: data(n) }),
    (n, path, name) => ({
      method: 'PATCH',
      path: `${path}?fieldManager=a&force=true`,
      headers: apply,
      body: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name },
        data: record(
          n,
          (i) => `key-${i}`,
          () => 'w',
        ),
      },
    }),
  ),
  change(
    'apply of env',
    5_000,
    (n) => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      spec: {
        selector: { matchLabels: { a: 'b' } },
        template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ ...container, env: env(n) }] } },
      },
    }),
    (n, path, name) => ({
      method: 'PATCH',
      path: `${path}?fieldManager=a&force=true`,
      headers: apply,
      body: {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name },
        spec: {
          template: {
            spec: { containers: [{ name: 'main', env: many(n, (i) => ({ name: `V${i}`, value: 'w' })) }] },
          },
        },
      },
    }),
  ),
  change(
    'apply of finalizers',
    3_333,
    () => ({ kind: 'ConfigMap' }),
    (n, path, name) => ({
      method: 'PATCH',
      path: `${path}?fieldManager=a`,
      headers: apply,
      body: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, finalizers: many(n, (i) => `example.com/f${i}`) },
      },
    }),
  ),
  change(
    'apply beside many managers',
    45,
    (n) => ({
      kind: 'ConfigMap',
      data: data(2),
      metadata: {
        managedFields: managed(n, (i) => `k${i}`).map((entry) => ({ ...entry, operation: 'Apply' })),
      },
    }),
    (_n, path, name) => ({
      method: 'PATCH',
      path: `${path}?fieldManager=a`,
      headers: apply,
      body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { a: 'b' } },
    }),
  ),
  change(
    'put of managed fields',
    4_000,
    () => ({ kind: 'ConfigMap' }),
    (n, path, name) => ({
      method: 'PUT',
      path,
      body: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, managedFields: managed(n, (i) => `k${i}`) },
        data: { a: 'b' },
      },
    }),
  ),
  change(
    'put of labels',
    3_333,
    (n) => ({ kind: 'ConfigMap', metadata: { labels: labels(n) } }),
    (n, path, name) => ({
      method: 'PUT',
      path,
      body: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: {
          name,
          labels: record(
            n,
            (i) => `label-${i}`,
            () => 'w',
          ),
        },
      },
    }),
  ),
  change(
    'put of env',
    3_333,
    (n) => ({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      spec: {
        selector: { matchLabels: { a: 'b' } },
        template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ ...container, env: env(n) }] } },
      },
    }),
    (n, path, name) => ({
      method: 'PUT',
      path,
      body: {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name },
        spec: {
          selector: { matchLabels: { a: 'b' } },
          template: {
            metadata: { labels: { a: 'b' } },
            spec: { containers: [{ ...container, env: [...env(n)].reverse() }] },
          },
        },
      },
    }),
  ),
  change(
    'put of tolerations',
    6_000,
    (n) => pod({ tolerations: many(n, (i) => ({ key: `k${i}`, operator: 'Exists' })) }),
    (n, path, name) => ({
      method: 'PUT',
      path,
      body: {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name },
        spec: {
          containers: [container],
          tolerations: many(n + 1, (i) => ({ key: `k${i}`, operator: 'Exists' })),
        },
      },
    }),
  ),
];
