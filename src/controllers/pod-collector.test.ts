/** Proves that pods are removed from a node with the out-of-service taint, and others stay. */
import { expect, it } from 'vitest';
import type { Node } from '../api/generated/types.ts';
import type { ApiObject } from '../api/text/object.ts';
import { asTester } from '../registry/request.fixture.ts';
import { modify } from '../registry/verbs/modify.ts';
import { harness, useHarness } from './shared/harness.fixture.ts';

useHarness();

const plant = (name: string, nodeName: string, deletionTimestamp?: string) =>
  harness.seed('v1', 'pods', 'default', { metadata: { name, deletionTimestamp }, spec: { nodeName } });
const names = (): string[] =>
  harness
    .all('core/pods')
    .map(({ name }) => name)
    .sort();

it('ends pods that are to go from a node out of service', async () => {
  const { kind } = await harness.seed('v1', 'nodes', '', { metadata: { name: 'n1' } });
  await harness.seed('v1', 'nodes', '', { metadata: { name: 'n2' } });
  const deleted = new Date().toISOString();
  await plant('early', 'n1', deleted);
  harness.start(['pod-collector']);
  await plant('late', 'n1', deleted);
  await plant('staying', 'n1');
  await plant('elsewhere', 'n2', deleted);
  await harness.settled();
  expect(names()).toEqual(['early', 'elsewhere', 'late', 'staying']);
  await modify(
    harness.writing,
    asTester('update'),
    { kind, namespace: '', name: 'n1', part: 'whole' },
    (current) => {
      const node = current.object() as Node;
      node.spec = { taints: [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }] };
      return node as ApiObject;
    },
  );
  await harness.settled();
  expect(names()).toEqual(['elsewhere', 'staying']);
});
