/** Proves that groups and versions have the numbers of kube-apiserver, by which clients order them. */
import { expect, test } from 'vitest';
import { localPriority } from './priorities.ts';

test.each([
  ['v1', 18_000, 1],
  ['apps/v1', 17_800, 15],
  ['autoscaling/v2', 17_500, 30],
  ['autoscaling/v1', 17_500, 15],
  ['batch/v1beta1', 17_400, 9],
  ['flowcontrol.apiserver.k8s.io/v1', 16_100, 21],
  ['metrics.k8s.io/v1beta1', 100, 100],
  ['extensions/v1beta1', 1, 1],
])('%s', (apiVersion, group, version) => {
  expect(localPriority(apiVersion)).toEqual({ group, version });
});

test('a version that users add to a built-in group has the number of most', () => {
  for (const version of ['v9', 'constructor'])
    expect(localPriority(`apps/${version}`)).toEqual({ group: 17_800, version: 15 });
});

test.each(['example.com/v1', 'constructor/v1', 'admission.k8s.io/v1'])(
  '%s is as custom kinds are',
  (name) => {
    expect(localPriority(name)).toEqual({ group: 1_000, version: 100 });
  },
);
