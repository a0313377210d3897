/** Proves how the rollout of a workload is judged from its status. */
import { expect, it } from 'vitest';
import { rolloutOf } from './workload.ts';

const object = (spec: object, status: object, generation = 1) => ({
  metadata: { name: 'web', uid: 'u', resourceVersion: '1', generation },
  spec,
  status: { observedGeneration: 1, ...status },
});
const deployment = (spec: object, status: object, generation?: number) =>
  rolloutOf('deployments.apps', object({ replicas: 2, ...spec }, status, generation));

it('is complete when all pods are new and ready', () => {
  expect(deployment({}, { readyReplicas: 2, updatedReplicas: 2 })).toEqual({
    state: 'complete',
    wanted: 2,
    ready: 2,
    updated: 2,
  });
  expect(deployment({ replicas: 0 }, {})).toMatchObject({ state: 'complete', wanted: 0 });
  const daemons = { desiredNumberScheduled: 3, numberReady: 3, updatedNumberScheduled: 3 };
  expect(rolloutOf('daemonsets.apps', object({}, daemons)).state).toBe('complete');
  const set = { readyReplicas: 2, replicas: 2 };
  expect(rolloutOf('replicasets.apps', object({ replicas: 2 }, set)).state).toBe('complete');
  const byHand = { replicas: 2, updateStrategy: { type: 'OnDelete' } };
  expect(rolloutOf('statefulsets.apps', object(byHand, { readyReplicas: 2, updatedReplicas: 1 })).state).toBe(
    'complete',
  );
});

it('is under way while pods are missing, old or not ready, or the controller has not seen the change', () => {
  expect(deployment({}, { readyReplicas: 1, updatedReplicas: 2 }).state).toBe('progressing');
  expect(deployment({}, { readyReplicas: 2, updatedReplicas: 1 }).state).toBe('progressing');
  expect(deployment({}, { readyReplicas: 2, updatedReplicas: 2 }, 2).state).toBe('progressing');
  expect(deployment({ paused: true }, { readyReplicas: 1 }).state).toBe('paused');
});

it('is over when its pods are not ready any more, which is no rollout', () => {
  const over = { type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable' };
  const counts = { readyReplicas: 0, updatedReplicas: 2 };
  expect(deployment({}, { ...counts, conditions: [over] })).toMatchObject({ state: 'unready', ready: 0 });
  expect(deployment({}, { ...counts, updatedReplicas: 1, conditions: [over] }).state).toBe('progressing');
  expect(deployment({}, { ...counts, conditions: [over] }, 2).state).toBe('progressing');
  const set = (revision: string) =>
    object({ replicas: 2 }, { ...counts, currentRevision: 'a', updateRevision: revision });
  expect(rolloutOf('statefulsets.apps', set('a')).state).toBe('unready');
  expect(rolloutOf('statefulsets.apps', set('b')).state).toBe('progressing');
});

it('is stuck when the controller has given up or cannot create pods, with its reason', () => {
  const gaveUp = {
    type: 'Progressing',
    status: 'False',
    reason: 'ProgressDeadlineExceeded',
    message: 'timed out',
  };
  expect(deployment({}, { readyReplicas: 1, updatedReplicas: 2, conditions: [gaveUp] })).toMatchObject({
    state: 'stuck',
    reason: 'timed out',
  });
  const refused = {
    type: 'ReplicaFailure',
    status: 'True',
    reason: 'FailedCreate',
    message: 'exceeded quota',
  };
  expect(deployment({}, { conditions: [refused] })).toMatchObject({
    state: 'stuck',
    reason: 'exceeded quota',
  });
  expect(deployment({}, { readyReplicas: 2, updatedReplicas: 2, conditions: [gaveUp] }).state).toBe(
    'complete',
  );
});
