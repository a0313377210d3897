/** Proves that the OpenAPI documents suffice to use a cluster, and that its answers match them. */
import { beforeAll, describe, expect, it } from 'vitest';
import { housekeeping, type Json, useCluster } from '../support/http.ts';
import { DocumentClient } from './document-client.ts';
import { homeOf, libraryKinds } from './library-kinds.ts';

const http = useCluster({ controllers: housekeeping });
let client: DocumentClient;

beforeAll(async () => {
  client = await DocumentClient.of(http);
});

describe('a client that knows nothing but the documents', () => {
  const container = { name: 'web', image: 'registry.example/web:1' };

  it('creates a pod, and goes on with it', async () => {
    const create = client.find('post', 'v1', 'Pod');
    expect([create.operation.operationId, create.template]).toEqual([
      'createCoreV1NamespacedPod',
      '/api/v1/namespaces/{namespace}/pods',
    ]);
    const { group, version, kind } = create.operation['x-kubernetes-group-version-kind'];
    const apiVersion = [group, version].filter(Boolean).join('/');
    const pod = { apiVersion, kind, metadata: { name: 'web' }, spec: { containers: [container] } };
    const made = await client.call(create, { namespace: 'default', fieldValidation: 'Strict' }, pod);
    expect([made.status, made.body]).toMatchObject([200, { kind: 'Pod', spec: { containers: [container] } }]);
    // A client without the document sees the pod, too.
    const there = await http.get('/api/v1/namespaces/default/pods/web');
    expect(there.body).toEqual(made.body);

    const where = { namespace: 'default', name: 'web' };
    expect((await client.call(client.find('get', 'v1', 'Pod'), where)).body).toEqual(made.body);
    const patch = client.find('patch', 'v1', 'Pod');
    expect(Object.keys(patch.operation.requestBody.content)).toContain('application/apply-patch+yaml');
    for (const [i, type] of [
      'application/merge-patch+json',
      'application/strategic-merge-patch+json',
    ].entries()) {
      expect(Object.keys(patch.operation.requestBody.content)).toContain(type);
      const labels = { [`label-${i}`]: 'yes' };
      const { body } = await client.call(patch, where, { metadata: { labels } }, type);
      expect(body.metadata.labels).toMatchObject(labels);
    }
    const replaced = (await client.call(client.find('get', 'v1', 'Pod'), where)).body;
    replaced.spec.containers[0].image = 'registry.example/web:2';
    expect((await client.call(client.find('put', 'v1', 'Pod'), where, replaced)).status).toBe(200);
    const list = await client.call(client.find('list', 'v1', 'Pod'), {
      namespace: 'default',
      labelSelector: 'label-1=yes',
    });
    expect(list.body.items.map(({ spec }: Json) => spec.containers[0].image)).toEqual([
      'registry.example/web:2',
    ]);
    await client.call(client.find('delete', 'v1', 'Pod'), where);
    const gone = await client.call(client.find('get', 'v1', 'Pod'), where);
    expect([gone.status, gone.body.reason]).toEqual([404, 'NotFound']);
  });

  it('sends nothing that the documents do not allow', async () => {
    const create = client.find('post', 'v1', 'Pod');
    const wrong: [Record<string, string>, Json, RegExp][] = [
      [{}, { spec: { containers: [container] } }, /needs namespace/],
      [{ namespace: 'default', colour: 'blue' }, {}, /takes no colour/],
      [{ namespace: 'default' }, { spec: {} }, /\.spec\.containers is missing/],
      [
        { namespace: 'default' },
        { spec: { containers: [{ ...container, imagee: 'x' }] } },
        /imagee is unknown/,
      ],
      [{ namespace: 'default' }, { spec: { containers: 'web' } }, /\.spec\.containers is no list/],
      [{ namespace: 'default' }, undefined, /needs a body/],
    ];
    for (const [values, body, says] of wrong)
      await expect(client.call(create, values, body)).rejects.toThrow(says);
  });

  it.each(libraryKinds)('creates, lists and deletes a $apiVersion $kind', async (kind) => {
    const scope: Record<string, string> = kind.namespaced ? { namespace: homeOf(kind) } : {};
    if (scope.namespace) await http.post('/api/v1/namespaces', { metadata: { name: scope.namespace } });
    const sample = kind.sample.manifest(homeOf(kind), 'one');
    const manifest = JSON.parse(JSON.stringify(sample).replace('"_default"', '"default"'));
    const find = (action: string) => client.find(action, kind.apiVersion, kind.kind);
    const made = await client.call(find('post'), { ...scope, fieldValidation: 'Strict' }, manifest);
    expect([made.status, made.body.metadata.name]).toEqual([200, 'one']);
    const list = await client.call(find('list'), { ...scope, labelSelector: 'contract=one' });
    expect(list.body.items.map(({ metadata }: Json) => metadata.uid)).toEqual([made.body.metadata.uid]);
    const values = { ...scope, name: 'one', propagationPolicy: 'Background' };
    expect((await client.call(find('delete'), values)).status).toBe(200);
  });
});
