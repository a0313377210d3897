/** Scale and binding: subresources that are written as objects of another kind. Wire, 1 and 6.8. */
import { describe, expect, it } from 'vitest';
import { type Json, useCluster } from '../support/http.ts';
import { expectFailure, expectInvalid } from './failure.ts';
import { controller, controllers, created, pod, pods } from './objects.ts';

const client = useCluster();
const old = '/apis/extensions/v1beta1/namespaces/default/replicationcontrollers';

describe('scale', () => {
  it('is autoscaling/v1 today', async () => {
    const { metadata } = await created(client, controllers, controller('now', 2));
    const { body } = await client.get(`${controllers}/now/scale`);
    const { name, namespace, uid, creationTimestamp } = metadata;
    expect(body).toEqual({
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: {
        name,
        namespace,
        uid,
        creationTimestamp,
        resourceVersion: expect.any(String),
        selfLink: `${controllers}/now/scale`,
      },
      spec: { replicas: 2 },
      status: { replicas: expect.any(Number), selector: 'app=now' },
    });
  });

  it('was extensions/v1beta1, with the selector as a map', async () => {
    await created(client, controllers, controller('then', 1));
    const { body } = await client.get(`${old}/then/scale`);
    expect(body).toMatchObject({ kind: 'Scale', apiVersion: 'extensions/v1beta1', spec: { replicas: 1 } });
    expect(body.status.selector).toEqual({ app: 'then' });
  });

  it('of 1.1 has no version, so writing back an old one is no conflict', async () => {
    await created(client, controllers, controller('busy', 1));
    const { body } = await client.get(`${old}/busy/scale`);
    expect(body.metadata).not.toHaveProperty('resourceVersion');
    await client.patch(`${controllers}/busy`, { metadata: { labels: { changed: 'since' } } });
    const reply = await client.put(`${old}/busy/scale`, { ...body, spec: { replicas: 3 } });
    expect([reply.status, reply.body.spec]).toEqual([200, { replicas: 3 }]);
    expect(reply.body.metadata).not.toHaveProperty('resourceVersion');
    // One that names a version is bound to it, here as well.
    const versioned = { ...body, metadata: { ...body.metadata, resourceVersion: '1' } };
    expect((await client.put(`${old}/busy/scale`, versioned)).status).toBe(409);
  });

  it('leaves zero out, and takes absence for it', async () => {
    await created(client, controllers, controller('zero', 1));
    const reply = await client.put(`${controllers}/zero/scale`, { metadata: { name: 'zero' }, spec: {} });
    expect(reply.body.spec).toEqual({});
    expect(reply.body.status).toHaveProperty('replicas');
    expect((await client.get(`${controllers}/zero`)).body.spec.replicas).toBe(0);
  });

  it('changes nothing but the replicas', async () => {
    await created(client, controllers, controller('only', 0));
    const reply = await client.put(`${controllers}/only/scale`, {
      metadata: { name: 'only', labels: { a: 'b' } },
      spec: { replicas: 1 },
      status: { replicas: 9, selector: 'x=y' },
    });
    expect(reply.body.spec.replicas).toBe(1);
    const { body } = await client.get(`${controllers}/only`);
    expect(body.metadata.labels).not.toHaveProperty('a');
    expect(body.spec.selector).toEqual({ app: 'only' });
    expect(body.metadata.generation).toBe(2);
  });

  it('is bound to version and uid when they are sent', async () => {
    await created(client, controllers, controller('cond', 0));
    for (const condition of [{ resourceVersion: '1' }, { uid: 'other' }]) {
      const scale = { metadata: { name: 'cond', ...condition }, spec: { replicas: 1 } };
      const reply = await client.put(`${controllers}/cond/scale`, scale);
      expect(reply.body).toMatchObject({
        reason: 'Conflict',
        details: { name: 'cond', kind: 'replicationcontrollers' },
      });
    }
  });

  it('is refused below zero', async () => {
    await created(client, controllers, controller('below', 0));
    expectInvalid(
      await client.patch(`${controllers}/below/scale`, { spec: { replicas: -1 } }),
      'Scale.autoscaling',
      'below',
      'spec.replicas',
      'Invalid value: -1: must be greater than or equal to 0',
    );
  });

  it('is missing with its controller', async () => {
    for (const path of [controllers, old])
      expectFailure(
        await client.get(`${path}/gone/scale`),
        404,
        'NotFound',
        'replicationcontrollers "gone" not found',
        { name: 'gone', kind: 'replicationcontrollers' },
      );
  });
});

describe('binding', () => {
  const binding = (name: string, more: Json = {}): Json => ({
    metadata: { name, ...more },
    target: { kind: 'Node', name: 'node-1' },
  });

  it('answers with a Status, and puts the pod on the node', async () => {
    await created(client, pods, pod('p'));
    const reply = await client.post(`${pods}/p/binding`, binding('p', { annotations: { a: 'b' } }));
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      code: 200,
    });
    const { body } = await client.get(`${pods}/p`);
    expect(body.spec.nodeName).toBe('node-1');
    expect(body.metadata.annotations).toMatchObject({ a: 'b' });
    expect(body.status.conditions).toContainEqual(
      expect.objectContaining({ type: 'PodScheduled', status: 'True' }),
    );
  });

  it('goes to the namespace of the body, or to default, when the path has none', async () => {
    await created(client, '/api/v1/namespaces/kube-public/pods', pod('afar'));
    expect(
      (await client.post('/api/v1/bindings', binding('afar', { namespace: 'kube-public' }))).status,
    ).toBe(200);
    await created(client, pods, pod('near'));
    expect((await client.post('/api/v1/bindings', binding('near'))).status).toBe(200);
    expect((await client.get(`${pods}/near`)).body.spec.nodeName).toBe('node-1');
  });

  it('is done once', async () => {
    const reply = await client.post(`${pods}/p/binding`, binding('p'));
    expect(reply.body).toMatchObject({ code: 409, reason: 'Conflict' });
    expect(reply.body.message).toContain('pod p is already assigned to node "node-1"');
  });

  it('needs a pod', async () => {
    expect((await client.post(`${pods}/gone/binding`, binding('gone'))).body.message).toBe(
      'pods "gone" not found',
    );
  });
});
