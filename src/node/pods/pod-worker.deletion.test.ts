/**
 * Proves how a deleted pod ends on its node: with its grace period, a shortened one, by force, and with
 * finalizers.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import type { Pod } from '../../api/generated/types.ts';
import { Client } from '../../client/client.ts';
import { pods } from '../../client/resources.ts';
import { systemTimers } from '../../timers.ts';
import { container } from '../agent/agent.fixture.ts';
import { ScriptedRuntime } from '../runtime/scripted-runtime.fixture.ts';
import { defaultBackOff } from './backoff.ts';
import { emptySetup } from './pod-setup.ts';
import { first, node, phase, usePodWorkers, waiting, withAgent } from './pod-worker.fixture.ts';
import { PodWorker } from './pod-worker.ts';
import { StatusWriter } from './status-writer.ts';

usePodWorkers();

describe('deletion', () => {
  it('kills what does not end within the grace period', async () => {
    const runtime = await withAgent();
    await node.create('stubborn', {
      containers: [container('c', 'stubborn')],
      terminationGracePeriodSeconds: 3,
    });
    await node.untilPod('stubborn', phase('Running'));
    await node.client.delete(pods, 'default', 'stubborn');
    const last = await node.untilGone('stubborn');
    expect(runtime.run('c').signals).toEqual(['SIGTERM', 'SIGKILL']);
    expect(first(last).state!.terminated).toMatchObject({ exitCode: 137, signal: 9 });
  });

  it('hurries when it is told to', async () => {
    const runtime = await withAgent({ secondMs: 1_000 });
    await node.create('hurried', {
      containers: [container('c', 'stubborn')],
      terminationGracePeriodSeconds: 600,
    });
    await node.untilPod('hurried', phase('Running'));
    await node.client.delete(pods, 'default', 'hurried');
    await expect.poll(() => runtime.run('c').signals).toEqual(['SIGTERM']);
    await node.client.delete(pods, 'default', 'hurried', { gracePeriodSeconds: 1 });
    await node.untilGone('hurried');
    expect(runtime.run('c').signals).toEqual(['SIGTERM', 'SIGKILL']);
  });

  it('by force ends what runs soon after, and removes it', async () => {
    const runtime = await withAgent();
    const { metadata } = await node.create('forced', { terminationGracePeriodSeconds: 3_000 });
    await node.untilPod('forced', phase('Running'));
    await node.client.delete(pods, 'default', 'forced', { gracePeriodSeconds: 0 });
    await expect.poll(() => runtime.removed).toEqual([metadata.uid]);
    expect(runtime.run('c').signals).toEqual(['SIGTERM']);
  });

  it('leaves a pod with finalizers to those who wait for it', async () => {
    const runtime = await withAgent();
    const { metadata } = await node.create('held', {}, { finalizers: ['a.b/c'] });
    await node.untilPod('held', phase('Running'));
    await node.client.delete(pods, 'default', 'held');
    await node.untilPod('held', (pod) => pod.metadata.deletionGracePeriodSeconds === 0);
    expect(runtime.removed).toEqual([]);
    await node.client.patch(pods, 'default', 'held', { metadata: { finalizers: null } });
    await node.untilGone('held');
    await expect.poll(() => runtime.removed).toEqual([metadata.uid]);
  });

  it('is not missed when only the answer to a status tells of it', async () => {
    const requests: string[] = [];
    const pod = (resourceVersion: string, more: object = {}): Pod => ({
      metadata: { name: 'p', namespace: 'ns', uid: 'u', resourceVersion, ...more },
      spec: { nodeName: 'n1', containers: [container()] },
    });
    const marked = { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 1 };
    const server = createServer((request, response) => {
      requests.push(request.method!);
      response.end(JSON.stringify({ ...pod(String(1 + requests.length), marked), status: {} }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const client = new Client(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const onError = (error: Error) => void node.errors.push(error);
    const writer = new StatusWriter({ client, onError });
    const worker = new PodWorker(pod('1'), {
      client,
      writer,
      runtime: new ScriptedRuntime(),
      setup: () => emptySetup,
      hostIP: '192.0.2.1',
      backOff: defaultBackOff,
      secondMs: 10,
      now: Date.now,
      timers: systemTimers,
      admit: () => undefined,
      resizable: () => undefined,
      tell: () => undefined,
      removed: () => undefined,
      onError,
    });
    await expect.poll(() => requests.at(-1)).toBe('DELETE');
    await worker.close();
    await writer.close();
    client.close();
    server.close();
  });

  it('does not wait for a pod that never ran', async () => {
    const runtime = await withAgent();
    await node.create('unborn', { containers: [{ name: 'c', image: 'missing' }] });
    await node.untilPod('unborn', waiting('ErrImagePull'));
    await node.client.delete(pods, 'default', 'unborn');
    const last = await node.untilGone('unborn');
    expect(last.status!.phase).toBe('Failed');
    expect(runtime.launched).toEqual([]);
  });
});
