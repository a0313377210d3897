/**
 * A custom kind is a kind like any other: quotas count its objects, the garbage collector and the removal of a namespace
 * delete them, autoscalers scale them, roles are about them, metrics count them. Webhooks are asked about connections to
 * pods. And a definition whose rules cost as much as they may holds up nobody else.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HookHost } from '../../src/extensions/calls/hook-host.fixture.ts';
import { until, untilList } from '../controllers/objects.ts';
import { type Json, useCluster } from '../support/http.ts';
import { define, definitionOf, objectOf, objectsPath } from './definition.ts';

const core = '/api/v1/namespaces/default';
const boats = objectsPath('boats');

const api = useCluster({
  like: 'kubernetes',
  secure: { port: 0 },
  simulatedNodes: 1,
  controllerSettings: { autoscalerSyncMs: 200 },
});

beforeAll(async () => {
  const scale = {
    specReplicasPath: '.spec.crew',
    statusReplicasPath: '.status.crew',
    labelSelectorPath: '.status.selector',
  };
  const status = { crew: { type: 'integer' }, selector: { type: 'string' } };
  const definition = definitionOf('boats', 'Boat', [{ name: 'v1', spec: { crew: { type: 'integer' } } }]);
  const [version] = definition.spec.versions;
  version.schema.openAPIV3Schema.properties.status.properties = status;
  version.subresources = { status: {}, scale };
  await define(api, definition);
});

describe('objects of a custom kind', () => {
  it('are counted by quotas', async () => {
    await api.post('/api/v1/namespaces', { metadata: { name: 'counted' } });
    const quotas = '/api/v1/namespaces/counted/resourcequotas';
    const count = 'count/boats.test.example.com';
    await api.post(quotas, { metadata: { name: 'q' }, spec: { hard: { [count]: '1' } } });
    await until(api, `${quotas}/q`, ({ status }) => status?.used?.[count] === '0');
    const path = boats.replace('default', 'counted');
    expect((await api.post(path, objectOf('Boat', 'one'))).status).toBe(201);
    const refused = await api.post(path, objectOf('Boat', 'two'));
    expect([refused.status, refused.body.message]).toEqual([
      403,
      `boats.test.example.com "two" is forbidden: exceeded quota: q, requested: ${count}=1, used: ${count}=1, limited: ${count}=1`,
    ]);
    await api.delete(`${path}/one`);
    await until(api, `${quotas}/q`, ({ status }) => status?.used?.[count] === '0');
    expect((await api.post(path, objectOf('Boat', 'two'))).status).toBe(201);
  });

  it('are deleted with their owners, and take what they own with them', async () => {
    const owner = (await api.post(`${core}/configmaps`, { metadata: { name: 'harbour' } })).body;
    const owned = objectOf('Boat', 'owned');
    owned.metadata.ownerReferences = [
      { apiVersion: 'v1', kind: 'ConfigMap', name: 'harbour', uid: owner.metadata.uid },
    ];
    const boat = (await api.post(boats, owned)).body;
    await api.post(`${core}/configmaps`, {
      metadata: {
        name: 'cargo',
        ownerReferences: [
          { apiVersion: 'test.example.com/v1', kind: 'Boat', name: 'owned', uid: boat.metadata.uid },
        ],
      },
    });
    await api.delete(`${core}/configmaps/harbour?propagationPolicy=Foreground`);
    await untilList(api, boats, (items) => !items.some(({ metadata }: Json) => metadata.name === 'owned'));
    await untilList(
      api,
      `${core}/configmaps`,
      (items) => !items.some(({ metadata }: Json) => ['cargo', 'harbour'].includes(metadata.name)),
    );
  });

  it('go with their namespace, which waits for their finalizers', async () => {
    await api.post('/api/v1/namespaces', { metadata: { name: 'leaving' } });
    const path = boats.replace('default', 'leaving');
    const held = objectOf('Boat', 'held');
    held.metadata.finalizers = ['test.example.com/hold'];
    await api.post(path, held);
    await api.post(path, objectOf('Boat', 'free'));
    await api.delete('/api/v1/namespaces/leaving');
    const left = await until(
      api,
      '/api/v1/namespaces/leaving',
      ({ status }) =>
        status.conditions?.find(({ type }: Json) => type === 'NamespaceContentRemaining')?.status === 'True',
    );
    expect(JSON.stringify(left.status.conditions)).toContain(
      'boats.test.example.com has 1 resource instances',
    );
    await api.patch(`${path}/held`, { metadata: { finalizers: null } });
    await untilList(
      api,
      '/api/v1/namespaces',
      (items) => !items.some(({ metadata }: Json) => metadata.name === 'leaving'),
    );
  });

  it('are scaled by autoscalers', async () => {
    await api.post(`${core}/pods`, {
      metadata: {
        name: 'rower',
        labels: { app: 'rower' },
        annotations: { 'wherry.dev/simulated-milli-cpu': '400' },
      },
      spec: { containers: [{ name: 'c', image: 'x', resources: { requests: { cpu: '100m' } } }] },
    });
    await until(api, `${core}/pods/rower`, ({ status }) => status.phase === 'Running');
    await api.post(boats, objectOf('Boat', 'rowed', { crew: 1 }));
    await api.patch(`${boats}/rowed/status`, { status: { crew: 1, selector: 'app=rower' } });
    await api.post('/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers', {
      metadata: { name: 'rowed' },
      spec: {
        scaleTargetRef: { apiVersion: 'test.example.com/v1', kind: 'Boat', name: 'rowed' },
        minReplicas: 1,
        maxReplicas: 3,
        metrics: [
          {
            type: 'Resource',
            resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } },
          },
        ],
      },
    });
    const scaled = await until(api, `${boats}/rowed`, ({ spec }) => spec.crew === 3);
    expect(scaled.metadata.generation).toBe(2);
  });

  it('are what roles can be about', async () => {
    const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default';
    const may = async (verb: string, subresource?: string): Promise<boolean> => {
      const resourceAttributes = {
        group: 'test.example.com',
        resource: 'boats',
        namespace: 'default',
        verb,
        subresource,
      };
      const spec = { user: 'eve', resourceAttributes };
      return (await api.post('/apis/authorization.k8s.io/v1/subjectaccessreviews', { spec })).body.status
        .allowed;
    };
    expect(await may('get')).toBe(false);
    await api.post(`${rbac}/roles`, {
      metadata: { name: 'boats' },
      rules: [{ apiGroups: ['test.example.com'], resources: ['boats', 'boats/scale'], verbs: ['get'] }],
    });
    await api.post(`${rbac}/rolebindings`, {
      metadata: { name: 'boats' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'boats' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'eve' }],
    });
    expect([
      await may('get'),
      await may('get', 'scale'),
      await may('get', 'status'),
      await may('update'),
    ]).toEqual([true, true, false, false]);
  });

  it('are counted by metrics', async () => {
    await api.post(boats, objectOf('Boat', 'counted'));
    const { text } = await api.get('/metrics');
    expect(text).toMatch(/^apiserver_resource_objects\{group="test.example.com",resource="boats"\} [1-9]/m);
    const total = text
      .split('\n')
      .filter((line) => line.startsWith('apiserver_request_total'))
      .join('\n');
    expect(total).toMatch(
      /^apiserver_request_total\{.*verb="POST".*group="test.example.com".*resource="boats"/m,
    );
  });
});

describe('webhooks', () => {
  const host = new HookHost();
  beforeAll(() => host.start());
  afterAll(() => host.close());

  it('are asked about connections to pods', async () => {
    await api.post(`${core}/pods`, {
      metadata: { name: 'asked' },
      spec: { containers: [{ name: 'c', image: 'x' }] },
    });
    await until(api, `${core}/pods/asked`, ({ status }) => status.phase === 'Running');
    host.hooks.set('/connect', { allowed: false, status: { message: 'no visitors' } });
    const hooks = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
    await api.post(hooks, {
      metadata: { name: 'connect' },
      webhooks: [
        {
          name: 'connect.example.com',
          clientConfig: { url: `${host.url}/connect`, caBundle: host.ca },
          rules: [{ operations: ['CONNECT'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods/*'] }],
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
        },
      ],
    });
    const forms = {
      exec: 'PodExecOptions',
      attach: 'PodAttachOptions',
      portforward: 'PodPortForwardOptions',
    };
    for (const [subresource, kind] of Object.entries(forms)) {
      const refused = await api.post(`${core}/pods/asked/${subresource}?command=ls&container=c`, undefined);
      expect([refused.status, refused.body.message]).toEqual([
        400,
        'admission webhook "connect.example.com" denied the request: no visitors',
      ]);
      const [{ request }] = host.take().map(({ review }) => review);
      expect(request).toMatchObject({
        operation: 'CONNECT',
        kind: { group: '', version: 'v1', kind },
        resource: { group: '', version: 'v1', resource: 'pods' },
        subResource: subresource,
        name: 'asked',
        namespace: 'default',
        object: { kind, apiVersion: 'v1' },
        oldObject: null,
      });
    }
    const proxied = await api.get(`${core}/pods/asked/proxy/path`);
    expect([proxied.status, host.take()[0]?.review.request.object.kind]).toEqual([400, 'PodProxyOptions']);
    await api.delete(`${hooks}/connect`);
  });
});

describe('rules that take as many steps as they may', () => {
  it('end in a refusal, and others are answered before', async () => {
    const list = { type: 'array', maxItems: 300, items: { type: 'integer' } };
    const rule = 'self.all(x, self.all(y, x <= y || y <= x))';
    const rows = {
      type: 'array',
      maxItems: 1,
      items: { ...list, 'x-kubernetes-validations': [{ rule }] },
    };
    const rowNames = Array.from({ length: 40 }, (_, i) => `rows${i}`);
    const spec = Object.fromEntries(rowNames.map((name) => [name, rows]));
    await define(api, definitionOf('rafts', 'Raft', [{ name: 'v1', spec }]));
    const numbers = Array.from({ length: 300 }, (_, i) => i);
    const order: string[] = [];
    const raft = objectOf('Raft', 'slow', Object.fromEntries(rowNames.map((name) => [name, [numbers]])));
    const slow = Promise.all(
      ['a', 'b', 'c'].map(async (name) => {
        const reply = await api.post(objectsPath('rafts'), { ...raft, metadata: { name } });
        order.push(name);
        return reply;
      }),
    );
    while (!order.length) {
      const { status } = await api.get('/api/v1/namespaces/default');
      expect(status).toBe(200);
      order.push('read');
    }
    for (const { status, body } of await slow) {
      expect(status).toBe(422);
      expect(body.message).toContain(
        'validation failed due to running out of cost budget, no further validation rules will be run',
      );
    }
    expect(order[0]).toBe('read');
  });
});
