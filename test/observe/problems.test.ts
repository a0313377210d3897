/** Proves what `GET /wherry/problems` and `wherry problems` tell of a cluster, and that each user learns of no more than is theirs. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Cluster } from '../../src/cluster/index.ts';
import { askProblems } from '../../src/cluster/past/problems.ts';
import { startBuilt } from '../dashboard/browser.ts';

let cluster: Cluster;

const send = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const answer = await fetch(`${cluster.url}${path}`, {
    method,
    headers: { 'Content-Type': type, ...headers },
    body: body && JSON.stringify(body),
  });
  return { status: answer.status, body: (await answer.json()) as any };
};
const as = (user: string) => ({ 'Impersonate-User': user, 'Impersonate-Group': 'system:authenticated' });
const messages = async (query = '', headers = {}): Promise<string[]> =>
  (await send('GET', `/wherry/problems${query}`, undefined, headers)).body.items.map(
    ({ message }: any) => message,
  );

async function writePod(namespace: string, name: string, waiting: object): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}/pods`;
  const spec = { nodeName: 'silent', containers: [{ name: 'main', image: 'gone:1' }] };
  await send('POST', path, { metadata: { name }, spec });
  const main = { name: 'main', image: '', imageID: '', ready: false, restartCount: 0, state: { waiting } };
  await send('PATCH', `${path}/${name}/status`, { status: { phase: 'Pending', containerStatuses: [main] } });
}

beforeAll(async () => {
  cluster = await startBuilt({ port: 0, controllers: false, secure: true });
  for (const name of ['one', 'two']) await send('POST', '/api/v1/namespaces', { metadata: { name } });
  const notFound = { reason: 'ErrImagePull', message: 'not found' };
  await writePod('one', 'a', notFound);
  await writePod('one', 'b', notFound);
  await writePod('two', 'c', notFound);
  await send('POST', '/api/v1/nodes', {
    metadata: { name: 'silent' },
    status: { conditions: [{ type: 'Ready', status: 'False', message: 'no network' }] },
  });
  const readers = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
  const rules = [{ apiGroups: ['', 'apps'], resources: ['*'], verbs: ['get', 'list', 'watch'] }];
  await send('POST', readers, { metadata: { name: 'reader' }, rules });
  await send('POST', '/apis/rbac.authorization.k8s.io/v1/namespaces/one/rolebindings', {
    metadata: { name: 'viewer' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reader' },
    subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'viewer' }],
  });
});
afterAll(() => cluster?.close());

it('groups what is not well by its cause, and counts what comes right no more', async () => {
  expect((await messages()).sort()).toEqual([
    '3 pods: image gone:1 cannot be pulled: not found',
    'Node silent: the node is not ready: no network',
  ]);
  expect(await messages('?namespace=two')).toEqual(['Pod two/c: image gone:1 cannot be pulled: not found']);
  await send('DELETE', '/api/v1/namespaces/two/pods/c?gracePeriodSeconds=0');
  expect(await messages('?namespace=two')).toEqual([]);
  await writePod('two', 'c', { reason: 'ErrImagePull', message: 'not found' });
});

it('explains by events what objects do not say', async () => {
  const path = '/api/v1/namespaces/two/persistentvolumeclaims';
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
  const { body } = await send('POST', path, { metadata: { name: 'data' }, spec });
  const { uid, creationTimestamp } = body.metadata;
  await send('POST', '/api/v1/namespaces/two/events', {
    metadata: { name: 'data.1' },
    involvedObject: { kind: 'PersistentVolumeClaim', namespace: 'two', name: 'data', uid, apiVersion: 'v1' },
    type: 'Warning',
    reason: 'ProvisioningFailed',
    message: 'storageclass "fast" not found',
    lastTimestamp: creationTimestamp,
  });
  const jobSpec = {
    template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'x' }] } },
  };
  const job = await send('POST', '/apis/batch/v1/namespaces/two/jobs', {
    metadata: { name: 'report' },
    spec: jobSpec,
  });
  const cronJob = await send('POST', '/apis/batch/v1/namespaces/two/cronjobs', {
    metadata: { name: 'nightly' },
    spec: { schedule: '0 0 * * *', jobTemplate: { spec: jobSpec } },
  });
  const warn = (name: string, { kind, metadata }: any, message: string) =>
    send('POST', '/api/v1/namespaces/two/events', {
      metadata: { name },
      involvedObject: { kind, namespace: 'two', name: metadata.name, uid: metadata.uid },
      type: 'Warning',
      reason: 'FailedCreate',
      message,
      lastTimestamp: metadata.creationTimestamp,
    });
  await send('PATCH', '/apis/batch/v1/namespaces/two/jobs/report/status', {
    status: { startTime: creationTimestamp, failed: 1 },
  });
  await warn('report.1', { kind: 'Job', ...job.body }, 'exceeded quota');
  const before = await messages('?namespace=two');
  expect(before).toContain('Job two/report: 1 pod has failed, 6 may: exceeded quota');
  expect(before.join()).not.toContain('nightly');
  await warn('nightly.1', { kind: 'CronJob', ...cronJob.body }, 'too many missed start times');
  expect(await messages('?namespace=two')).toContain('CronJob two/nightly: too many missed start times');
  await send('PATCH', `${path}/data/status`, { status: { phase: 'Lost' } });
  expect(await messages('?namespace=two')).toContain(
    'PersistentVolumeClaim two/data: the volume of the claim is lost',
  );
  await send('DELETE', `${path}/data`);
  await send('DELETE', '/apis/batch/v1/namespaces/two/jobs/report?propagationPolicy=Background');
  await send('DELETE', '/apis/batch/v1/namespaces/two/cronjobs/nightly');
});

it('says why a job fails, why a probe ends a container, where an ingress leads to nothing, and nothing of claims that wait for a pod', async () => {
  const path = '/api/v1/namespaces/five/pods';
  await send('POST', '/api/v1/namespaces', { metadata: { name: 'five' } });
  const old = { creationTimestamp: '2026-01-01T00:00:00Z', namespace: 'five' };
  const imported = (kind: string, apiVersion: string, name: string, rest: object) => ({
    ...{ kind, apiVersion, metadata: { ...old, name, uid: `five-${name}` }, ...rest },
  });
  const job = (name: string) => {
    const failed = { type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded', message: 'limit' };
    const controller = {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      uid: 'five-cron',
      name: 'cron',
      controller: true,
    };
    const job = imported('Job', 'batch/v1', name, {
      spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'x' }] } } },
      status: { failed: 1, conditions: [{ ...failed, lastTransitionTime: old.creationTimestamp }] },
    });
    return { ...job, metadata: { ...job.metadata, ownerReferences: name === 'alone' ? [] : [controller] } };
  };
  const failedPod = async (of: string, exitCode: number) => {
    const owner = { apiVersion: 'batch/v1', kind: 'Job', name: of, uid: `five-${of}`, controller: true };
    const spec = { nodeName: 'silent', containers: [{ name: 'main', image: 'x' }] };
    await send('POST', path, { metadata: { name: of, ownerReferences: [owner] }, spec });
    const state = {
      terminated: { exitCode, message: `bad row ${exitCode}`, finishedAt: old.creationTimestamp },
    };
    const main = { name: 'main', image: '', imageID: '', ready: false, restartCount: 0, state };
    await send('PATCH', `${path}/${of}/status`, { status: { phase: 'Failed', containerStatuses: [main] } });
  };
  const claim = imported('PersistentVolumeClaim', 'v1', 'cache', {
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    status: { phase: 'Pending' },
  });
  const backend = (name: string) => ({ service: { name, port: { number: 80 } } });
  const door = imported('Ingress', 'networking.k8s.io/v1', 'door', {
    spec: {
      defaultBackend: backend('front'),
      rules: [
        { host: 'a.example', http: { paths: [{ path: '/', pathType: 'Prefix', backend: backend('gone') }] } },
      ],
    },
  });
  const front = imported('Service', 'v1', 'front', { spec: { ports: [{ port: 80 }] } });
  const objects = [job('run-1'), job('run-2'), job('alone'), claim, door, front];
  const { results } = (await send('POST', '/wherry/import', { objects })).body;
  expect(results).toEqual(objects.map(() => ({ state: 'written' })));
  expect(await messages('?namespace=five')).toContain(
    'PersistentVolumeClaim five/cache: the claim has no volume',
  );
  for (const [of, code] of [
    ['run-1', 2],
    ['run-2', 2],
    ['alone', 2],
  ] as const)
    await failedPod(of, code);
  const { body: pod } = await send('POST', path, {
    metadata: { name: 'stuck' },
    spec: {
      nodeName: 'silent',
      containers: [{ name: 'main', image: 'x', livenessProbe: { exec: { command: ['check'] } } }],
    },
  });
  const ended = { exitCode: 143, signal: 15, reason: 'Error', finishedAt: old.creationTimestamp };
  const looping = { waiting: { reason: 'CrashLoopBackOff' } };
  const main = { name: 'main', image: '', imageID: '', ready: false, restartCount: 3 };
  const containerStatuses = [{ ...main, state: looping, lastState: { terminated: ended } }];
  await send('PATCH', `${path}/stuck/status`, { status: { phase: 'Running', containerStatuses } });
  const event = (name: string, { kind, metadata }: any, type: string, reason: string, message: string) =>
    send('POST', '/api/v1/namespaces/five/events', {
      metadata: { name },
      involvedObject: { kind, namespace: 'five', name: metadata.name, uid: metadata.uid },
      ...{ type, reason, message, lastTimestamp: `2026-01-01T00:00:0${name}Z` },
    });
  await event('1', pod, 'Warning', 'Unhealthy', 'Liveness probe failed: deadlock');
  await event('2', pod, 'Warning', 'BackOff', 'Back-off restarting failed container');
  await event('3', claim, 'Normal', 'WaitForFirstConsumer', 'waiting for first consumer');
  expect((await messages('?namespace=five')).sort()).toEqual([
    '2 jobs: the job has failed (BackoffLimitExceeded): container main ended with exit code 2, last line: bad row 2',
    'Ingress five/door: a.example/ leads to the service gone, which does not exist',
    'Job five/alone: the job has failed (BackoffLimitExceeded): container main ended with exit code 2, last line: bad row 2',
    'Pod five/stuck: crash loop of container main: signal 15: Liveness probe failed: deadlock',
  ]);
});

it('tells of a service whose selector fits no pod, and no more once a pod answers', async () => {
  await send('POST', '/api/v1/namespaces', { metadata: { name: 'three' } });
  // Nobody may answer for a minute: objects that are imported keep their times.
  const old = { creationTimestamp: '2026-01-01T00:00:00Z', uid: 'front' };
  const front = {
    ...{ apiVersion: 'v1', kind: 'Service', metadata: { name: 'front', namespace: 'three', ...old } },
    spec: { selector: { app: 'front' }, ports: [{ port: 80 }] },
  };
  const { results } = (await send('POST', '/wherry/import', { objects: [front] })).body;
  expect(results).toEqual([{ state: 'written' }]);
  const told = 'Service three/front: the selector app=front fits no pod';
  expect(await messages('?namespace=three')).toEqual([told]);
  const { text } = await askProblems({ server: cluster.url, namespace: 'three', format: 'text' });
  expect(text).toContain(`warning  ${told}`);
  const path = '/api/v1/namespaces/three/pods';
  const spec = { nodeName: 'silent', containers: [{ name: 'main', image: 'front:1' }] };
  await send('POST', path, { metadata: { name: 'front', labels: { app: 'front' } }, spec });
  const conditions = [{ type: 'Ready', status: 'True' }];
  await send('PATCH', `${path}/front/status`, { status: { phase: 'Running', conditions } });
  expect(await messages('?namespace=three')).toEqual([]);
});

it('counts an evicted pod until its deployment is whole again, and tells of it as past then', async () => {
  await send('POST', '/api/v1/namespaces', { metadata: { name: 'four' } });
  const apps = '/apis/apps/v1/namespaces/four';
  const template = {
    metadata: { labels: { app: 'web' } },
    spec: { containers: [{ name: 'm', image: 'w' }] },
  };
  const spec = { replicas: 2, selector: { matchLabels: { app: 'web' } }, template };
  const make = async (resource: string, apiVersion: string, kind: string, name: string, owner?: any) => {
    const ownerReferences = owner && [{ ...owner, controller: true }];
    const body = { metadata: { name, ownerReferences, labels: { app: 'web' } }, spec };
    const { metadata } = (await send('POST', `${apps}/${resource}`, body)).body;
    return { apiVersion, kind, name, uid: metadata.uid };
  };
  const web = await make('deployments', 'apps/v1', 'Deployment', 'web');
  const set = await make('replicasets', 'apps/v1', 'ReplicaSet', 'web-1', web);
  const path = '/api/v1/namespaces/four/pods';
  const ownerReferences = [{ ...set, controller: true }];
  for (const name of ['web-1-a', 'web-1-b']) {
    const metadata = { name, ownerReferences, labels: { app: 'web' } };
    await send('POST', path, { metadata, spec: { ...template.spec, nodeName: 'silent' } });
    const status = { phase: 'Failed', reason: 'Evicted', message: 'The node was low on memory' };
    await send('PATCH', `${path}/${name}/status`, { status });
  }
  const ready = (readyReplicas: number, observedGeneration: number) =>
    send('PATCH', `${apps}/deployments/web/status`, {
      status: { replicas: readyReplicas, readyReplicas, observedGeneration },
    });
  const told = async () =>
    (await send('GET', '/wherry/problems?namespace=four')).body.items.map((each: any) => [
      each.severity,
      each.message,
    ]);
  const message = '2 pods: failed: Evicted: The node was low on memory';
  await ready(1, 1);
  expect(await told()).toEqual([['error', message]]);
  await ready(2, 1);
  expect(await told()).toEqual([['past', message]]);
  const { text, hasErrors } = await askProblems({ server: cluster.url, namespace: 'four', format: 'text' });
  expect(text).toContain(`past     ${message}`);
  expect(hasErrors).toBe(false);
  // A third is wanted, which the controller has not seen yet.
  await send('PATCH', `${apps}/deployments/web`, { spec: { replicas: 3 } });
  await writePod('four', 'other', { reason: 'ErrImagePull', message: 'not found' });
  expect(await told()).toContainEqual(['error', message]);
  await ready(3, 2);
  const other = 'Pod four/other: image gone:1 cannot be pulled: not found';
  expect(await told()).toEqual([
    ['error', other],
    ['past', message],
  ]);
  await send('DELETE', '/api/v1/namespaces/four/pods/other?gracePeriodSeconds=0');
});

it('tells a user of the namespaces that the user may read, and refuses nobody who is known', async () => {
  expect(await messages('', as('viewer'))).toEqual(['2 pods: image gone:1 cannot be pulled: not found']);
  expect(await messages('?namespace=two', as('viewer'))).toEqual([]);
  expect(await messages('', as('stranger'))).toEqual([]);
  expect((await send('POST', '/wherry/problems', {})).status).toBe(405);
});

it('is a command, for people and for scripts', async () => {
  const question = { server: cluster.url, namespace: 'one', format: 'text' as const };
  const { text, hasErrors } = await askProblems(question);
  expect(text).toMatch(/ error {4}2 pods: image gone:1 cannot be pulled: not found\n$/);
  expect(hasErrors).toBe(true);
  expect(JSON.parse((await askProblems({ ...question, format: 'json' })).text)).toMatchObject({
    kind: 'ProblemList',
  });
  expect(await askProblems({ ...question, namespace: 'none' })).toEqual({
    text: 'No problems.\n',
    hasErrors: false,
  });
  await expect(askProblems({ ...question, server: 'http://127.0.0.1:1' })).rejects.toThrow(
    'cannot be reached',
  );
});
