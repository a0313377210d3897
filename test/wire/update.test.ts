/** Update: what a PUT replaces, its preconditions, and where it creates. Wire contract, section 6.4. */
import { describe, expect, it } from 'vitest';
import { type Json, useCluster } from '../support/http.ts';
import { expectFailure } from './failure.ts';
import {
  configMap,
  configMaps,
  controller,
  controllers,
  created,
  job,
  jobs,
  pod,
  pods,
  service,
} from './objects.ts';

const client = useCluster();

describe('the name in the body', () => {
  it('is the one in the path', async () => {
    await created(client, configMaps, configMap('c1'));
    expectFailure(
      await client.put(`${configMaps}/c1`, configMap('c2')),
      400,
      'BadRequest',
      'the name of the object (c2) does not match the name on the URL (c1)',
    );
    expectFailure(
      await client.put(`${configMaps}/c1`, { data: {} }),
      400,
      'BadRequest',
      'the name of the object (c1 based on URL) was undeterminable: name must be provided',
    );
  });

  it('has the namespace of the path', async () => {
    expectFailure(
      await client.put(`${configMaps}/c1`, configMap('c1', {}, { namespace: 'kube-system' })),
      400,
      'BadRequest',
      'the namespace of the provided object does not match the namespace sent on the request',
    );
  });
});

describe('conditions', () => {
  const modified = (resource: string, name: string): string =>
    `Operation cannot be fulfilled on ${resource} "${name}": the object has been modified; please apply your changes to the latest version and try again`;

  it('are met by no version, version 0 and the stored version', async () => {
    const { metadata } = await created(client, configMaps, configMap('c'));
    for (const [i, resourceVersion] of [metadata.resourceVersion, undefined, '', '0'].entries()) {
      const object = configMap('c', { a: `changed ${i}` }, { resourceVersion });
      const reply = await client.put(`${configMaps}/c`, object);
      expect(reply.status, reply.text).toBe(200);
      expect(reply.body.data).toEqual({ a: `changed ${i}` });
    }
  });

  it('are not met by another version', async () => {
    const { metadata } = await created(client, configMaps, configMap('stale'));
    await client.patch(`${configMaps}/stale`, { data: { a: '2' } });
    const { resourceVersion } = metadata;
    expectFailure(
      await client.put(`${configMaps}/stale`, configMap('stale', {}, { resourceVersion })),
      409,
      'Conflict',
      modified('configmaps', 'stale'),
      { name: 'stale', kind: 'configmaps' },
    );
    await created(client, jobs, job('stale'));
    expectFailure(
      await client.put(`${jobs}/stale`, {
        ...job('stale'),
        metadata: { name: 'stale', resourceVersion: '1' },
      }),
      409,
      'Conflict',
      modified('jobs.extensions', 'stale'),
      { name: 'stale', group: 'extensions', kind: 'jobs' },
    );
  });

  it('hold on parts of an object too', async () => {
    await created(client, pods, pod('stale'));
    const object = { ...pod('stale'), metadata: { name: 'stale', resourceVersion: '1' } };
    expect((await client.put(`${pods}/stale/status`, object)).body.reason).toBe('Conflict');
    await created(client, '/api/v1/namespaces', { metadata: { name: 'stale' } });
    const namespace = { metadata: { name: 'stale', resourceVersion: '1' } };
    expect((await client.put('/api/v1/namespaces/stale/finalize', namespace)).body.reason).toBe('Conflict');
  });

  it('refuse a version that is no number', async () => {
    await created(client, configMaps, configMap('worded'));
    expectFailure(
      await client.put(`${configMaps}/worded`, configMap('worded', {}, { resourceVersion: 'abc' })),
      500,
      undefined,
      'strconv.ParseUint: parsing "abc": invalid syntax',
    );
  });

  it('refuse another uid', async () => {
    const { metadata } = await created(client, configMaps, configMap('same'));
    expectFailure(
      await client.put(`${configMaps}/same`, configMap('same', {}, { uid: 'other' })),
      409,
      'Conflict',
      `Operation cannot be fulfilled on configmaps "same": StorageError: invalid object, Code: 4, Key: /registry/configmaps/default/same, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: other, UID in object meta: ${metadata.uid}`,
      { name: 'same', kind: 'configmaps' },
    );
  });
});

describe('an object that is missing', () => {
  it('is not found', async () => {
    expectFailure(
      await client.put(`${configMaps}/missing`, configMap('missing')),
      404,
      'NotFound',
      'configmaps "missing" not found',
      { name: 'missing', kind: 'configmaps' },
    );
  });

  const creating: Record<string, Json> = {
    endpoints: { metadata: { name: 'made' } },
    events: { metadata: { name: 'made' }, involvedObject: { namespace: 'default' } },
    limitranges: { metadata: { name: 'made' }, spec: { limits: [] } },
    services: service('made'),
  };
  for (const [resource, object] of Object.entries(creating))
    it(`is created among ${resource}, whatever its version`, async () => {
      const path = `/api/v1/namespaces/default/${resource}/made`;
      const reply = await client.put(path, { ...object, metadata: { name: 'made', resourceVersion: '5' } });
      expect(reply.status, reply.text).toBe(200);
      expect((await client.get(path)).body.metadata.uid).toBe(reply.body.metadata.uid);
    });
});

describe('parts', () => {
  it('PUT of the object leaves the status', async () => {
    await created(client, pods, pod('p'));
    await client.put(`${pods}/p/status`, { ...pod('p'), status: { phase: 'Running', message: 'set' } });
    const { body } = await client.get(`${pods}/p`);
    const reply = await client.put(`${pods}/p`, { ...body, status: { phase: 'Failed' } });
    expect(reply.body.status).toMatchObject({ phase: 'Running', message: 'set' });
  });

  it('PUT of the status leaves the spec, and takes labels and annotations', async () => {
    await created(client, controllers, controller('rc', 0));
    const reply = await client.put(`${controllers}/rc/status`, {
      ...controller('rc', 5),
      metadata: { name: 'rc', labels: { l: '1' }, annotations: { n: '2' } },
      status: { replicas: 0, fullyLabeledReplicas: 0, observedGeneration: 1 },
    });
    expect(reply.status, reply.text).toBe(200);
    expect(reply.body.spec.replicas).toBe(0);
    expect(reply.body.status.observedGeneration).toBe(1);
    expect(reply.body.metadata).toMatchObject({ labels: { l: '1' }, annotations: { n: '2' } });
  });

  it('GET and PATCH of the status are of the whole object', async () => {
    await created(client, pods, pod('s'));
    expect((await client.get(`${pods}/s/status`)).body.spec.containers).toHaveLength(1);
    const reply = await client.patch(`${pods}/s/status`, {
      spec: { containers: null },
      status: { message: 'patched' },
    });
    expect(reply.body.status.message).toBe('patched');
    expect(reply.body.spec.containers).toHaveLength(1);
  });

  it('PUT finalize changes only the finalizers, and removes a namespace that is going', async () => {
    const path = '/api/v1/namespaces/ending';
    await created(client, '/api/v1/namespaces', { metadata: { name: 'ending' } });
    const kept = await client.put(`${path}/finalize`, {
      metadata: { name: 'ending' },
      spec: { finalizers: ['kubernetes', 'x.io/f'] },
      status: { phase: 'Terminating' },
    });
    expect(kept.body.spec.finalizers).toEqual(['kubernetes', 'x.io/f']);
    expect(kept.body.status.phase).toBe('Active');
    await client.delete(path);
    const gone = await client.put(`${path}/finalize`, { metadata: { name: 'ending' }, spec: {} });
    expect(gone.status, gone.text).toBe(200);
    expect(gone.body).toMatchObject({ metadata: { name: 'ending' }, status: { phase: 'Terminating' } });
    expect((await client.get(path)).status).toBe(404);
  });

  it('emptying the finalizers of an object that is going removes it', async () => {
    const path = `${configMaps}/held`;
    await created(client, configMaps, configMap('held', { a: '1' }, { finalizers: ['x.io/f'] }));
    await client.delete(path);
    const reply = await client.put(path, configMap('held', { a: '2' }));
    expect(reply.status).toBe(200);
    expect(reply.body.data).toEqual({ a: '2' });
    expect((await client.get(path)).status).toBe(404);
  });
});
