/** Proves that pods go on with the containers that an earlier agent has started, where containers outlive the agent. */
import { describe, expect, it } from 'vitest';
import { pods } from '../../client/resources.ts';
import { container } from '../agent/agent.fixture.ts';
import type { AdoptedContainer } from '../runtime/runtime.ts';
import { type ScriptedContainer, ScriptedRuntime } from '../runtime/scripted-runtime.fixture.ts';
import { first, node, phase, usePodWorkers } from './pod-worker.fixture.ts';

usePodWorkers();

/** A runtime that leaves its containers when it is closed; the next one with the same list has them. */
function lastingRuntime(left: ScriptedContainer[]): ScriptedRuntime {
  const runtime = new ScriptedRuntime();
  runtime.folder = node.folder;
  runtime.onStart = (started) => void left.push(started);
  const adopt = (uid: string, name: string): AdoptedContainer | undefined => {
    const run = left.findLast(
      ({ launch }) => launch.pod.metadata.uid === uid && launch.container.name === name,
    );
    if (!run) return undefined;
    const { attempt, container: spec } = run.launch;
    return Object.assign(run, { attempt, image: spec.image ?? '', shownImageId: 'sha256:1' });
  };
  return Object.assign(runtime, { adopt, close: async () => undefined });
}

async function twoAgents(name: string, between: (left: ScriptedContainer[]) => unknown = () => undefined) {
  const left: ScriptedContainer[] = [];
  const options = { secondMs: 10 };
  const before = await node.agent(lastingRuntime(left), options);
  await node.create(name, {
    initContainers: [container('init', 'exit', '0')],
    containers: [{ ...container('c'), readinessProbe: { exec: { command: ['say'] }, periodSeconds: 1 } }],
  });
  const running = await node.untilPod(name, (pod) => first(pod).ready === true);
  await before.close({ silently: true });
  await between(left);
  const after = lastingRuntime(left);
  await node.agent(after, options);
  return { left, running, after };
}

describe('a new agent', () => {
  it('goes on with a running container', async () => {
    const { left, running, after } = await twoAgents('stays');
    const count = left.length;
    // It is looked after: a readiness probe that fails now is noticed.
    left.at(-1)!.answers.set('say', 1);
    const unready = await node.untilPod(
      'stays',
      (pod) => first(pod).ready === false && !first(pod).state?.waiting,
    );
    expect(first(unready)).toMatchObject({
      restartCount: 0,
      containerID: first(running).containerID,
      state: first(running).state,
    });
    expect(count).toBe(2);
    expect([left.length, after.launched.length]).toEqual([count, 0]);
  });

  it('shows how a container has ended meanwhile, and starts it again', async () => {
    const { running } = await twoAgents('ended', (left) => left.at(-1)!.exit(7));
    const again = await node.untilPod('ended', (pod) => first(pod).restartCount === 1);
    expect(first(again).lastState?.terminated).toMatchObject({
      exitCode: 7,
      reason: 'Error',
      containerID: first(running).containerID,
    });
  });

  it('stops the container of a pod that was deleted meanwhile', async () => {
    const { left } = await twoAgents('deleted', () => node.client.delete(pods, 'default', 'deleted'));
    await node.untilGone('deleted');
    expect(left.at(-1)!.signals).toEqual(['SIGTERM']);
  });

  it('starts a container again that nobody knows any more', async () => {
    const { running } = await twoAgents('lost', (left) => left.splice(0));
    const again = await node.untilPod('lost', (pod) => first(pod).restartCount === 1);
    expect(first(again).lastState?.terminated).toMatchObject({
      exitCode: 137,
      reason: 'ContainerStatusUnknown',
      containerID: first(running).containerID,
    });
    await node.untilPod('lost', phase('Running'));
  });
});
