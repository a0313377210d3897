/** Proves that a node resizes running containers, reports their resources, and gives the reason when it cannot. */
import { describe, expect, it } from 'vitest';
import type { ContainerStatus, Pod, PodSpec, ResourceRequirements } from '../../api/generated/types.ts';
import { pods } from '../../client/resources.ts';
import { condition, container, useNode } from '../agent/agent.fixture.ts';
import { ScriptedRuntime } from '../runtime/scripted-runtime.fixture.ts';

const node = useNode();

async function withAgent(): Promise<ScriptedRuntime> {
  const runtime = new ScriptedRuntime();
  runtime.folder = node.folder;
  await node.agent(runtime, { secondMs: 10, capacity: { cpu: '4', memory: '8Gi', pods: '10' } });
  return runtime;
}

const amounts = (cpu: string, memory = '64Mi'): ResourceRequirements => ({
  requests: { cpu, memory },
  limits: { cpu, memory },
});

/** A running pod with these resources. */
async function running(
  name: string,
  resources: ResourceRequirements,
  resizePolicy?: { resourceName: string; restartPolicy: string }[],
): Promise<Pod> {
  const spec: Partial<PodSpec> = { containers: [{ ...container(), resources, resizePolicy }] };
  await node.create(name, spec);
  return node.untilPod(name, (pod) => first(pod).state?.running !== undefined);
}

const first = (pod: Pod): ContainerStatus => pod.status?.containerStatuses?.[0] ?? {};

const resize = (name: string, resources: ResourceRequirements): Promise<Pod> =>
  node.client.patch(
    pods,
    'default',
    name,
    { spec: { containers: [{ name: 'c', resources }] } },
    'strategic',
    'resize',
  );

describe('a pod that is resized', () => {
  it('gets it in place, and its status tells so', async () => {
    const runtime = await withAgent();
    const before = await running('grows', amounts('100m'));
    expect(first(before)).toMatchObject({
      resources: { limits: { cpu: '100m', memory: '64Mi' }, requests: { cpu: '100m', memory: '64Mi' } },
      allocatedResources: { cpu: '100m', memory: '64Mi' },
    });
    await resize('grows', amounts('200m', '128Mi'));
    const after = await node.untilPod('grows', (pod) => first(pod).allocatedResources?.['cpu'] === '200m');
    expect(first(after)).toMatchObject({
      restartCount: 0,
      resources: { limits: { cpu: '200m', memory: '128Mi' }, requests: { cpu: '200m', memory: '128Mi' } },
    });
    expect(after.status!.observedGeneration).toBe(2);
    expect(runtime.resized).toHaveLength(1);
    expect(runtime.launched).toHaveLength(1);
    const settled = await node.untilPod(
      'grows',
      (pod) => first(pod).allocatedResources?.['cpu'] === '200m' && !condition(pod, 'PodResizeInProgress'),
    );
    expect(condition(settled, 'PodResizePending')).toBeUndefined();
  });

  it('is restarted for it where its policy says so', async () => {
    const runtime = await withAgent();
    const policy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];
    await running('restarts', amounts('100m'), policy);
    await resize('restarts', amounts('200m'));
    await node.untilPod('restarts', (pod) => first(pod).allocatedResources?.['cpu'] === '200m');
    expect(runtime.launched).toHaveLength(1);
    await resize('restarts', amounts('200m', '128Mi'));
    const anew = await node.untilPod(
      'restarts',
      (pod) => first(pod).restartCount === 1 && first(pod).state?.running !== undefined,
    );
    expect(first(anew).allocatedResources).toEqual({ cpu: '200m', memory: '128Mi' });
    expect(runtime.run('c').launch.container.resources?.limits).toEqual({ cpu: '200m', memory: '128Mi' });
    expect(await node.event('restarts', 'Killing')).toMatchObject({
      message: 'Container c resize requires restart',
    });
  });

  it('keeps what it has when the node has no more, and gets the rest when others have gone', async () => {
    const runtime = await withAgent();
    await running('first', amounts('2'));
    await running('second', amounts('1'));
    await resize('first', amounts('5'));
    const never = await node.untilPod('first', (pod) => condition(pod, 'PodResizePending') !== undefined);
    expect(condition(never, 'PodResizePending')).toMatchObject({
      status: 'True',
      reason: 'Infeasible',
      message: "Node didn't have enough capacity: cpu, requested: 5000, capacity: 4000",
      observedGeneration: 2,
    });
    expect(first(never).allocatedResources).toMatchObject({ cpu: '2' });
    await resize('first', amounts('4'));
    const later = await node.untilPod(
      'first',
      (pod) => condition(pod, 'PodResizePending')?.reason === 'Deferred',
    );
    expect(condition(later, 'PodResizePending')!.message).toBe(
      "Node didn't have enough resource: cpu, requested: 4000, used: 1000, capacity: 4000",
    );
    expect(runtime.resized).toEqual([]);
    // A refused resize does not count against other pods.
    await running('third', amounts('1'));
    await node.client.delete(pods, 'default', 'third', { gracePeriodSeconds: 0 });
    await resize('first', amounts('3'));
    const given = await node.untilPod('first', (pod) => first(pod).allocatedResources?.['cpu'] === '3');
    expect(condition(given, 'PodResizePending')).toBeUndefined();
  });

  it('says what went wrong while it cannot be done, and is tried again', async () => {
    const runtime = await withAgent();
    await running('fails', amounts('100m'));
    runtime.resizeFailure = new Error('it is in use');
    await resize('fails', amounts('200m'));
    const failed = await node.untilPod(
      'fails',
      (pod) => condition(pod, 'PodResizeInProgress')?.reason === 'Error',
    );
    expect(condition(failed, 'PodResizeInProgress')!.message).toBe('it is in use');
    expect(first(failed).resources!.limits!['cpu']).toBe('100m');
    runtime.resizeFailure = undefined;
    // Back to the allocated resources: no resize is left.
    await resize('fails', amounts('100m'));
    const back = await node.untilPod('fails', (pod) => pod.status?.observedGeneration === 3);
    expect(condition(back, 'PodResizeInProgress')).toBeUndefined();
  });
});
