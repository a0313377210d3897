/** Proves that versions are preferred in Kubernetes' order. */
import { expect, test } from 'vitest';
import { compareVersions } from './version-order.ts';

test('GA, beta, alpha, then names', () => {
  const order = [
    'v10',
    'v2',
    'v1',
    'v11beta2',
    'v10beta3',
    'v3beta1',
    'v12alpha1',
    'v11alpha2',
    'foo1',
    'foo10',
    'v0',
  ];
  expect([...order].reverse().sort(compareVersions)).toEqual(order);
  expect(compareVersions('v1', 'v1')).toBe(0);
});
