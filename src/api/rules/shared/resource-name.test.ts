/** Proves which resource names and amounts are accepted where, and the messages for all others. */
import { expect, test } from 'vitest';
import { error, texts } from '../../kinds/kind.fixture.ts';
import {
  isExtendedResource,
  isIntegerResource,
  isOvercommittable,
  type ResourcePlace,
  resourceListErrors,
  resourceNameErrors,
  resourceValueErrors,
  roundResources,
} from './resource-name.ts';

const standardText = 'must be a standard resource type or fully qualified';
const containerText = 'must be a standard resource for containers';
const quotaText = 'must be a standard resource for quota';
const extendedText = "doesn't follow extended resource name standard";
const long = `example.com/${'a'.repeat(60)}`;
const longPrefix = `${'a'.repeat(245)}.com/x`;

test.each<[name: string, place: ResourcePlace, problems: string[]]>([
  ['cpu', 'container', []],
  ['ephemeral-storage', 'container', []],
  ['hugepages-2Mi', 'container', []],
  ['example.com/gpu', 'container', []],
  ['kubernetes.io/thing', 'container', []],
  ['storage', 'container', [containerText]],
  ['pods', 'container', [containerText]],
  ['foo', 'container', [standardText, containerText]],
  ['requests.example.com/gpu', 'container', [extendedText]],
  [longPrefix, 'container', [extendedText]],
  [long, 'container', []],
  ['storage', 'any', []],
  ['requests.hugepages-2Mi', 'any', []],
  ['foo', 'any', [standardText]],
  ['requests.example.com/gpu', 'any', []],
  ['a b', 'any', [texts.qualified]],
  ['storage', 'quota', [quotaText]],
  ['requests.storage', 'quota', []],
  ['services.nodeports', 'quota', []],
  ['limits.ephemeral-storage', 'quota', []],
  ['foo', 'quota', [standardText, quotaText]],
  ['count/jobs.batch', 'quota', []],
  ['gold.storageclass.storage.k8s.io/requests.storage', 'quota', []],
])('name %s in %s', (name, place, problems) => {
  expect(resourceNameErrors(name, `l[${name}]`, place)).toEqual(
    problems.map((problem) => error('I', `l[${name}]`, `Invalid value: "${name}": ${problem}`)),
  );
});

test.each<[name: string, quantity: string, problems: string[]]>([
  ['cpu', '100m', []],
  ['cpu', '0', []],
  ['cpu', '-1', [texts.notNegative]],
  ['pods', '1500m', ['must be an integer']],
  ['example.com/gpu', '500m', ['must be an integer']],
  ['kubernetes.io/thing', '500m', []],
  ['secrets', '-500m', [texts.notNegative, 'must be an integer']],
])('value %s=%s', (name, quantity, problems) => {
  expect(resourceValueErrors(name, quantity, 'p')).toEqual(
    problems.map((problem) => error('I', 'p', `Invalid value: "${quantity}": ${problem}`)),
  );
});

test('a list has its names in brackets', () => {
  expect([...resourceListErrors({ pods: '-1', cpu: '1' }, 'spec.hard', 'quota')]).toEqual([
    error('I', 'spec.hard[pods]', `Invalid value: "-1": ${texts.notNegative}`),
  ]);
  expect([...resourceListErrors(undefined, 'spec.hard', 'quota')]).toEqual([]);
});

test('kinds of resources', () => {
  expect(['cpu', 'kubernetes.io/a', 'requests.a.b/c', 'a.b/c'].map(isExtendedResource)).toEqual([
    false,
    false,
    false,
    true,
  ]);
  expect(['services.loadbalancers', 'a.b/c', 'cpu'].map(isIntegerResource)).toEqual([true, true, false]);
  expect(['cpu', 'hugepages-1Gi', 'a.b/c'].map(isOvercommittable)).toEqual([true, false, false]);
});

test('amounts are rounded up to milli units, under any key', () => {
  const list = JSON.parse('{"cpu":"1n","memory":"1Gi","__proto__":"100u"}');
  roundResources(list);
  expect(Object.entries(list)).toEqual([
    ['cpu', '1m'],
    ['memory', '1Gi'],
    ['__proto__', '1m'],
  ]);
  roundResources(undefined);
});
