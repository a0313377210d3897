/** Proves what the disruption controller does as time passes: evictions that did not lead to a deletion expire. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Event, Pod, PodDisruptionBudget } from '../api/generated/types.ts';
import { formatTime } from '../api/values/time.ts';
import { asTester } from '../registry/request.fixture.ts';
import { targetOf } from '../registry/target.ts';
import { Harness } from './shared/harness.fixture.ts';

let harness: Harness;

beforeEach(async () => {
  harness = await Harness.open();
});
afterEach(async () => {
  const errors = harness.errors.splice(0);
  await harness.close();
  expect(errors).toEqual([]);
});

const ago = (seconds: number): string => formatTime(Date.now() - seconds * 1000);

const pod = (name: string, conditions: object[] = [], metadata: object = {}) =>
  harness.seed('v1', 'pods', 'default', {
    metadata: { name, labels: { app: 'web' }, ...metadata },
    spec: { nodeName: 'n', containers: [{ name: 'c' }] },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }, ...conditions] },
  });

/** A pod that is ten minutes old. */
async function oldPod(name: string): Promise<void> {
  const entry = await pod(name);
  const object = entry.object();
  object.metadata.creationTimestamp = ago(600);
  const request = asTester('update');
  const value = harness.registry.encode(request, targetOf(entry), object, entry);
  await harness.registry.commit(request, entry, value, entry.revision);
}

const budget = (disruptedPods: Record<string, string>) =>
  harness.seed('policy/v1', 'poddisruptionbudgets', 'default', {
    metadata: { name: 'b', generation: 1 },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
    status: { observedGeneration: 1, disruptedPods },
  });

const status = () => (harness.all('policy/poddisruptionbudgets')[0]!.object() as PodDisruptionBudget).status!;

describe('a pod whose eviction was allowed', () => {
  it('counts as gone for two minutes, and again when it has not gone by then', async () => {
    for (const name of ['late', 'soon', 'quiet']) await oldPod(name);
    const soon = ago(5);
    await budget({ late: ago(125), soon, vanished: ago(5) });
    harness.start(['disruption']);
    await harness.settled();
    expect(status()).toMatchObject({
      disruptedPods: { soon },
      currentHealthy: 2,
      desiredHealthy: 1,
      disruptionsAllowed: 1,
      expectedPods: 3,
    });
    expect(Object.keys(status().disruptedPods!)).toEqual(['soon']);
    expect(harness.all('core/events').map((entry) => (entry.object() as Event).message)).toEqual([
      "Pod was expected by PDB default/b to be deleted but it wasn't",
    ]);
  });

  it('is another when one of its name was made later', async () => {
    await pod('same');
    await budget({ same: ago(30) });
    harness.start(['disruption']);
    await harness.settled();
    expect(status()).toMatchObject({ currentHealthy: 1 });
    expect(status()).not.toHaveProperty('disruptedPods');
  });
});

it('a pod in two budgets has an event about that, once', async () => {
  for (const name of ['one', 'two'])
    await harness.seed('policy/v1', 'poddisruptionbudgets', 'default', {
      metadata: { name, generation: 1 },
      spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
    });
  await pod('both');
  harness.start(['disruption']);
  await harness.settled();
  const events = harness.all('core/events').map((entry) => entry.object() as Event);
  expect(events.map(({ reason, message, type }) => [type, reason, message])).toEqual([
    [
      'Warning',
      'MultiplePodDisruptionBudgets',
      'Pod "default"/"both" matches multiple PodDisruptionBudgets.  Chose "one" arbitrarily.',
    ],
  ]);
});

describe('a pod that says it is about to be evicted', () => {
  const target = (lastTransitionTime: string, reason: string) => ({
    type: 'DisruptionTarget',
    status: 'True',
    reason,
    message: 'Eviction API: evicting',
    lastTransitionTime,
  });
  const shown = (name: string) => {
    const entry = harness.all('core/pods').find((one) => one.name === name)!;
    return (entry.object() as Pod).status!.conditions!.find(({ type }) => type === 'DisruptionTarget');
  };

  it('says so no more after two minutes, unless it goes or its node said so', async () => {
    await pod('stale', [target(ago(125), 'EvictionByEvictionAPI')]);
    await pod('fresh', [target(ago(60), 'EvictionByEvictionAPI')]);
    await pod('node', [target(ago(125), 'TerminationByKubelet')]);
    await pod('going', [target(ago(125), 'EvictionByEvictionAPI')], { deletionTimestamp: ago(1) });
    harness.start(['disruption']);
    await harness.settled();
    expect(shown('stale')).toMatchObject({ status: 'False' });
    expect(shown('stale')).not.toHaveProperty('reason');
    for (const name of ['fresh', 'node', 'going']) expect(shown(name)).toMatchObject({ status: 'True' });
  });
});
