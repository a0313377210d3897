/** Proves that an agent registers its machine as a node, and runs the pods bound to it until they end. */
import { describe, expect, it } from 'vitest';
import { leases, nodes, pods } from '../../client/resources.ts';
import { goOs } from '../machine/machine.ts';
import { ScriptedRuntime } from '../runtime/scripted-runtime.fixture.ts';
import { condition, container, useNode } from './agent.fixture.ts';

const node = useNode();

describe('a pod', () => {
  it('is run, told of, and deleted when its containers have ended', async () => {
    const runtime = new ScriptedRuntime();
    runtime.folder = node.folder;
    await node.agent(runtime);
    const created = await node.create('p');
    const running = await node.untilPod('p', (pod) => pod.status?.phase === 'Running');
    expect(running.status).toMatchObject({
      hostIP: '192.0.2.1',
      hostIPs: [{ ip: '192.0.2.1' }],
      podIP: '10.1.2.3',
      podIPs: [{ ip: '10.1.2.3' }],
      qosClass: 'BestEffort',
    });
    expect(running.status!.containerStatuses).toEqual([
      {
        name: 'c',
        state: { running: { startedAt: expect.any(String) } },
        lastState: {},
        ready: true,
        restartCount: 0,
        image: 'made-up',
        imageID: 'made-up',
        containerID: 'scripted://p-c-0',
        started: true,
      },
    ]);
    for (const type of [
      'PodReadyToStartContainers',
      'Initialized',
      'Ready',
      'ContainersReady',
      'PodScheduled',
    ])
      expect(condition(running, type)?.status, type).toBe('True');
    await node.client.delete(pods, 'default', 'p');
    const ended = await node.untilPod('p', (pod) => !!pod.status?.containerStatuses?.[0]?.state?.terminated);
    expect(ended.metadata.deletionTimestamp).toBeDefined();
    expect(ended.status!.containerStatuses![0]!.state!.terminated).toMatchObject({
      exitCode: 143,
      signal: 15,
      reason: 'Error',
      containerID: 'scripted://p-c-0',
    });
    expect(ended.status!.phase).toBe('Failed');
    await node.untilGone('p');
    await expect.poll(() => runtime.removed).toEqual([created.metadata.uid]);
    expect((await node.events('p')).map(({ reason, message }) => [reason, message])).toEqual([
      ['Pulled', 'Container image "made-up" already present on machine and can be accessed by the pod'],
      ['Created', 'Container created'],
      ['Started', 'Container started'],
      ['Killing', 'Stopping container c'],
    ]);
  });
});

describe('a node', () => {
  it('is registered with what the machine is, and says when it shuts down', async () => {
    const runtime = new ScriptedRuntime();
    const agent = await node.agent(runtime, { labels: { zone: 'a' }, capacity: { cpu: '7' } });
    const made = await node.client.get(nodes, undefined, 'n1');
    expect(made.metadata.labels).toMatchObject({
      'kubernetes.io/hostname': 'n1',
      'kubernetes.io/os': goOs(),
      'beta.kubernetes.io/os': goOs(),
      zone: 'a',
    });
    const { status } = made;
    expect(status!.capacity).toMatchObject({
      cpu: '7',
      pods: '110',
      memory: expect.stringMatching(/^\d+Ki$/),
    });
    expect(status!.addresses).toEqual([
      { type: 'InternalIP', address: '192.0.2.1' },
      { type: 'LegacyHostIP', address: '192.0.2.1' },
    ]);
    expect(status!.nodeInfo).toMatchObject({
      kubeletVersion: 'v1.36.0+wherry',
      containerRuntimeVersion: 'scripted://1.0.0',
      operatingSystem: goOs(),
    });
    expect(status!.declaredFeatures).toEqual(['ExtendWebSocketsToKubelet', 'PodPortsThroughKubelet']);
    expect(status!.conditions!.map(({ type, status, reason }) => [type, status, reason])).toEqual([
      ['MemoryPressure', 'False', 'KubeletHasSufficientMemory'],
      ['DiskPressure', 'False', 'KubeletHasNoDiskPressure'],
      ['PIDPressure', 'False', 'KubeletHasSufficientPID'],
      ['Ready', 'True', 'KubeletReady'],
    ]);
    const lease = await node.client.get(leases, 'kube-node-lease', 'n1');
    expect(lease.metadata.ownerReferences).toMatchObject([{ kind: 'Node', uid: made.metadata.uid }]);
    await agent.close();
    const closed = await node.client.get(nodes, undefined, 'n1');
    expect(closed.status!.conditions!.find(({ type }) => type === 'Ready')).toMatchObject({
      status: 'False',
      reason: 'KubeletNotReady',
      message: 'node is shutting down',
    });
    expect(runtime.closed).toBe(true);
    expect(container('x').command).toEqual(['run']);
  });
});
