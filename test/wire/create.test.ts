/** Create: what a POST does, and its errors. Wire contract, section 6.3. */
import { describe, expect, it } from 'vitest';
import { useCluster } from '../support/http.ts';
import { expectFailure } from './failure.ts';
import { configMap, configMaps, created, job, jobs, pod, pods } from './objects.ts';

const client = useCluster();

describe('a create', () => {
  it('answers 200 with the object as it is stored', async () => {
    const reply = await client.post(configMaps, configMap('c'));
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual((await client.get(`${configMaps}/c`)).body);
  });

  it('ignores the status of kinds that have a path for it', async () => {
    const { status } = await created(client, pods, {
      ...pod('p'),
      status: { phase: 'Running', message: 'mine' },
    });
    expect(status.phase).toBe('Pending');
    expect(status).not.toHaveProperty('message');
  });

  it('may name the namespace of the path, and no other', async () => {
    expect((await client.post(configMaps, configMap('same', {}, { namespace: 'default' }))).status).toBe(200);
    expectFailure(
      await client.post(configMaps, configMap('other', {}, { namespace: 'kube-system' })),
      400,
      'BadRequest',
      'the namespace of the provided object does not match the namespace sent on the request',
    );
  });

  it('without a namespace in the path goes where the body says, or to default', async () => {
    const said = await client.post('/api/v1/configmaps', configMap('said', {}, { namespace: 'kube-system' }));
    expect(said.body.metadata.namespace).toBe('kube-system');
    const unsaid = await client.post('/api/v1/configmaps', configMap('unsaid'));
    expect(unsaid.body.metadata.namespace).toBe('default');
    const nowhere = await client.post('/api/v1/configmaps', configMap('c', {}, { namespace: 'nowhere' }));
    expect(nowhere.body.message).toBe('namespaces "nowhere" not found');
  });
});

describe('a create is refused', () => {
  it('when the name is taken', async () => {
    await created(client, configMaps, configMap('taken'));
    expectFailure(
      await client.post(configMaps, configMap('taken')),
      409,
      'AlreadyExists',
      'configmaps "taken" already exists',
      { name: 'taken', kind: 'configmaps' },
    );
    await created(client, jobs, job('taken'));
    expectFailure(
      await client.post(jobs, job('taken')),
      409,
      'AlreadyExists',
      'jobs.extensions "taken" already exists',
      { name: 'taken', group: 'extensions', kind: 'jobs' },
    );
  });

  it('when the name is taken by one that is going', async () => {
    await created(client, configMaps, configMap('going', {}, { finalizers: ['x.io/f'] }));
    await client.delete(`${configMaps}/going`);
    expectFailure(
      await client.post(configMaps, configMap('going')),
      409,
      'AlreadyExists',
      'object is being deleted: configmaps "going" already exists',
      { name: 'going', kind: 'configmaps' },
    );
  });

  it('when it has a resourceVersion', async () => {
    expectFailure(
      await client.post(configMaps, configMap('versioned', {}, { resourceVersion: '1' })),
      500,
      undefined,
      'resourceVersion should not be set on objects to be created',
    );
  });

  it('when it has a resourceVersion only where the store would see it', async () => {
    const versioned = (name: string, resourceVersion: string, data: object = {}) =>
      configMap(name, data, { resourceVersion });
    const dry = await client.post(`${configMaps}?dryRun=All`, versioned('dry', '7'));
    expect([dry.status, dry.body.metadata.name]).toEqual([200, 'dry']);
    // What is no version of anything is ignored.
    for (const [i, version] of ['0', 'abc', '1.5', '-1', `1${'0'.repeat(20)}`].entries())
      await created(client, configMaps, versioned(`odd-${i}`, version));
    // Validation and admission speak first.
    const invalid = await client.post(configMaps, versioned('Not A Name', '7'));
    expect(invalid.status).toBe(422);
    const nowhere = '/api/v1/namespaces/nowhere/configmaps';
    expect((await client.post(nowhere, versioned('lost', '7'))).status).toBe(404);
    // A name that is taken comes after it.
    const taken = await client.post(configMaps, versioned('odd-0', '7'));
    expect(taken.status).toBe(500);
  });

  it('when the namespace is going', async () => {
    await created(client, '/api/v1/namespaces', { metadata: { name: 'nsx' } });
    const held = configMap('held', {}, { finalizers: ['x.io/f'] });
    await created(client, '/api/v1/namespaces/nsx/configmaps', held);
    await client.delete('/api/v1/namespaces/nsx');
    expectFailure(
      await client.post('/api/v1/namespaces/nsx/configmaps', configMap('late')),
      403,
      'Forbidden',
      'configmaps "late" is forbidden: unable to create new content in namespace nsx because it is being terminated',
      {
        name: 'late',
        kind: 'configmaps',
        causes: [
          {
            reason: 'NamespaceTerminating',
            message: 'namespace nsx is being terminated',
            field: 'metadata.namespace',
          },
        ],
      },
    );
  });
});

describe('the code of a create', () => {
  const modern = useCluster({ createStatus: 201 });

  it('can be 201, for a PUT that creates too', async () => {
    expect((await modern.post(configMaps, configMap('c'))).status).toBe(201);
    const endpoints = '/api/v1/namespaces/default/endpoints';
    expect((await modern.put(`${endpoints}/e`, { metadata: { name: 'e' } })).status).toBe(201);
    expect((await modern.put(`${endpoints}/e`, { metadata: { name: 'e' } })).status).toBe(200);
  });
});
