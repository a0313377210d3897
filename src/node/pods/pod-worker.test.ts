/** Proves the life of a pod on its node: restarts, init containers, endings, and the statuses of each. */
import { describe, expect, it } from 'vitest';
import { configMaps, pods, secrets } from '../../client/resources.ts';
import { condition, container } from '../agent/agent.fixture.ts';
import { ScriptedRuntime } from '../runtime/scripted-runtime.fixture.ts';
import { first, node, phase, usePodWorkers, waiting, withAgent } from './pod-worker.fixture.ts';

usePodWorkers();

describe('restart policy', () => {
  it('Always: a container that ends comes back at once, and waits when it ends again', async () => {
    const runtime = await withAgent({ backOff: { firstMs: 80_000 } });
    const { metadata } = await node.create('always');
    await node.untilPod('always', phase('Running'));
    runtime.run('c').exit(3);
    await node.untilPod('always', (pod) => first(pod).restartCount === 1 && !!first(pod).state?.running);
    runtime.run('c').exit(3);
    const backedOff = await node.untilPod('always', waiting('CrashLoopBackOff'));
    const status = first(backedOff);
    const where = `always_default(${metadata.uid})`;
    expect(status.state!.waiting!.message).toBe(`back-off 1m20s restarting failed container=c pod=${where}`);
    expect(status.restartCount).toBe(1);
    expect(status.lastState!.terminated).toMatchObject({
      exitCode: 3,
      reason: 'Error',
      containerID: 'scripted://always-c-1',
    });
    expect(backedOff.status!.phase).toBe('Running');
    expect(condition(backedOff, 'Ready')).toMatchObject({
      status: 'False',
      reason: 'ContainersNotReady',
      message: 'containers with unready status: [c]',
    });
    expect(await node.event('always', 'BackOff')).toMatchObject({
      type: 'Warning',
      message: `Back-off restarting failed container c in pod ${where}`,
      involvedObject: { fieldPath: 'spec.containers{c}' },
      source: { component: 'kubelet', host: 'n1' },
    });
  });

  it('Always: again and again', async () => {
    const runtime = await withAgent();
    await node.create('again', { containers: [container('c', 'exit', '3')] });
    await node.untilPod('again', (pod) => (first(pod).restartCount ?? 0) >= 3);
    expect(runtime.launched.map(({ launch }) => launch.attempt).slice(0, 4)).toEqual([0, 1, 2, 3]);
  });

  it('OnFailure: success is the end, failure is not', async () => {
    const runtime = await withAgent();
    await node.create('onfailure', { restartPolicy: 'OnFailure' });
    await node.untilPod('onfailure', phase('Running'));
    runtime.run('c').exit(1);
    await node.untilPod('onfailure', (pod) => first(pod).restartCount === 1 && !!first(pod).state?.running);
    runtime.run('c').exit(0);
    const done = await node.untilPod('onfailure', phase('Succeeded'));
    expect(first(done)).toMatchObject({
      ready: false,
      state: { terminated: { exitCode: 0, reason: 'Completed' } },
    });
    expect(condition(done, 'Ready')).toMatchObject({ status: 'False', reason: 'PodCompleted' });
    expect(condition(done, 'Initialized')).toMatchObject({ status: 'True', reason: 'PodCompleted' });
    expect(runtime.launched).toHaveLength(2);
  });

  it('Never: the pod fails when all containers have ended, not before', async () => {
    const runtime = await withAgent();
    await node.create('never', { restartPolicy: 'Never', containers: [container('a'), container('b')] });
    await node.untilPod('never', (pod) => condition(pod, 'Ready')?.status === 'True');
    runtime.run('a').exit(1);
    const half = await node.untilPod('never', (pod) => !!first(pod).state?.terminated);
    expect(half.status!.phase).toBe('Running');
    runtime.run('b').exit(0);
    const failed = await node.untilPod('never', phase('Failed'));
    expect(condition(failed, 'ContainersReady')).toMatchObject({ status: 'False', reason: 'PodFailed' });
    expect(runtime.launched).toHaveLength(2);
  });

  it('a container that cannot be started counts as a run that failed', async () => {
    await withAgent();
    await node.create('broken', {
      restartPolicy: 'Never',
      containers: [{ ...container(), image: 'broken' }],
    });
    const failed = await node.untilPod('broken', phase('Failed'));
    expect(first(failed).state!.terminated).toMatchObject({
      exitCode: 127,
      reason: 'ContainerCannotRun',
      message: 'it is broken',
    });
  });
});

describe('init containers', () => {
  it('run one after the other, before the others', async () => {
    const runtime = await withAgent();
    await node.create('init', { initContainers: [container('i1'), container('i2')] });
    const begun = await node.untilPod(
      'init',
      (pod) => !!pod.status?.initContainerStatuses?.[0]?.state?.running,
    );
    expect(begun.status!.phase).toBe('Pending');
    expect(condition(begun, 'Initialized')).toMatchObject({
      status: 'False',
      reason: 'ContainersNotInitialized',
      message: 'containers with incomplete status: [i1 i2]',
    });
    expect(first(begun).state).toEqual({ waiting: { reason: 'PodInitializing' } });
    expect(runtime.launched).toHaveLength(1);
    runtime.run('i1').exit(0);
    const second = await node.untilPod(
      'init',
      (pod) => !!pod.status?.initContainerStatuses?.[1]?.state?.running,
    );
    expect(second.status!.initContainerStatuses![0]).toMatchObject({ ready: true });
    expect(condition(second, 'Initialized')!.message).toBe('containers with incomplete status: [i2]');
    runtime.run('i2').exit(0);
    const running = await node.untilPod('init', phase('Running'));
    expect(condition(running, 'Initialized')!.status).toBe('True');
    // A restarting container does not run the init containers again.
    runtime.run('c').exit(1);
    await node.untilPod('init', (pod) => first(pod).restartCount === 1);
    expect(runtime.launched.map(({ launch }) => launch.container.name)).toEqual(['i1', 'i2', 'c', 'c']);
  });

  it('are tried again when they fail, unless nothing is', async () => {
    const runtime = await withAgent();
    await node.create('initfails', { initContainers: [container('i', 'exit', '1')] });
    const retried = await node.untilPod(
      'initfails',
      (pod) => (pod.status?.initContainerStatuses?.[0]?.restartCount ?? 0) >= 2,
    );
    expect(retried.status!.phase).toBe('Pending');
    await node.create('initnever', { restartPolicy: 'Never', initContainers: [container('j', 'exit', '1')] });
    await node.untilPod('initnever', phase('Failed'));
    expect(runtime.launched.filter(({ launch }) => launch.container.name === 'j')).toHaveLength(1);
    expect(runtime.launched.some(({ launch }) => launch.container.name === 'c')).toBe(false);
  });

  it('that are sidecars run beside the others, and end after them in reverse', async () => {
    const runtime = await withAgent();
    const ends: string[] = [];
    runtime.onStart = (started) => void started.exited.then(() => ends.push(started.launch.container.name!));
    const sidecar = (name: string) => ({ ...container(name), restartPolicy: 'Always' });
    await node.create('sidecars', {
      restartPolicy: 'Never',
      initContainers: [sidecar('s1'), sidecar('s2')],
    });
    const running = await node.untilPod('sidecars', (pod) => condition(pod, 'Ready')?.status === 'True');
    expect(running.status!.initContainerStatuses).toMatchObject([
      { started: true, ready: true },
      { started: true, ready: true },
    ]);
    runtime.run('s1').exit(1);
    await node.untilPod('sidecars', (pod) => {
      const [status] = pod.status?.initContainerStatuses ?? [];
      return status?.restartCount === 1 && !!status.state?.running;
    });
    runtime.run('c').exit(0);
    await node.untilPod('sidecars', phase('Succeeded'));
    expect(ends).toEqual(['s1', 'c', 's2', 's1']);
  });
});

describe('what a pod lacks', () => {
  it('an image: it is tried again, ever more seldom, until there is one', async () => {
    await withAgent();
    await node.create('noimage', { containers: [{ name: 'c', image: 'missing' }] });
    const failed = await node.untilPod('noimage', waiting('ErrImagePull'));
    expect(first(failed).state!.waiting!.message).toBe('there is no such image');
    const backedOff = await node.untilPod('noimage', waiting('ImagePullBackOff'));
    expect(first(backedOff).state!.waiting!.message).toBe(
      'Back-off pulling image "missing": ErrImagePull: there is no such image',
    );
    expect(backedOff.status!.phase).toBe('Pending');
    await node.client.patch(
      pods,
      'default',
      'noimage',
      [{ op: 'replace', path: '/spec/containers/0/image', value: 'there' }],
      'json',
    );
    const running = await node.untilPod('noimage', phase('Running'));
    expect(first(running)).toMatchObject({ image: 'there', restartCount: 0 });
    const told = (await node.events('noimage')).map(({ type, reason, message }) => [type, reason, message]);
    expect(told).toContainEqual([
      'Warning',
      'Failed',
      'Failed to pull image "missing": there is no such image',
    ]);
    expect(told).toContainEqual(['Warning', 'Failed', 'Error: ErrImagePull']);
    expect(told).toContainEqual(['Normal', 'BackOff', 'Back-off pulling image "missing"']);
    expect(told).toContainEqual(['Warning', 'Failed', 'Error: ImagePullBackOff']);
  });

  it('a config map: it waits for it', async () => {
    await withAgent();
    const env = [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'later', key: 'a' } } }];
    await node.create('noconfig', { containers: [{ ...container(), env }] });
    const failed = await node.untilPod('noconfig', waiting('CreateContainerConfigError'));
    expect(first(failed).state!.waiting!.message).toBe('configmap "later" not found');
    await node.client.create(configMaps, 'default', { metadata: { name: 'later' }, data: { a: '1' } });
    await node.untilPod('noconfig', phase('Running'));
    expect((await node.events('noconfig')).map(({ message }) => message)).toContain(
      'Error: configmap "later" not found',
    );
  });

  it('an annotation: it is tried with the pod as it is now', async () => {
    const runtime = await withAgent();
    const field = { fieldRef: { fieldPath: "metadata.annotations['mark']" } };
    await node.create(
      'mended',
      {
        volumes: [{ name: 'v', emptyDir: {} }],
        containers: [
          {
            ...container(),
            env: [{ name: 'MARK', valueFrom: field }],
            volumeMounts: [{ name: 'v', mountPath: '/v', subPathExpr: '$(MARK)' }],
          },
        ],
      },
      { annotations: { mark: '/absolute' } },
    );
    const failed = await node.untilPod('mended', waiting('CreateContainerConfigError'));
    expect(first(failed).state!.waiting!.message).toMatch(/must not be an absolute path/);
    await node.client.patch(pods, 'default', 'mended', { metadata: { annotations: { mark: 'relative' } } });
    await node.untilPod('mended', phase('Running'));
    expect(runtime.run('c').launch.mounts[0]!.source).toMatch(/v\/relative$/);
    expect(runtime.run('c').launch.env['MARK']).toBe('relative');
  });

  it('a volume: it is told of, and waited for', async () => {
    const runtime = await withAgent();
    await node.create('novolume', {
      volumes: [{ name: 'v', secret: { secretName: 'later' } }],
      containers: [{ ...container(), volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
    });
    const event = await node.event('novolume', 'FailedMount');
    expect(event.message).toBe('MountVolume.SetUp failed for volume "v" : secret "later" not found');
    const creating = await node.untilPod('novolume', waiting('ContainerCreating'));
    expect(condition(creating, 'PodReadyToStartContainers')!.status).toBe('False');
    await node.client.create(secrets, 'default', { metadata: { name: 'later' }, data: {} });
    await node.untilPod('novolume', phase('Running'));
    expect(runtime.run('c').launch.mounts).toMatchObject([{ path: '/v', readOnly: true }]);
  });
});

describe('a pod that is ended by its node', () => {
  it('for its deadline', async () => {
    const runtime = await withAgent();
    await node.create('late', {
      activeDeadlineSeconds: 100,
      containers: [container('c', 'stubborn')],
      terminationGracePeriodSeconds: 1,
    });
    const failed = await node.untilPod('late', phase('Failed'));
    expect(failed.status).toMatchObject({
      reason: 'DeadlineExceeded',
      message: 'Pod was active on the node longer than the specified deadline',
    });
    expect(first(failed).state!.terminated!.exitCode).toBe(137);
    expect(runtime.launched).toHaveLength(1);
    const told = (await node.events('late')).map(({ reason }) => reason);
    expect(told).toContain('DeadlineExceeded');
  });

  it('for a port that is taken, or room that is not there', async () => {
    await withAgent({ capacity: { cpu: '1' } });
    const ports = [{ containerPort: 80, hostPort: 8080 }];
    await node.create('port1', { containers: [{ ...container(), ports }] });
    await node.untilPod('port1', phase('Running'));
    await node.create('port2', { containers: [{ ...container(), ports }] });
    const taken = await node.untilPod('port2', phase('Failed'));
    expect(taken.status).toMatchObject({
      reason: 'NodePorts',
      message: 'Pod was rejected: Predicate NodePorts failed',
    });
    await node.create('big', { containers: [{ ...container(), resources: { requests: { cpu: '1500m' } } }] });
    const big = await node.untilPod('big', phase('Failed'));
    expect(big.status).toMatchObject({
      reason: 'OutOfcpu',
      message:
        "Pod was rejected: Node didn't have enough resource: cpu, requested: 1500, used: 0, capacity: 1000",
    });
    expect(big.status!.containerStatuses ?? []).toEqual([]);
  });
});

describe('a pod that changes', () => {
  it('is ended when somebody else has called it failed', async () => {
    const runtime = await withAgent();
    await node.create('given-up');
    await node.untilPod('given-up', phase('Running'));
    await node.client.patch(
      pods,
      'default',
      'given-up',
      { status: { phase: 'Failed' } },
      'strategic',
      'status',
    );
    const ended = await node.untilPod('given-up', (pod) => !!first(pod).state?.terminated);
    expect(ended.status!.phase).toBe('Failed');
    expect(runtime.run('c').signals).toEqual(['SIGTERM']);
    expect(runtime.launched).toHaveLength(1);
  });

  it('gets its new image, whatever its policy', async () => {
    const runtime = await withAgent();
    await node.create('newimage', { restartPolicy: 'Never' });
    await node.untilPod('newimage', phase('Running'));
    await node.client.patch(
      pods,
      'default',
      'newimage',
      [{ op: 'replace', path: '/spec/containers/0/image', value: 'newer' }],
      'json',
    );
    const running = await node.untilPod(
      'newimage',
      (pod) => first(pod).restartCount === 1 && !!first(pod).state?.running,
    );
    expect(first(running)).toMatchObject({ image: 'newer', lastState: { terminated: { exitCode: 143 } } });
    expect(runtime.launched).toHaveLength(2);
    const event = await node.event('newimage', 'Killing');
    expect(event.message).toBe('Container c definition changed, will be restarted');
  });

  it('is ready when its gates are open, too', async () => {
    await withAgent();
    await node.create('gated', { readinessGates: [{ conditionType: 'a.b/c' }] });
    const closed = await node.untilPod(
      'gated',
      (pod) => condition(pod, 'ContainersReady')?.status === 'True',
    );
    expect(condition(closed, 'Ready')).toMatchObject({
      status: 'False',
      reason: 'ReadinessGatesNotReady',
      message: 'corresponding condition of pod readiness gate "a.b/c" does not exist.',
    });
    const open = { status: { conditions: [{ type: 'a.b/c', status: 'True' }] } };
    await node.client.patch(pods, 'default', 'gated', open, 'strategic', 'status');
    const ready = await node.untilPod('gated', (pod) => condition(pod, 'Ready')?.status === 'True');
    expect(condition(ready, 'a.b/c')!.status).toBe('True');
  });
});

describe('an agent that comes back', () => {
  it('restarts what ran, and leaves alone what has ended', async () => {
    const before = await withAgent();
    await node.create('back', { containers: [container('c')] });
    await node.create('once', { restartPolicy: 'Never' });
    await node.create('done', { restartPolicy: 'Never', containers: [container('d', 'exit', '0')] });
    await node.create('leaving', {
      containers: [container('l', 'stubborn')],
      terminationGracePeriodSeconds: 60_000,
    });
    for (const name of ['back', 'once', 'leaving']) await node.untilPod(name, phase('Running'));
    await node.untilPod('done', phase('Succeeded'));
    await node.client.delete(pods, 'default', 'leaving');
    await expect.poll(() => before.run('l').signals).toEqual(['SIGTERM']);
    await node.agents.splice(0)[0]!.close();

    const runtime = await withAgent();
    expect(runtime.recovered?.size).toBe(4);
    const back = await node.untilPod(
      'back',
      (pod) => first(pod).restartCount === 1 && !!first(pod).state?.running,
    );
    expect(first(back).lastState!.terminated).toMatchObject({
      exitCode: 137,
      reason: 'ContainerStatusUnknown',
      message: 'The container could not be located when the pod was terminated',
      containerID: 'scripted://back-c-0',
    });
    const once = await node.untilPod('once', phase('Failed'));
    expect(first(once).state!.terminated).toMatchObject({ reason: 'ContainerStatusUnknown' });
    await node.untilGone('leaving');
    expect(runtime.launched.map(({ id }) => id)).toEqual(['back-c-1']);
  });

  it('does not repeat init containers that are done', async () => {
    await withAgent();
    await node.create('initback', { initContainers: [container('i', 'exit', '0')] });
    await node.untilPod('initback', phase('Running'));
    await node.agents.splice(0)[0]!.close();
    const runtime = await withAgent();
    await node.untilPod('initback', (pod) => first(pod).restartCount === 1 && !!first(pod).state?.running);
    expect(runtime.launched.map(({ id }) => id)).toEqual(['initback-c-1']);
  });
});

describe('a simulated pod', () => {
  it('costs one write, and no events', async () => {
    await node.agent(new ScriptedRuntime(true));
    const { told, close } = node.history('cheap');
    await node.create('cheap', { initContainers: [container('i', 'exit', '0')] });
    await node.untilPod('cheap', (pod) => condition(pod, 'Ready')?.status === 'True');
    await node.client.delete(pods, 'default', 'cheap');
    await expect.poll(() => told.at(-1)?.[0]).toBe('DELETED');
    close();
    expect(
      told.map(([type, pod]) => [type, pod.status?.phase, pod.metadata.deletionGracePeriodSeconds]),
    ).toEqual([
      ['ADDED', 'Pending', undefined],
      ['MODIFIED', 'Running', undefined],
      ['MODIFIED', 'Running', 30],
      ['MODIFIED', 'Failed', 30],
      ['DELETED', 'Failed', 30],
    ]);
    expect(await node.events('cheap')).toEqual([]);
  });
});
