/** Proves that the classes of nodes' runtimes are made, also for nodes that may not make them. */
import { expect, it } from 'vitest';
import { everything } from '../registry/view/filter.ts';
import { harness, useHarness } from './shared/harness.fixture.ts';

useHarness();

const node = (name: string, labels: object, containerRuntimeVersion: string) =>
  harness.seed('v1', 'nodes', '', {
    metadata: { name, labels },
    status: { nodeInfo: { containerRuntimeVersion } },
  });
const classes = () =>
  harness.registry.view
    .collection('node.k8s.io/runtimeclasses')
    .select(everything)
    .entries.map(({ name }) => name)
    .sort();

it('makes a class for each runtime that a node has', async () => {
  harness.start(['node-runtimes']);
  await node(
    'joined',
    { 'wherry.dev/runtime-cri': 'true', 'wherry.dev/runtime-docker': 'false' },
    'process://1',
  );
  await expect.poll(classes, { timeout: 30_000 }).toEqual(['cri', 'process', 'simulated']);
  await node('foreign', { 'wherry.dev/runtime-docker': 'true' }, 'containerd://2');
  await node('second', { 'wherry.dev/runtime-docker': 'true' }, 'process://1');
  await expect.poll(classes, { timeout: 30_000 }).toEqual(['cri', 'docker', 'process', 'simulated']);
});
