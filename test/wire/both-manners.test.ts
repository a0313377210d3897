/** Proves the answers that docs/compatibility.md gives for both manners, where Kubernetes 1.1 gave others. */
import { describe, expect, it } from 'vitest';
import { type Json, jsonPatch, useCluster } from '../support/http.ts';

const services = '/api/v1/namespaces/default/services';
const service = (name: string) => ({ metadata: { name }, spec: { ports: [{ port: 80 }] } });

describe.each([
  ['the contract', undefined],
  ['kubernetes', 'kubernetes' as const],
])('in the compatibility of %s', (_manner, like) => {
  const client = useCluster({ like, controllers: false });

  it('a deleted service is answered', async () => {
    await client.post(services, service('deleted'));
    const { status, body } = await client.delete(`${services}/deleted`);
    expect([status, body.kind, body.metadata.name]).toEqual([200, 'Service', 'deleted']);
  });

  it('a service is replaced without a version, and made when it is missing', async () => {
    const made = await client.put(`${services}/made`, service('made'));
    expect(made.status).toBe(like ? 201 : 200);
    const { resourceVersion: _, ...metadata } = made.body.metadata;
    expect((await client.put(`${services}/made`, { ...made.body, metadata })).status).toBe(200);
    const other = { ...made.body, metadata: { ...metadata, uid: 'another' } };
    expect((await client.put(`${services}/made`, other)).status).toBe(409);
  });

  it('a JSON patch of what is not there is invalid', async () => {
    await client.post('/api/v1/namespaces/default/configmaps', { metadata: { name: 'patched' } });
    const patch = (operation: Json) =>
      client.patch('/api/v1/namespaces/default/configmaps/patched', [operation], jsonPatch);
    expect((await patch({ op: 'remove', path: '/data/nothing' })).status).toBe(422);
    expect((await patch({ op: 'test', path: '/metadata/name', value: 'other' })).status).toBe(422);
  });

  it('what a client says wrong is its error', async () => {
    expect((await client.get(`${services}?labelSelector=a%20in%20%28`)).status).toBe(400);
    const pod = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }], nodeName: 'n' } };
    await client.post('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'default' } });
    await client.post('/api/v1/namespaces/default/pods', pod);
    const both = 'sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z';
    expect((await client.get(`/api/v1/namespaces/default/pods/p/log?${both}`)).status).toBe(422);
  });
});
