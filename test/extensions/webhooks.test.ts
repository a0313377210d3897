/**
 * Webhooks of a live cluster beyond the recorded answers: the order in which they change objects, hooks that misbehave,
 * what they see of parts of objects, and that they hold up nobody else.
 */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Cluster, start } from '../../src/cluster/index.ts';
import { type HookBehaviour, HookHost } from '../../src/extensions/calls/hook-host.fixture.ts';
import { Client, type Json } from '../support/http.ts';

const group = '/apis/admissionregistration.k8s.io/v1';
const maps = '/api/v1/namespaces/default/configmaps';

describe('webhooks', () => {
  const host = new HookHost();
  let cluster: Cluster;
  let client: Client;
  beforeAll(async () => {
    await host.start();
    cluster = await start({ port: 0, like: 'kubernetes', controllers: false });
    client = new Client(cluster.url);
  });
  afterAll(async () => {
    await cluster.close();
    await host.close();
  });
  beforeEach(() => host.hooks.clear());
  afterEach(async () => {
    for (const type of ['mutating', 'validating'])
      await client.delete(`${group}/${type}webhookconfigurations`);
    await client.delete(maps);
    host.take();
  });

  const hook = (path: string, more: object = {}) => ({
    name: `${path.slice(1)}.example.com`,
    clientConfig: { url: `${host.url}${path}`, caBundle: host.ca },
    rules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    ...more,
  });
  async function configure(type: 'mutating' | 'validating', name: string, ...webhooks: object[]) {
    const reply = await client.post(`${group}/${type}webhookconfigurations`, {
      metadata: { name },
      webhooks,
    });
    expect(reply.text && reply.status).toBe(201);
  }
  const make = (name: string, data: object = { a: 'b' }) => client.post(maps, { metadata: { name }, data });
  const patching = (patch: (data: Record<string, string>) => object[]): HookBehaviour => ({
    answer(_, response, review) {
      const patchText = JSON.stringify(patch(review.request.object.data));
      const patched = { patch: Buffer.from(patchText).toString('base64'), patchType: 'JSONPatch' };
      const answer = { uid: review.request.uid, allowed: true, ...patched };
      response.end(JSON.stringify({ ...review, request: undefined, response: answer }));
    },
  });

  it('are called by name of their configuration, then in their order; earlier ones again when they ask for it', async () => {
    const set = (key: string) =>
      patching((data) => [{ op: 'add', path: `/data/${key}`, value: Object.keys(data).join('') }]);
    host.hooks.set('/one', set('one'));
    host.hooks.set('/two', set('two'));
    host.hooks.set('/three', set('three'));
    await configure('mutating', 'b', hook('/three'));
    await configure('mutating', 'a', hook('/one', { reinvocationPolicy: 'IfNeeded' }), hook('/two'));
    const { body } = await make('ordered');
    expect(host.take().map((call) => call.hook)).toEqual(['/one', '/two', '/three', '/one']);
    expect(body.data).toEqual({ a: 'b', one: 'aonethreetwo', two: 'aone', three: 'aonetwo' });
  });

  it('that change nothing are not called again', async () => {
    host.hooks.set('/one', { allowed: true });
    host.hooks.set(
      '/two',
      patching(() => [{ op: 'add', path: '/data/a', value: 'b' }]),
    );
    await configure('mutating', 'a', hook('/one', { reinvocationPolicy: 'IfNeeded' }), hook('/two'));
    await make('same');
    expect(host.take().map((call) => call.hook)).toEqual(['/one', '/two']);
  });

  it('see the name that was generated only when they validate', async () => {
    host.hooks.set('/fine', { allowed: true });
    await configure('mutating', 'a', hook('/fine'));
    await configure('validating', 'a', hook('/fine'));
    const { body } = await client.post(maps, { metadata: { generateName: 'made-' } });
    const [mutating, validating] = host.take().map(({ review }) => review.request);
    expect(mutating.name).toBeUndefined();
    expect(mutating.object.metadata.uid).toBeUndefined();
    expect(validating.name).toBe(body.metadata.name);
    expect(validating.object.metadata.uid).toBe(body.metadata.uid);
  });

  it('are told what the query said', async () => {
    host.hooks.set('/fine', { allowed: true });
    await configure('validating', 'a', hook('/fine'));
    await client.post(`${maps}?fieldManager=me&fieldValidation=Strict`, { metadata: { name: 'options' } });
    await client.delete(`${maps}/options`, { gracePeriodSeconds: 0, propagationPolicy: 'Background' });
    const [create, remove] = host.take().map(({ review }) => review.request.options);
    expect(create).toEqual({
      kind: 'CreateOptions',
      apiVersion: 'meta.k8s.io/v1',
      fieldManager: 'me',
      fieldValidation: 'Strict',
    });
    expect(remove).toEqual({
      kind: 'DeleteOptions',
      apiVersion: 'meta.k8s.io/v1',
      gracePeriodSeconds: 0,
      propagationPolicy: 'Background',
    });
  });

  it('are asked about every object of a deleted collection', async () => {
    await Promise.all(['x', 'y', 'z'].map((name) => make(name)));
    host.hooks.set('/fine', { allowed: true });
    await configure('validating', 'a', hook('/fine'));
    await client.delete(maps);
    const names = host.take().map(({ review }) => review.request.name);
    expect(names.filter((name: string) => name.length === 1).sort()).toEqual(['x', 'y', 'z']);
  });

  it('for another version of a resource get the object in that version', async () => {
    host.hooks.set('/label', {
      allowed: true,
      patch: [{ op: 'add', path: '/metadata/labels', value: { seen: 'v1' } }],
    });
    const rules = [
      {
        operations: ['CREATE'],
        apiGroups: ['autoscaling'],
        apiVersions: ['v1'],
        resources: ['horizontalpodautoscalers'],
      },
    ];
    await configure('mutating', 'a', hook('/label', { rules }));
    const scaler = {
      metadata: { name: 'scaler' },
      spec: { maxReplicas: 3, scaleTargetRef: { kind: 'Deployment', name: 'web', apiVersion: 'apps/v1' } },
    };
    const { body } = await client.post(
      '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers',
      scaler,
    );
    const { kind, requestKind, object } = host.take()[0]!.review.request;
    expect(kind).toEqual({ group: 'autoscaling', version: 'v1', kind: 'HorizontalPodAutoscaler' });
    expect(requestKind).toEqual({ group: 'autoscaling', version: 'v2', kind: 'HorizontalPodAutoscaler' });
    expect(object.apiVersion).toBe('autoscaling/v1');
    expect(body).toMatchObject({
      apiVersion: 'autoscaling/v2',
      metadata: { labels: { seen: 'v1' } },
      spec: { maxReplicas: 3 },
    });
    await configure(
      'mutating',
      'exact',
      hook('/label', { rules, matchPolicy: 'Exact', name: 'exact.example.com' }),
    );
    await client.delete(`${group}/mutatingwebhookconfigurations/a`);
    await client.post('/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers', {
      ...scaler,
      metadata: { name: 'other' },
    });
    expect(host.take()).toEqual([]);
  });

  it.each<[string, HookBehaviour, RegExp]>([
    [
      'cuts the connection',
      { answer: (request) => void request.socket.destroy() },
      /failed to call webhook: Post .*: EOF/,
    ],
    ['answers with megabytes', { raw: `{"a":"${'x'.repeat(4_000_000)}"}` }, /response body too large/],
    [
      'answers with a wrong type',
      { raw: '{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","response":{"allowed":"yes"}}' },
      /failed to call webhook: .*allowed/,
    ],
    [
      'redirects',
      { raw: '', httpStatus: 307, headers: { Location: 'https://example.com/' } },
      /status code 307/,
    ],
    [
      'refuses with a strange code',
      { allowed: false, status: { code: 9999, message: 'no' } },
      /denied the request: no/,
    ],
    [
      'patches with garbage',
      { allowed: true, patch: 'nonsense' as unknown as object[] },
      /Internal error occurred: error decoding patch/,
    ],
    [
      'patches the name away',
      { allowed: true, patch: [{ op: 'remove', path: '/metadata/name' }] },
      /name or generateName is required/,
    ],
    [
      'patches the namespace',
      { allowed: true, patch: [{ op: 'replace', path: '/metadata/namespace', value: 'x' }] },
      /namespace of the provided object/,
    ],
    [
      'patches with a wrong type',
      { allowed: true, patch: [{ op: 'add', path: '/data', value: 7 }] },
      /Internal error occurred: /,
    ],
  ])('that %s fails the write and nothing else', async (_name, behaviour, message) => {
    host.hooks.set('/bad', behaviour);
    await configure('mutating', 'a', hook('/bad'));
    const reply = await make('refused');
    expect(reply.status).toBeGreaterThanOrEqual(400);
    expect(reply.status).toBeLessThan(600);
    expect(reply.body.message).toMatch(message);
    expect((await client.get(`${maps}/refused`)).status).toBe(404);
    expect(
      (await client.post('/api/v1/namespaces/default/secrets?dryRun=All', { metadata: { name: 's' } }))
        .status,
    ).toBe(201);
  });

  it('may warn a million times, of which some are passed on', async () => {
    const warnings = Array.from({ length: 300_000 }, (_, i) => String(i));
    host.hooks.set('/warning', { allowed: true, warnings });
    await configure('mutating', 'a', hook('/warning'));
    const reply = await make('warned');
    expect(reply.status).toBe(201);
    expect(reply.headers.warning).toContain('299 - "0"');
  });

  it('that hang hold up neither other objects nor reads', async () => {
    let release: (() => void) | undefined;
    let released = false;
    const hanging = new Promise<void>((resolve) => {
      host.hooks.set('/hang', {
        answer(_, response) {
          resolve();
          release = () => response.destroy();
          // The call is made again on a new connection.
          if (released) release();
        },
      });
    });
    await make('stuck');
    const only = {
      matchConditions: [{ name: 'stuck', expression: "request.name == 'stuck'" }],
      timeoutSeconds: 30,
    };
    await configure('validating', 'a', hook('/hang', only));
    const waiting = client.patch(`${maps}/stuck`, { data: { a: 'c' } });
    await hanging;
    expect((await make('free')).status).toBe(201);
    expect((await client.get(`${maps}/stuck`)).body.data).toEqual({ a: 'b' });
    released = true;
    release!();
    expect((await waiting).status).toBe(500);
  });

  it('are not asked about configurations, and cannot lock anybody out', async () => {
    host.hooks.set('/deny', { allowed: false });
    const rules = [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'] }];
    await configure('validating', 'a', hook('/deny', { rules }));
    expect((await make('denied')).status).toBe(400);
    expect((await client.delete(`${group}/validatingwebhookconfigurations/a`)).status).toBe(200);
    expect((await make('allowed')).status).toBe(201);
  });

  it('see scales as such, and may change them', async () => {
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    const sets = '/apis/apps/v1/namespaces/default/replicasets';
    await client.post(sets, {
      metadata: { name: 'set' },
      spec: { replicas: 1, selector: { matchLabels: { a: 'b' } }, template },
    });
    host.hooks.set('/scale', { allowed: true, patch: [{ op: 'replace', path: '/spec/replicas', value: 7 }] });
    const rules = [
      { operations: ['*'], apiGroups: ['apps'], apiVersions: ['*'], resources: ['replicasets/scale'] },
    ];
    await configure('mutating', 'a', hook('/scale', { rules }));
    await client.patch(`${sets}/set/scale`, { spec: { replicas: 3 } });
    const { kind, subResource, object, oldObject } = host.take()[0]!.review.request as Json;
    expect([kind.kind, subResource]).toEqual(['Scale', 'scale']);
    expect([oldObject.spec.replicas, object.spec.replicas]).toEqual([1, 3]);
    expect((await client.get(`${sets}/set`)).body.spec.replicas).toBe(7);
  });
});
