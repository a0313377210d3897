/** Proves what the dashboard says of pods that are not well, and of those that are. */
import { expect, it } from 'vitest';
import { endWords, podSentence, probeWords, runtimeWords, stateWords, waitingWords } from './pod-words.ts';

const metadata = { name: 'p', uid: 'u', resourceVersion: '1' };
const pod = (status: object, more: object = {}) => ({
  metadata: { ...metadata, ...more },
  spec: { containers: [{ name: 'main', image: 'web:1' }] },
  status,
});
const one = (fields: object) => ({ phase: 'Running', containerStatuses: [{ name: 'main', ...fields }] });

it.each([
  [{ phase: 'Running' }, undefined],
  [{ phase: 'Succeeded', reason: 'x' }, undefined],
  [
    {
      phase: 'Pending',
      conditions: [
        {
          type: 'PodScheduled',
          status: 'False',
          message: '0/3 nodes fit. preemption: 0/3 nodes: none helps.',
        },
      ],
    },
    'No node takes it. 0/3 nodes fit.',
  ],
  [
    one({
      state: { waiting: { reason: 'CrashLoopBackOff' } },
      lastState: { terminated: { exitCode: 137, reason: 'OOMKilled' } },
    }),
    'Container main ends again and again, last with exit code 137, too much memory (OOMKilled).',
  ],
  [
    one({ state: { waiting: { reason: 'ErrImagePull', message: 'not found' } } }),
    'Image web:1 cannot be pulled: not found',
  ],
  [
    one({
      state: {
        waiting: {
          reason: 'ImagePullBackOff',
          message:
            'Back-off pulling image "web:1": ErrImagePull: image "web:1" cannot be pulled: no such host',
        },
      },
    }),
    'Image web:1 cannot be pulled: no such host',
  ],
  [
    one({ state: { waiting: { reason: 'CreateContainerConfigError', message: 'no config map' } } }),
    'Container main cannot start: no config map',
  ],
  [one({ state: { waiting: { reason: 'ContainerCreating' } } }), undefined],
  [
    one({ state: { terminated: { exitCode: 2, reason: 'Error' } }, restartCount: 4 }),
    'Container main has ended with exit code 2, after 4 restarts.',
  ],
  [{ phase: 'Failed', reason: 'Evicted', message: 'low on memory' }, 'Evicted: low on memory.'],
  [
    { phase: 'Running', conditions: [{ type: 'Ready', status: 'False', message: 'unready: [main]' }] },
    'It is not ready. unready: [main]',
  ],
  [
    { ...one({ state: { running: {} }, ready: false }), conditions: [{ type: 'Ready', status: 'False' }] },
    'Container main runs, but is not ready.',
  ],
])('says what keeps a pod from running: %j', (status, sentence) => {
  expect(podSentence(pod(status))).toBe(sentence);
});

it('says what the probe found that a container is ended for, and how long its pauses are', () => {
  const waiting = {
    reason: 'CrashLoopBackOff',
    message: 'back-off 2m40s restarting failed container=main pod=p_default(u)',
  };
  const killed = (terminated: object) => pod(one({ state: { waiting }, lastState: { terminated } }));
  const event = (container: string, message: string) => ({
    metadata,
    involvedObject: { fieldPath: `spec.containers{${container}}` },
    message,
  });
  const events = [
    event('other', 'Liveness probe failed: elsewhere'),
    event('main', 'Readiness probe failed: slow'),
    event('main', 'Liveness probe failed: deadlock'),
  ];
  expect(podSentence(killed({ exitCode: 143, signal: 15 }), events)).toBe(
    'Container main ends again and again, last with signal 15: Liveness probe failed: deadlock',
  );
  expect(podSentence(killed({ exitCode: 3 }), events)).toBe(
    'Container main ends again and again, last with exit code 3.',
  );
  expect(waitingWords(waiting)).toBe('It is started again after a pause of 2m40s.');
  expect(waitingWords({ reason: 'ErrImagePull', message: 'not found' })).toBe('not found');
});

it('says that a pod is deleted, and what it waits for', () => {
  const gone = { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['a/b'] };
  expect(podSentence(pod({}, gone))).toBe('It is being deleted. It waits for a/b.');
});

it('has words for states, ends, runtimes and probes', () => {
  const unready = { phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] };
  expect(stateWords(pod(unready))).toBe('Running, not ready');
  expect(stateWords(pod({ phase: 'Running' }))).toBe('Running');
  expect(endWords({ exitCode: 3, reason: 'Error', message: 'no database\n' })).toBe(
    'exit code 3, no database',
  );
  expect(endWords(undefined)).toBe('exit code unknown');
  expect(runtimeWords('process://1')).toBe('a process of the node');
  expect(runtimeWords('containerd://1')).toBe('a container of containerd');
  expect(runtimeWords(undefined)).toBe('');
  expect(probeWords({ httpGet: { port: 80, path: '/x' }, periodSeconds: 5, failureThreshold: 2 })).toBe(
    'GET :80/x every 5s, fails after 2',
  );
  expect(probeWords({ exec: { command: ['test', '-f'] }, initialDelaySeconds: 3 })).toBe(
    'test -f every 10s, after 3s',
  );
});
