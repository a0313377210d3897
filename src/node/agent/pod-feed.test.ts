/** Proves that many agents share one watch, and that each gets events of its own pods only. */
import { expect, it } from 'vitest';
import { pods } from '../../client/resources.ts';
import { ScriptedRuntime } from '../runtime/scripted-runtime.fixture.ts';
import { condition, useNode } from './agent.fixture.ts';
import { SharedPods } from './pod-feed.ts';

const node = useNode();

it('pods are dealt out by node, to those who come late, too', async () => {
  await node.create('early', { nodeName: 'a' });
  // The cluster has a scheduler, which must leave it alone however slow the rest of the test is.
  await node.create('unbound', { nodeName: undefined, schedulerName: 'nobody' });
  const podFeed = new SharedPods(node.client, (error) => node.errors.push(error));
  const [a, b] = [new ScriptedRuntime(true), new ScriptedRuntime(true)];
  const names = (runtime: ScriptedRuntime) => runtime.launched.map(({ launch }) => launch.pod.metadata.name);
  const first = await node.agent(a, { nodeName: 'a', podFeed });
  await node.create('later', { nodeName: 'b' });
  await node.agent(b, { nodeName: 'b', podFeed });
  await node.create('last', { nodeName: 'b' });
  for (const name of ['early', 'later', 'last'])
    await node.untilPod(name, (pod) => condition(pod, 'Ready')?.status === 'True');
  expect([names(a), names(b).sort()]).toEqual([['early'], ['last', 'later']]);
  expect(() => podFeed.follow('b', () => undefined)).toThrow('node b has an agent in this process already');
  await node.client.delete(pods, 'default', 'early');
  await node.untilGone('early');
  await first.close();
  await node.create('orphan', { nodeName: 'a' });
  const again = await node.agent(new ScriptedRuntime(true), { nodeName: 'a', podFeed });
  await node.untilPod('orphan', (pod) => condition(pod, 'Ready')?.status === 'True');
  await again.close();
  podFeed.close();
});
