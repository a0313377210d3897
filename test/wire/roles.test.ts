/** Roles and bindings over HTTP: names that are not DNS names, PUT that creates, and Kubernetes' error messages. */
import { describe, expect, it } from 'vitest';
import { useCluster } from '../support/http.ts';
import { expectInvalid } from './failure.ts';
import { created } from './objects.ts';

const client = useCluster({ controllers: ['namespace'] });
const group = 'rbac.authorization.k8s.io';
const prefix = `/apis/${group}/v1`;
const clusterRoles = `${prefix}/clusterroles`;
const roles = `${prefix}/namespaces/default/roles`;
const bindings = `${prefix}/namespaces/default/rolebindings`;
const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }];
const roleRef = { apiGroup: group, kind: 'Role', name: 'system:reader' };

describe('roles', () => {
  it('have names with colons, however a URL spells them', async () => {
    const made = await created(client, clusterRoles, { metadata: { name: 'system:Node_1' }, rules });
    for (const name of ['system:Node_1', 'system%3ANode_1'])
      expect((await client.get(`${clusterRoles}/${name}`)).body).toEqual(made);
    const listed = await client.get(`${clusterRoles}?fieldSelector=metadata.name%3Dsystem:Node_1`);
    expect(listed.body.items).toHaveLength(1);
    expect((await client.delete(`${clusterRoles}/system:Node_1`)).body).toMatchObject({ kind: 'Status' });
    expect((await client.get(`${clusterRoles}/system:Node_1`)).status).toBe(404);
  });

  it('have no names that a path cannot hold', async () => {
    expectInvalid(
      await client.post(roles, { metadata: { name: 'a/b' }, rules }),
      `Role.${group}`,
      'a/b',
      'metadata.name',
      `Invalid value: "a/b": may not contain '/'`,
    );
  });

  it('are made by PUT, too, and count no generations', async () => {
    const put = await client.put(`${roles}/system:put`, { metadata: { name: 'system:put' }, rules });
    expect([put.status, put.body.rules]).toEqual([200, rules]);
    const again = await client.put(`${roles}/system:put`, { metadata: { name: 'system:put' } });
    expect([again.status, again.body.rules]).toEqual([200, []]);
    expect(again.body.metadata).not.toHaveProperty('generation');
    expect((await client.get(`${roles}/system:put/status`)).status).toBe(404);
  });
});

describe('bindings', () => {
  it('keep their role, which need not be there', async () => {
    const subjects = [{ apiGroup: group, kind: 'User', name: 'ann' }];
    const binding = await created(client, bindings, { metadata: { name: 'system:b' }, roleRef, subjects });
    expect(binding).toMatchObject({ roleRef, subjects });
    expectInvalid(
      await client.patch(`${bindings}/system:b`, { roleRef: { name: 'other' } }),
      `RoleBinding.${group}`,
      'system:b',
      'roleRef',
      `Invalid value: {"APIGroup":"${group}","Kind":"Role","Name":"other"}: cannot change roleRef`,
    );
    expect((await client.get(`${bindings}/system:b`)).body).toEqual(binding);
  });

  it('are not enforced: nobody is refused what no role grants', async () => {
    const review = { spec: { user: 'nobody', resourceAttributes: { verb: 'delete', resource: 'nodes' } } };
    const { body } = await client.post('/apis/authorization.k8s.io/v1/subjectaccessreviews', review);
    expect(body.status.allowed).toBe(true);
  });
});

it('roles and bindings go with their namespace', async () => {
  await created(client, '/api/v1/namespaces', { metadata: { name: 'gone' } });
  const home = `${prefix}/namespaces/gone`;
  await created(client, `${home}/roles`, { metadata: { name: 'system:reader' }, rules });
  await created(client, `${home}/rolebindings`, { metadata: { name: 'readers' }, roleRef });
  await client.delete('/api/v1/namespaces/gone');
  await expect.poll(async () => (await client.get('/api/v1/namespaces/gone')).status).toBe(404);
  for (const kind of ['roles', 'rolebindings'])
    expect((await client.get(`${prefix}/${kind}`)).body.items).toEqual(
      expect.not.arrayContaining([
        expect.objectContaining({ metadata: expect.objectContaining({ namespace: 'gone' }) }),
      ]),
    );
});
