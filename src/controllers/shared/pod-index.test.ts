/**
 * Proves that the pod index is never behind the view, in any order of notifications and with any number of changes.
 */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { parseLabelSelector } from '../../api/kind/label-selector.ts';
import { asTester } from '../../registry/request.fixture.ts';
import { remove } from '../../registry/verbs/delete.ts';
import { modify } from '../../registry/verbs/modify.ts';
import { Harness } from './harness.fixture.ts';
import { PodIndex } from './pod-index.ts';

let harness: Harness;
let index: PodIndex;
beforeEach(async () => {
  harness = await Harness.open();
});
afterEach(async () => {
  index.close();
  await harness.close();
  expect(harness.errors).toEqual([]);
});

const owner = (uid: string) => ({
  apiVersion: 'v1',
  kind: 'ReplicationController',
  name: uid,
  uid,
  controller: true,
});
/** Only pods that x controls have labels. */
const plant = (name: string, uid?: string, nodeName?: string, namespace = 'default') =>
  harness.seed('v1', 'pods', namespace, {
    metadata: {
      name,
      ...(uid ? { ownerReferences: [owner(uid)] } : {}),
      ...(uid === 'x' ? { labels: { app: 'web' } } : {}),
    },
    spec: { nodeName },
  });
const names = (pods: { name: string }[]) => pods.map(({ name }) => name).sort();

it('finds pods by controller, node and namespace', async () => {
  await plant('a', 'x', 'n1');
  index = new PodIndex(harness.context);
  await plant('b', 'x', 'n2');
  await plant('c', 'y', 'n1');
  await plant('d');
  await plant('e', undefined, undefined, 'other');
  expect(names(index.controlledBy('default', 'x'))).toEqual(['a', 'b']);
  expect(names(index.controlledBy('other', 'x'))).toEqual([]);
  expect(names(index.uncontrolled('default'))).toEqual(['d']);
  expect(names(index.onNode('n1'))).toEqual(['a', 'c']);
  expect(names(index.onNode(''))).toEqual(['d', 'e']);
  const selected = (text: string) => names(index.selected('default', parseLabelSelector(text)));
  expect(selected('')).toEqual(['a', 'b', 'c', 'd']);
  expect(selected('app=web')).toEqual(['a', 'b']);
  expect(selected('app=web,app!=web')).toEqual([]);
  expect(selected('app!=web')).toEqual(['c', 'd']);
  expect(selected('app in (web,db)')).toEqual(['a', 'b']);
  expect(index.get('other', 'e')?.uid).toEqual(expect.any(String));
  expect(index.get('default', 'e')).toBeUndefined();
});

it('follows pods that change hands and go', async () => {
  index = new PodIndex(harness.context);
  const { kind } = await plant('a', 'x');
  await plant('b', 'x');
  await modify(
    harness.writing,
    asTester('update'),
    { kind, namespace: 'default', name: 'a', part: 'whole' },
    (current) => {
      const pod = current.object();
      pod.metadata.ownerReferences = [owner('y')];
      return pod;
    },
  );
  await remove(
    harness.writing,
    asTester('delete'),
    { kind, namespace: 'default', name: 'b', part: 'main' },
    {},
  );
  expect(names(index.controlledBy('default', 'x'))).toEqual([]);
  expect(names(index.controlledBy('default', 'y'))).toEqual(['a']);
  expect(index.get('default', 'b')).toBeUndefined();
});

it('shows at once what was written, also among more changes than are told at once', async () => {
  index = new PodIndex(harness.context);
  // Observers are notified of so many changes in slices, with other work in between.
  await Promise.all(Array.from({ length: 1500 }, (_, i) => plant(`p${i}`, 'x')));
  expect(index.controlledBy('default', 'x').length).toBe(1500);
});

it('tells observers of what is there, and of every change once', async () => {
  await plant('a');
  index = new PodIndex(harness.context);
  const told: string[] = [];
  const observation = index.observe((pod, previous) =>
    told.push(`${previous?.name ?? '-'} ${pod?.name ?? '-'}`),
  );
  const { kind } = await plant('b');
  index.get('default', 'b');
  await remove(
    harness.writing,
    asTester('delete'),
    { kind, namespace: 'default', name: 'b', part: 'main' },
    {},
  );
  expect(observation.caughtUp).toBe(true);
  expect(told).toEqual(['- a', '- b', 'b -']);
  observation.close();
  await plant('c');
  expect(told.length).toBe(3);
});

it('begins anew when history has moved past it', async () => {
  const kind = (await plant('a', 'x')).kind;
  await plant('b', 'x');
  index = new PodIndex(harness.context);
  const told: string[] = [];
  index.observe((pod, previous) => told.push(`${previous?.name ?? '-'} ${pod?.name ?? '-'}`));
  // The index is not notified from here on; a query has to find changes by itself.
  index.close();
  await remove(
    harness.writing,
    asTester('delete'),
    { kind, namespace: 'default', name: 'a', part: 'main' },
    {},
  );
  await plant('c', 'x');
  harness.registry.view.forget(harness.registry.view.revision);
  expect(names(index.controlledBy('default', 'x'))).toEqual(['b', 'c']);
  expect(told).toEqual(['- a', '- b', '- c', 'a -']);
});

it('goes on when an observer fails', async () => {
  index = new PodIndex(harness.context);
  const told: string[] = [];
  index.observe(() => {
    throw new Error('no');
  });
  index.observe((pod) => told.push(pod!.name));
  await plant('a');
  await plant('b');
  expect(told).toEqual(['a', 'b']);
  expect(harness.errors.splice(0).map(({ message }) => message)).toEqual(['no', 'no']);
});
