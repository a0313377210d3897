/** Proves that what is proposed to run can run on the nodes that there are. */
import { expect, it } from 'vitest';
import { runProposal } from './run-proposal.ts';

const node = (containerRuntimeVersion: string, labels: Record<string, string> = {}) => ({
  metadata: { name: 'n', uid: 'u', resourceVersion: '1', labels },
  status: { nodeInfo: { containerRuntimeVersion } },
});
const processes = node('process://1.0.0');

it('is a process where no node has an engine', () => {
  expect(runProposal([processes, processes])).toMatchObject({
    image: 'host',
    command: 'sleep 3600',
    needsCommand: true,
  });
});

it('is an image where a node has an engine, and where nodes cannot be seen', () => {
  const withEngine = node('process://1.0.0', { 'wherry.dev/runtime-docker': 'true' });
  for (const nodes of [[processes, withEngine], [node('containerd://1.7.0')], [], undefined])
    expect(runProposal(nodes)).toEqual({ image: 'busybox', command: 'sleep 3600', needsCommand: false });
});
