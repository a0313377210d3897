/** Metadata: what the server sets, what clients may set, and how a wrong value is refused. Wire, section 5. */
import { describe, expect, it } from 'vitest';
import { type Json, useCluster } from '../support/http.ts';
import { expectFailure, expectInvalid } from './failure.ts';
import {
  configMap,
  configMaps,
  controller,
  controllers,
  created,
  currentVersion,
  pod,
  pods,
} from './objects.ts';

const client = useCluster();

describe('what the server sets', () => {
  it('replaces uid, creationTimestamp and selfLink, and drops the marks of a deletion', async () => {
    const { metadata } = await created(
      client,
      configMaps,
      configMap('c', undefined, {
        uid: 'mine',
        creationTimestamp: '2001-01-01T00:00:00Z',
        selfLink: '/mine',
        deletionTimestamp: '2001-01-01T00:00:00Z',
        deletionGracePeriodSeconds: 5,
      }),
    );
    expect(metadata.uid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(Math.abs(Date.parse(metadata.creationTimestamp) - Date.now())).toBeLessThan(60_000);
    expect(metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(metadata.selfLink).toBe(`${configMaps}/c`);
    expect(metadata).not.toHaveProperty('deletionTimestamp');
    expect(metadata).not.toHaveProperty('deletionGracePeriodSeconds');
  });

  it('keeps them on an update', async () => {
    const { metadata } = await created(client, configMaps, configMap('kept'));
    const reply = await client.put(
      `${configMaps}/kept`,
      configMap('kept', { a: '2' }, { creationTimestamp: '2001-01-01T00:00:00Z', selfLink: '/mine' }),
    );
    expect(reply.body.metadata).toMatchObject({
      uid: metadata.uid,
      creationTimestamp: metadata.creationTimestamp,
      selfLink: metadata.selfLink,
    });
  });

  it('takes the namespace from the path, and drops it for a cluster-scoped kind', async () => {
    expect((await created(client, configMaps, configMap('placed'))).metadata.namespace).toBe('default');
    const { metadata } = await created(client, '/api/v1/nodes', {
      metadata: { name: 'n', namespace: 'default' },
    });
    expect(metadata).not.toHaveProperty('namespace');
    expect(metadata.selfLink).toBe('/api/v1/nodes/n');
  });

  it('puts the request path into the selfLink of a list', async () => {
    expect((await client.get(`${configMaps}?limit=1`)).body.metadata.selfLink).toBe(configMaps);
    expect((await client.get('/api/v1/configmaps')).body.metadata.selfLink).toBe('/api/v1/configmaps');
  });

  it('drops managedFields that cannot be read', async () => {
    const { metadata } = await created(
      client,
      configMaps,
      configMap('unmanaged', undefined, { managedFields: [{ manager: 'me', operation: 'Update' }] }),
    );
    expect(metadata.managedFields).toHaveLength(1);
    expect(metadata.managedFields[0]).toMatchObject({ manager: 'unknown', apiVersion: 'v1' });
  });
});

describe('resourceVersion', () => {
  it('is one counter for all kinds, and the list shows it', async () => {
    const first = await created(client, configMaps, configMap('v1'));
    const second = await created(client, '/api/v1/nodes', { metadata: { name: 'v2' } });
    expect(Number(second.metadata.resourceVersion)).toBeGreaterThan(Number(first.metadata.resourceVersion));
    expect(await currentVersion(client)).toBeGreaterThanOrEqual(Number(second.metadata.resourceVersion));
    expect(first.metadata.resourceVersion).toMatch(/^[1-9]\d*$/);
  });

  it('does not move when nothing changes, and nobody is told', async () => {
    const { metadata } = await created(client, configMaps, configMap('still'));
    const watch = await client.watch(`${configMaps}?watch=true&resourceVersion=${metadata.resourceVersion}`);
    const put = await client.put(`${configMaps}/still`, configMap('still'));
    const patch = await client.patch(`${configMaps}/still`, { data: { a: '1' } });
    for (const reply of [put, patch]) {
      expect(reply.status).toBe(200);
      expect(reply.body.metadata.resourceVersion).toBe(metadata.resourceVersion);
    }
    await client.patch(`${configMaps}/still`, { data: { a: '2' } });
    const event = await watch.next();
    expect(event.object.data).toEqual({ a: '2' });
    watch.close();
  });

  it('of a deletion is in the DELETED event', async () => {
    const { metadata } = await created(client, configMaps, configMap('fleeting'));
    const watch = await client.watch(`${configMaps}?watch=true&resourceVersion=${metadata.resourceVersion}`);
    await client.delete(`${configMaps}/fleeting`);
    const event = await watch.next();
    expect(event.type).toBe('DELETED');
    expect(Number(event.object.metadata.resourceVersion)).toBeGreaterThan(Number(metadata.resourceVersion));
    watch.close();
  });
});

describe('generation', () => {
  it('counts changes of the spec, and cannot be set', async () => {
    const { metadata } = await created(client, controllers, {
      ...controller('counted'),
      metadata: { name: 'counted', generation: 7 },
    });
    expect(metadata.generation).toBe(1);
    const path = `${controllers}/counted`;
    const scaled = await client.patch(path, {
      metadata: { generation: 9 },
      spec: { replicas: 0, minReadySeconds: 1 },
    });
    expect(scaled.body.metadata.generation).toBe(2);
    const labelled = await client.patch(path, { metadata: { labels: { a: 'b' } } });
    expect(labelled.body.metadata.generation).toBe(2);
    const status = await client.patch(`${path}/status`, { status: { observedGeneration: 1 } });
    expect(status.body.metadata.generation).toBe(2);
  });

  it('is left as it was sent for kinds that do not count', async () => {
    const { metadata } = await created(client, configMaps, configMap('free', undefined, { generation: 5 }));
    expect(metadata.generation).toBe(5);
  });
});

describe('generateName', () => {
  it('is a prefix for five letters or digits', async () => {
    const { metadata } = await created(client, configMaps, { metadata: { generateName: 'made-' } });
    expect(metadata.name).toMatch(/^made-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    expect(metadata.generateName).toBe('made-');
  });

  it('is cut to 58 characters', async () => {
    const { metadata } = await created(client, configMaps, { metadata: { generateName: 'x'.repeat(80) } });
    expect(metadata.name).toHaveLength(63);
  });

  it('yields to a name', async () => {
    const { metadata } = await created(client, configMaps, {
      metadata: { name: 'named', generateName: 'made-' },
    });
    expect(metadata).toMatchObject({ name: 'named', generateName: 'made-' });
  });

  it('is checked as a name is, and both are told of', async () => {
    const reply = await client.post(configMaps, { metadata: { generateName: 'A_' } });
    expect(reply.status).toBe(422);
    expect(reply.body.details.causes.map((cause: Json) => cause.field)).toEqual([
      'metadata.generateName',
      'metadata.name',
    ]);
  });
});

describe('generateName, when every name is taken', () => {
  const unlucky = useCluster({ chance: { randomBelow: () => 0 } });

  it('gives up after some tries', async () => {
    const first = await unlucky.post(configMaps, { metadata: { generateName: 'made-' } });
    expect(first.body.metadata.name).toBe('made-bbbbb');
    const second = await unlucky.post(configMaps, { metadata: { generateName: 'made-' } });
    expectFailure(
      second,
      409,
      'AlreadyExists',
      'configmaps "made-bbbbb" already exists, the server was not able to generate a unique name for the object',
      { name: 'made-bbbbb', kind: 'configmaps', retryAfterSeconds: 1 },
    );
    expect(second.headers['retry-after']).toBe('1');
  });
});

describe('finalizers', () => {
  it('are qualified names', async () => {
    expectInvalid(
      await client.post(configMaps, configMap('c', undefined, { finalizers: ['bad'] })),
      'ConfigMap',
      'c',
      'metadata.finalizers[0]',
      'Invalid value: "bad": name is neither a standard finalizer name nor is it fully qualified',
    );
    const both = await client.post(
      configMaps,
      configMap('c', undefined, { finalizers: ['orphan', 'foregroundDeletion'] }),
    );
    expect(both.status).toBe(422);
    expect(both.body.details.causes[0].field).toBe('metadata.finalizers');
  });

  it('cannot be added once the object is being deleted', async () => {
    await created(client, configMaps, configMap('held', undefined, { finalizers: ['x.io/f'] }));
    await client.delete(`${configMaps}/held`);
    const path = `${configMaps}/held`;
    expectInvalid(
      await client.patch(path, { metadata: { finalizers: ['x.io/f', 'y.io/g'] } }),
      'ConfigMap',
      'held',
      'metadata.finalizers',
      'Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"y.io/g"}',
    );
    const freed = await client.patch(path, { metadata: { finalizers: null } });
    expect(freed.status).toBe(200);
    expect(freed.body.metadata.deletionTimestamp).toBeTruthy();
    expect((await client.get(path)).status).toBe(404);
  });
});

describe('the marks of a deletion', () => {
  it('cannot be set by a write', async () => {
    await created(client, configMaps, configMap('alive'));
    const path = `${configMaps}/alive`;
    const deletionTimestamp = '2026-01-02T03:04:05Z';
    for (const reply of [
      await client.put(path, configMap('alive', undefined, { deletionTimestamp })),
      await client.patch(path, { metadata: { deletionTimestamp } }),
    ])
      expectInvalid(
        reply,
        'ConfigMap',
        'alive',
        'metadata.deletionTimestamp',
        'Invalid value: "2026-01-02T03:04:05Z": field is immutable',
      );
    expectInvalid(
      await client.patch(path, { metadata: { deletionGracePeriodSeconds: 5 } }),
      'ConfigMap',
      'alive',
      'metadata.deletionGracePeriodSeconds',
      'Invalid value: 5: field is immutable',
    );
  });

  it('cannot be taken away', async () => {
    await created(client, configMaps, configMap('doomed', undefined, { finalizers: ['x.io/f'] }));
    const { body } = await client.delete(`${configMaps}/doomed`);
    const reply = await client.put(
      `${configMaps}/doomed`,
      configMap('doomed', { a: '2' }, { finalizers: ['x.io/f'] }),
    );
    expect(reply.body.metadata.deletionTimestamp).toBe(body.metadata.deletionTimestamp);
    expect(reply.body.metadata.deletionGracePeriodSeconds).toBe(0);
  });
});

describe('ownerReferences', () => {
  const owner = { apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u' };
  const refused = async (ownerReferences: Json[]): Promise<Json> => {
    const reply = await client.post(configMaps, configMap('c', undefined, { ownerReferences }));
    expect(reply.status, reply.text).toBe(422);
    return reply.body.details.causes;
  };

  it('have apiVersion, kind, name and uid', async () => {
    expect(await refused([{ ...owner, name: '' }])).toEqual([
      {
        reason: 'FieldValueInvalid',
        message: 'Invalid value: "": must not be empty',
        field: 'metadata.ownerReferences.name',
      },
    ]);
    expect(await refused([{ ...owner, apiVersion: '' }])).toEqual([
      {
        reason: 'FieldValueInvalid',
        message: 'Invalid value: "": version must not be empty',
        field: 'metadata.ownerReferences.apiVersion',
      },
    ]);
    expect(await refused([{}])).toHaveLength(4);
  });

  it('name at most one controller, and no event', async () => {
    const controlling = { ...owner, controller: true };
    expect(await refused([controlling, { ...controlling, uid: 'w' }])).toHaveLength(1);
    expect(await refused([{ ...owner, kind: 'Event' }])).toHaveLength(1);
  });

  it('are kept as sent', async () => {
    const node = await created(client, '/api/v1/nodes', { metadata: { name: 'owner' } });
    const reference = {
      apiVersion: 'v1',
      kind: 'Node',
      name: 'owner',
      uid: node.metadata.uid,
      controller: true,
      blockOwnerDeletion: true,
    };
    const { metadata } = await created(client, pods, pod('owned', { ownerReferences: [reference] }));
    expect(metadata.ownerReferences).toEqual([reference]);
  });
});
