/** A cluster in which much is wrong, written by hand: no controller and no agent changes it. */
import { expect, vi } from 'vitest';
import type { ApiClient } from './browser.ts';
import { cronJob, cronJobs, deployment, deployments, jobs, pods, service, services } from './workloads.ts';

const apps = '/apis/apps/v1/namespaces/default';
const claims = '/api/v1/namespaces/default/persistentvolumeclaims';
const boats = '/apis/harbour.example/v1/namespaces/default/boats';
const secondsAgo = (seconds: number): string =>
  new Date(Date.now() - seconds * 1_000).toISOString().replace(/\.\d+/, '');

const status = (name: string, ready: boolean, state: object, restartCount = 0) => ({
  containerStatuses: [{ name, image: `${name}:1`, imageID: '', ready, restartCount, state }],
});

export async function writeTroubles(client: ApiClient): Promise<void> {
  const made = async (path: string, body: object) => {
    const answer = await client.post(path, body);
    expect(answer.status, answer.body.message).toBeLessThan(300);
    return answer.body;
  };
  const say = async (path: string, said: object) => {
    const answer = await client.patch(`${path}/status`, { status: said });
    expect(answer.status, answer.body.message).toBe(200);
  };
  const owner = ({ apiVersion, kind, metadata: { name, uid } }: any) => [
    { apiVersion, kind, name, uid, controller: true },
  ];
  await made('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition);
  await made('/api/v1/nodes', { metadata: { name: 'silent' } });
  await say('/api/v1/nodes/silent', nodeStatus);

  const shop = await made(deployments, deployment('shop', 2, 'shop:2'));
  await say(`${deployments}/shop`, {
    observedGeneration: 1,
    replicas: 3,
    updatedReplicas: 1,
    readyReplicas: 2,
  });
  const sets: any[] = [];
  for (const [number, wanted, ready] of [
    [1, 2, 2],
    [2, 1, 0],
  ] as const) {
    const set = deployment('shop', wanted, `shop:${number}`);
    const annotations = { 'deployment.kubernetes.io/revision': String(number) };
    const written = await made(`${apps}/replicasets`, {
      ...set,
      kind: 'ReplicaSet',
      metadata: {
        name: `shop-${number}`,
        annotations,
        labels: { app: 'shop' },
        ownerReferences: owner(shop),
      },
    });
    sets.push(written);
    const counts = { observedGeneration: 1, replicas: wanted, readyReplicas: ready };
    await say(`${apps}/replicasets/shop-${number}`, counts);
  }
  for (const [name, said] of [
    ['shop-1-a', { phase: 'Running', ...status('shop', true, { running: { startedAt: secondsAgo(300) } }) }],
    [
      'shop-2-b',
      {
        phase: 'Pending',
        ...status('shop', false, {
          waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image "shop:2"' },
        }),
      },
    ],
    [
      'shop-2-c',
      { phase: 'Running', ...status('shop', false, { waiting: { reason: 'CrashLoopBackOff' } }, 7) },
    ],
  ] as const) {
    await made(pods, {
      metadata: { name, labels: { app: 'shop' }, ownerReferences: owner(sets[name.includes('1') ? 0 : 1]) },
      spec: { nodeName: 'silent', containers: [{ name: 'shop', image: 'shop:1' }] },
    });
    await say(`${pods}/${name}`, said);
  }
  const unconfigured = 'unconfigured-5c584d5455-64jmx';
  await made(pods, {
    metadata: { name: unconfigured },
    spec: { nodeName: 'silent', containers: [{ name: 'main', image: 'main:1' }] },
  });
  const waiting = { reason: 'CreateContainerConfigError', message: 'configmap "none" not found' };
  await say(`${pods}/${unconfigured}`, { phase: 'Pending', ...status('main', false, { waiting }) });
  await made(services, service('shop'));
  await made('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', {
    metadata: { name: 'shop-x', labels: { 'kubernetes.io/service-name': 'shop' } },
    addressType: 'IPv4',
    ports: [{ port: 80 }],
    endpoints: [
      { addresses: ['10.0.0.1'], conditions: { ready: true }, targetRef: { kind: 'Pod', name: 'shop-1-a' } },
      { addresses: ['10.0.0.2'], conditions: { ready: false }, targetRef: { kind: 'Pod', name: 'shop-2-c' } },
    ],
  });
  await made('/apis/networking.k8s.io/v1/namespaces/default/ingresses', ingress);
  await made('/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers', autoscaler);
  await say('/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/shop-scaler', {
    currentReplicas: 3,
    desiredReplicas: 2,
  });
  await made('/apis/policy/v1/namespaces/default/poddisruptionbudgets', {
    metadata: { name: 'shop-budget' },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'shop' } } },
  });
  await say('/apis/policy/v1/namespaces/default/poddisruptionbudgets/shop-budget', {
    disruptionsAllowed: 1,
    currentHealthy: 2,
    desiredHealthy: 1,
    expectedPods: 3,
  });

  const report = await made(cronJobs, cronJob('report'));
  for (const [name, said] of [
    [
      'report-1',
      {
        startTime: secondsAgo(900),
        completionTime: secondsAgo(840),
        succeeded: 1,
        ready: 0,
        uncountedTerminatedPods: {},
        conditions: [
          { type: 'SuccessCriteriaMet', status: 'True' },
          { type: 'Complete', status: 'True' },
        ],
      },
    ],
    [
      'report-2',
      {
        startTime: secondsAgo(60),
        failed: 1,
        ready: 0,
        uncountedTerminatedPods: {},
        conditions: [
          { type: 'FailureTarget', status: 'True', reason: 'BackoffLimitExceeded' },
          { type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded' },
        ],
      },
    ],
  ] as const) {
    const { jobTemplate } = cronJob('report').spec;
    await made(jobs, { metadata: { name, ownerReferences: owner(report) }, spec: jobTemplate.spec });
    await say(`${jobs}/${name}`, said);
  }
  const claim = await made(claims, {
    metadata: { name: 'data' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'quick',
      resources: { requests: { storage: '1Gi' } },
    },
  });
  await say(`${claims}/data`, { phase: 'Pending' });
  await made('/api/v1/namespaces/default/configmaps', {
    metadata: { name: 'settings' },
    data: { level: 'info' },
  });
  await made('/api/v1/namespaces/default/resourcequotas', {
    metadata: { name: 'few' },
    spec: { hard: { 'count/deployments.apps': '3' } },
  });
  await made('/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations', webhooks);
  await made('/api/v1/namespaces/default/secrets', {
    metadata: { name: 'login' },
    stringData: { word: 'open' },
  });
  await vi.waitFor(async () => expect((await client.get(boats)).status).toBe(200), { timeout: 60_000 });
  await made(boats, {
    apiVersion: 'harbour.example/v1',
    kind: 'Boat',
    metadata: { name: 'ark' },
    spec: { length: 9 },
  });
  await say(`${boats}/ark`, {
    conditions: [
      {
        type: 'Sailing',
        status: 'False',
        reason: 'Moored',
        message: '',
        lastTransitionTime: secondsAgo(600),
      },
      { type: 'Painted', status: 'True', reason: 'Done', message: '', lastTransitionTime: secondsAgo(600) },
      {
        type: 'Ready',
        status: 'False',
        reason: 'Leaks',
        message: 'water comes in',
        lastTransitionTime: secondsAgo(90),
      },
    ],
  });
  let count = 0;
  const event = (about: any, reason: string, message: string, seconds: number, type = 'Warning') =>
    made('/api/v1/namespaces/default/events', {
      metadata: { name: `event-${count++}` },
      involvedObject: { namespace: 'default', ...about },
      type,
      reason,
      message,
      lastTimestamp: secondsAgo(seconds),
      count: 3,
    });
  const pod = (name: string) => ({ apiVersion: 'v1', kind: 'Pod', name });
  await event(pod('shop-2-b'), 'BackOff', 'Back-off pulling image "shop:2"', 40);
  await event(pod('shop-2-c'), 'BackOff', 'Back-off pulling image "shop:2"', 20);
  await event(
    { apiVersion: 'apps/v1', kind: 'Deployment', name: 'shop' },
    'ScalingReplicaSet',
    'Scaled up',
    10,
    'Normal',
  );
  const { uid } = claim.metadata;
  await event(
    { apiVersion: 'v1', kind: 'PersistentVolumeClaim', name: 'data', uid },
    'ProvisioningFailed',
    'storageclass "quick" not found',
    30,
  );
}

const definition = {
  metadata: { name: 'boats.harbour.example' },
  spec: {
    group: 'harbour.example',
    scope: 'Namespaced',
    names: { plural: 'boats', singular: 'boat', kind: 'Boat' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                required: ['length'],
                properties: { length: { type: 'integer', minimum: 3 } },
              },
              status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        },
      },
    ],
  },
};

const nodeStatus = {
  capacity: { cpu: '4', memory: '8Gi', pods: '110' },
  allocatable: { cpu: '3', memory: '7Gi', pods: '100' },
  images: [{ names: ['shop:1'], sizeBytes: 50_000_000 }],
  conditions: [
    { type: 'Ready', status: 'True', lastTransitionTime: secondsAgo(900) },
    {
      type: 'MemoryPressure',
      status: 'True',
      message: 'memory is short',
      lastTransitionTime: secondsAgo(60),
    },
  ],
};

const webhooks = {
  metadata: { name: 'policy' },
  webhooks: [
    {
      name: 'policy.example.com',
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      failurePolicy: 'Ignore',
      clientConfig: { service: { namespace: 'default', name: 'policy' } },
      rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['podtemplates'] }],
    },
  ],
};

const ingress = {
  metadata: { name: 'shop-door' },
  spec: {
    rules: [
      {
        host: 'shop.example',
        http: {
          paths: [
            { path: '/', pathType: 'Prefix', backend: { service: { name: 'shop', port: { number: 80 } } } },
          ],
        },
      },
    ],
  },
};

const autoscaler = {
  metadata: { name: 'shop-scaler' },
  spec: {
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'shop' },
    minReplicas: 1,
    maxReplicas: 5,
  },
};
