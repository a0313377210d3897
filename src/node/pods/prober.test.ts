/** Proves what probes and hooks do to a pod. */
import { describe, expect, it } from 'vitest';
import type { ContainerStatus, Pod } from '../../api/generated/types.ts';
import { pods } from '../../client/resources.ts';
import { condition, container, useNode } from '../agent/agent.fixture.ts';
import { type ScriptedContainer, ScriptedRuntime } from '../runtime/scripted-runtime.fixture.ts';

const node = useNode();

async function withAgent(onStart?: (container: ScriptedContainer) => void): Promise<ScriptedRuntime> {
  const runtime = new ScriptedRuntime();
  runtime.folder = node.folder;
  runtime.onStart = onStart;
  await node.agent(runtime, { secondMs: 10 });
  return runtime;
}

const first = (pod: Pod): ContainerStatus => pod.status?.containerStatuses?.[0] ?? {};
const exec = (command: string, more: object = {}) => ({
  exec: { command: [command, 'words'] },
  periodSeconds: 1,
  ...more,
});

describe('probes', () => {
  it('liveness: a container that fails too often is restarted', async () => {
    const runtime = await withAgent();
    const livenessProbe = exec('check', { failureThreshold: 2 });
    await node.create('liveness', { containers: [{ ...container(), livenessProbe }] });
    await node.untilPod('liveness', (pod) => first(pod).ready);
    runtime.run('c').answers.set('check', 1);
    const restarted = await node.untilPod('liveness', (pod) => first(pod).restartCount === 1);
    expect(first(restarted).lastState!.terminated).toMatchObject({ exitCode: 143 });
    const told = (await node.events('liveness')).map(({ reason, message }) => [reason, message]);
    expect(told).toContainEqual(['Unhealthy', 'Liveness probe failed: words']);
    expect(told).toContainEqual(['Killing', 'Container c failed liveness probe, will be restarted']);
  });

  it('readiness: comes and goes, and restarts nothing', async () => {
    const runtime = await withAgent((started) => started.answers.set('check', 1));
    const readinessProbe = exec('check', { failureThreshold: 1, successThreshold: 2 });
    await node.create('readiness', { containers: [{ ...container(), readinessProbe }] });
    const running = await node.untilPod('readiness', (pod) => pod.status?.phase === 'Running');
    expect(first(running)).toMatchObject({ started: true, ready: false });
    runtime.run('c').answers.set('check', 0);
    await node.untilPod('readiness', (pod) => condition(pod, 'Ready')?.status === 'True');
    runtime.run('c').answers.set('check', 1);
    let wasReady = false;
    await node.untilPod('readiness', (pod) => {
      wasReady ||= !!first(pod).ready;
      return wasReady && condition(pod, 'Ready')?.status === 'False';
    });
    expect(runtime.launched).toHaveLength(1);
    expect((await node.event('readiness', 'Unhealthy')).message).toBe('Readiness probe failed: words');
  });

  it('startup: the others wait for it', async () => {
    const runtime = await withAgent((started) => started.answers.set('boot', 1));
    const probes = { startupProbe: exec('boot', { failureThreshold: 1_000 }), livenessProbe: exec('live') };
    await node.create('startup', { containers: [{ ...container(), ...probes }] });
    await node.event('startup', 'Unhealthy');
    const starting = await node.untilPod('startup', (pod) => pod.status?.phase === 'Running');
    expect(first(starting)).toMatchObject({ started: false, ready: false });
    expect(runtime.run('c').execs.some(([verb]) => verb === 'live')).toBe(false);
    runtime.run('c').answers.set('boot', 0);
    await node.untilPod('startup', (pod) => first(pod).started && first(pod).ready);
    await expect.poll(() => runtime.run('c').execs.some(([verb]) => verb === 'live')).toBe(true);
  });
});

describe('hooks', () => {
  it('postStart is done before the container is said to run', async () => {
    const runtime = await withAgent();
    const lifecycle = { postStart: { exec: { command: ['say', 'hello'] } } };
    await node.create('poststart', { containers: [{ ...container(), lifecycle }] });
    await node.untilPod('poststart', (pod) => pod.status?.phase === 'Running');
    expect(runtime.run('c').execs).toEqual([['say', 'hello']]);
  });

  it('postStart that fails ends the container', async () => {
    await withAgent();
    const lifecycle = { postStart: { exec: { command: ['fail', 'oh no'] } } };
    await node.create('poststartfails', {
      restartPolicy: 'Never',
      containers: [{ ...container(), lifecycle }],
    });
    await node.untilPod('poststartfails', (pod) => pod.status?.phase === 'Failed');
    expect((await node.events('poststartfails')).map(({ reason }) => reason)).toContain(
      'FailedPostStartHook',
    );
  });

  it('preStop runs before the container is asked to end, within the grace period', async () => {
    const order: string[] = [];
    const runtime = await withAgent((started) => {
      const { exec: run, kill } = started;
      started.exec = (...args) => {
        order.push('hook');
        return run.apply(started, args);
      };
      started.kill = (signal) => {
        order.push(signal);
        kill.call(started, signal);
      };
    });
    const lifecycle = { preStop: { exec: { command: ['say', 'bye'] } }, stopSignal: 'SIGUSR1' };
    await node.create('prestop', { os: { name: 'linux' }, containers: [{ ...container(), lifecycle }] });
    await node.untilPod('prestop', (pod) => pod.status?.phase === 'Running');
    await node.client.delete(pods, 'default', 'prestop');
    await node.untilGone('prestop');
    expect(order).toEqual(['hook', 'SIGUSR1']);
    order.length = 0;
    const endless = { preStop: { exec: { command: ['hang'] } } };
    await node.create('prestophangs', {
      terminationGracePeriodSeconds: 5,
      containers: [{ ...container('c', 'stubborn'), lifecycle: endless }],
    });
    await node.untilPod('prestophangs', (pod) => pod.status?.phase === 'Running');
    await node.client.delete(pods, 'default', 'prestophangs');
    await node.untilGone('prestophangs');
    expect(order).toEqual(['hook', 'SIGTERM', 'SIGKILL']);
    expect((await node.events('prestophangs')).map(({ reason }) => reason)).toContain('FailedPreStopHook');
    expect(runtime.launched).toHaveLength(2);
  });

  it('sleep sleeps', async () => {
    const runtime = await withAgent();
    const lifecycle = { preStop: { sleep: { seconds: 2 } } };
    await node.create('sleeps', { containers: [{ ...container(), lifecycle }] });
    await node.untilPod('sleeps', (pod) => pod.status?.phase === 'Running');
    const before = Date.now();
    await node.client.delete(pods, 'default', 'sleeps');
    await node.untilGone('sleeps');
    expect(Date.now() - before).toBeGreaterThanOrEqual(20);
    expect(runtime.run('c').signals).toEqual(['SIGTERM']);
  });
});
