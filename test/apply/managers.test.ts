/**
 * Proves what several managers see of each other: programs that apply with the official JavaScript library, two that
 * fight over a field, controllers with their names, own kinds, and the modes of tracking.
 */
import { AppsV1Api, CoreV1Api, KubernetesObjectApi, PatchStrategy } from '@kubernetes/client-node';
import { describe, expect, it } from 'vitest';
import { failureOf, useLibrary } from '../clients/library.ts';
import { Client, housekeeping, type Json, useCluster } from '../support/http.ts';

const applyPatch = 'application/apply-patch+yaml';
const configMaps = '/api/v1/namespaces/default/configmaps';

const config = (data: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'shared', namespace: 'default' },
  data,
});

const applied = (client: Client, path: string, manager: string, body: object, force = false) =>
  client.patch(`${path}?fieldManager=${manager}${force ? '&force=true' : ''}`, body, applyPatch);

const owners = (object: Json): string[] =>
  (object.metadata.managedFields ?? []).map(
    ({ manager, operation, subresource }: Json) =>
      `${manager} ${operation}${subresource ? ` ${subresource}` : ''}`,
  );

describe('the JavaScript library', () => {
  const library = useLibrary({ controllers: housekeeping });

  it('applies objects, and gets to know of conflicts', async () => {
    const objects = KubernetesObjectApi.makeApiClient(library.config);
    const apply = (data: Record<string, string>, manager: string, force?: boolean) =>
      objects.patch(config(data), undefined, undefined, manager, force, PatchStrategy.ServerSideApply);
    expect(await apply({ a: '1' }, 'alice')).toMatchObject({ data: { a: '1' } });
    const { code, status } = await failureOf(apply({ a: '2' }, 'bob'));
    expect([code, status.details.causes]).toEqual([
      409,
      [{ reason: 'FieldManagerConflict', message: 'conflict with "alice"', field: '.data.a' }],
    ]);
    expect(await apply({ a: '2' }, 'bob', true)).toMatchObject({ data: { a: '2' } });
    const made = await library.call(CoreV1Api, 'readNamespacedConfigMap', {
      name: 'shared',
      namespace: 'default',
    });
    expect(owners(made)).toEqual(['bob Apply']);
    expect(made.metadata.managedFields[0].time).toBeInstanceOf(Date);
  });

  it('writes back what it read, and owns what it changed', async () => {
    const where = { name: 'shared', namespace: 'default' };
    const read = await library.call(CoreV1Api, 'readNamespacedConfigMap', where);
    const body = { ...read, data: { ...read.data, mine: 'yes' } };
    const now = await library.call(CoreV1Api, 'replaceNamespacedConfigMap', {
      ...where,
      body,
      fieldManager: 'me',
    });
    expect(owners(now)).toEqual(['bob Apply', 'me Update']);
    const again = await library.call(CoreV1Api, 'replaceNamespacedConfigMap', { ...where, body: now });
    expect(again).toEqual(now);
  });

  it('scales what was applied, and that is told', async () => {
    const labels = { app: 'web' };
    const deployment = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web' },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
      },
    };
    const client = new Client(library.cluster.url);
    const path = '/apis/apps/v1/namespaces/default/deployments/web';
    expect((await applied(client, path, 'deployer', deployment)).status).toBe(200);
    const where = { name: 'web', namespace: 'default' };
    const scale = await library.call(AppsV1Api, 'readNamespacedDeploymentScale', where);
    const body = { ...scale, spec: { replicas: 4 } };
    await library.call(AppsV1Api, 'replaceNamespacedDeploymentScale', {
      ...where,
      body,
      fieldManager: 'scaler',
    });
    const refused = (await applied(client, path, 'deployer', deployment)).body;
    expect(refused.message).toBe(
      'Apply failed with 1 conflict: conflict with "scaler" with subresource "scale" using apps/v1: .spec.replicas',
    );
    const { replicas, ...spec } = deployment.spec;
    const given = (await applied(client, path, 'deployer', { ...deployment, spec })).body;
    expect(given.spec.replicas).toBe(4);
  });
});

describe('two managers that fight over a field', () => {
  const client = useCluster({ controllers: false });

  it('take it from each other in turn, and neither loses what is its own', async () => {
    const watch = await client.watch(`${configMaps}?watch=true&fieldSelector=metadata.name=shared`);
    /** Wants its own value of the field, and forces it whenever it sees another. */
    const fight = async (manager: string, rounds: number): Promise<void> => {
      for (let round = 0; round < rounds; round++) {
        const body = config({ fought: manager, [manager]: `${round}` });
        const first = await applied(client, `${configMaps}/shared`, manager, body);
        if (first.status === 409) {
          expect(first.body.message).toContain('.data.fought');
          expect((await applied(client, `${configMaps}/shared`, manager, body, true)).status).toBe(200);
        } else expect(first.status, first.text).toBe(200);
      }
    };
    await Promise.all([fight('left', 12), fight('right', 12)]);
    const { body } = await client.get(`${configMaps}/shared`);
    const winner = body.data.fought;
    expect(body.data).toEqual({ fought: winner, left: '11', right: '11' });
    const sets = Object.fromEntries(
      body.metadata.managedFields.map(({ manager, fieldsV1 }: Json) => [
        manager,
        Object.keys(fieldsV1['f:data']),
      ]),
    );
    const loser = winner === 'left' ? 'right' : 'left';
    expect(sets).toEqual({ [winner]: ['f:fought', `f:${winner}`], [loser]: [`f:${loser}`] });
    // Each change of hands was seen, with one owner of the field at a time.
    let last: Json;
    do {
      last = (await watch.next())!.object;
      const holders = last.metadata.managedFields.filter(
        ({ fieldsV1 }: Json) => fieldsV1['f:data']['f:fought'],
      );
      expect(holders.map(({ manager }: Json) => manager)).toEqual([last.data.fought]);
    } while (last.metadata.resourceVersion !== body.metadata.resourceVersion);
    watch.close();
  });

  it('leave each other alone once one lets go', async () => {
    const letGo = await applied(client, `${configMaps}/shared`, 'left', config({ left: 'mine' }));
    expect(letGo.status).toBe(200);
    const taken = await applied(
      client,
      `${configMaps}/shared`,
      'right',
      config({ fought: 'right', right: '1' }),
    );
    expect([taken.status, taken.body.data]).toEqual([200, { fought: 'right', left: 'mine', right: '1' }]);
  });
});

describe('what the cluster itself writes', () => {
  const client = useCluster({ simulatedNodes: 1 });

  it('is owned by the controllers, under their names', async () => {
    const deployments = '/apis/apps/v1/namespaces/default/deployments';
    const labels = { app: 'web' };
    const body = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web' },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'i' }] } },
      },
    };
    const watch = await client.watch(`${deployments}?watch=true&resourceVersion=0`);
    await applied(client, `${deployments}/web`, 'me', body);
    let object: Json;
    do object = (await watch.next())!.object;
    while (object.status?.readyReplicas !== 1);
    watch.close();
    expect(owners(object)).toContain('me Apply');
    expect(owners(object)).toContain('kube-controller-manager Update status');
    const { items } = (await client.get('/api/v1/namespaces/default/pods')).body;
    expect(owners(items[0])).toContain('kube-controller-manager Update');
    expect(owners(items[0]).some((owner) => owner.startsWith('kubelet Update status'))).toBe(true);
    // Applying the same again changes nothing: what controllers own is not touched.
    const again = await applied(client, `${deployments}/web`, 'me', body);
    expect(again.body.metadata.resourceVersion).toBe(object.metadata.resourceVersion);
  });
});

describe.each([
  ['applied', ['before-first-apply Update', 'me Apply'], ['you Update']],
  ['off', ['me Apply'], []],
] as const)('with managed fields %s', (managedFields, first, later) => {
  const client = useCluster({ controllers: false, managedFields });

  it('writes are tracked from the first apply on, or never', async () => {
    const made = (await client.post(configMaps, config({ a: '1' }))).body;
    expect(made.metadata).not.toHaveProperty('managedFields');
    const now = (await applied(client, `${configMaps}/shared`, 'me', config({ b: '1' }))).body;
    expect(owners(now).sort()).toEqual([...first]);
    const patched = await client.patch(`${configMaps}/shared?fieldManager=you`, { data: { c: '1' } });
    expect(owners(patched.body)).toEqual(expect.arrayContaining([...later]));
    const conflict = await applied(client, `${configMaps}/shared`, 'other', config({ b: '2' }));
    expect(conflict.body.message).toBe('Apply failed with 1 conflict: conflict with "me": .data.b');
  });
});

describe('what a creator owns', () => {
  const cluster = useCluster({ controllers: false, like: 'kubernetes' });
  const created = async (path: string, body: object): Promise<Json> => {
    const { status, body: made } = await cluster.post(`${path}?fieldManager=maker`, body);
    expect(status).toBe(201);
    return made.metadata.managedFields[0].fieldsV1;
  };

  it('has what the decoder fills in: the type of a secret, the generation of a template', async () => {
    const fields = await created('/api/v1/namespaces/default/secrets', { metadata: { name: 'plain' } });
    expect(fields).toEqual({ 'f:type': {} });
    const labels = { app: 'each' };
    const containers = [{ name: 'one', image: 'one' }];
    const spec = {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    };
    const set = await created('/apis/apps/v1/namespaces/default/daemonsets', {
      metadata: { name: 'each' },
      spec,
    });
    expect(set['f:metadata']).toEqual({
      'f:annotations': { '.': {}, 'f:deprecated.daemonset.template.generation': {} },
    });
  });

  it('has the labels that a job takes from its template; the generated ones are nobody’s', async () => {
    const labels = { zone: 'a', app: 'once' };
    const containers = [{ name: 'one', image: 'one' }];
    const spec = { template: { metadata: { labels }, spec: { restartPolicy: 'Never', containers } } };
    const jobs = '/apis/batch/v1/namespaces/default/jobs';
    const fields = await created(jobs, { metadata: { name: 'once' }, spec });
    expect(fields['f:metadata']).toEqual({ 'f:labels': { '.': {}, 'f:app': {}, 'f:zone': {} } });
    const { body } = await cluster.get(`${jobs}/once`);
    expect(body.metadata.labels).toMatchObject({ ...labels, 'job-name': 'once' });
  });

  it('finds items of lists by default keys, also those that are owned as a whole', async () => {
    const apply = (path: string, body: object) =>
      cluster.patch(`${path}?fieldManager=maker`, body, applyPatch);
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name: 'one' }];
    const orphan = { ...config({}), metadata: { name: 'orphan', ownerReferences } };
    const { status, body } = await apply(`${configMaps}/orphan`, orphan);
    expect([status, body.message]).toEqual([
      422,
      'ConfigMap "orphan" is invalid: metadata.ownerReferences.uid: Invalid value: "": must not be empty',
    ]);
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'puller' },
      spec: { containers: [{ name: 'one', image: 'one' }], imagePullSecrets: [{}] },
    };
    const pulled = await apply('/api/v1/namespaces/default/pods/puller', pod);
    expect(pulled.body.metadata.managedFields[0].fieldsV1['f:spec']['f:imagePullSecrets']).toEqual({
      'k:{"name":""}': {},
    });
  });

  it('names items by their values as Go writes them, and knows those that others wrote', async () => {
    const volumeMounts = [{ name: 'data', mountPath: '/a<b>&\u2028' }];
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'mounts' },
      spec: {
        containers: [{ name: 'one', image: 'one', volumeMounts }],
        volumes: [{ name: 'data', emptyDir: {} }],
      },
    };
    const path = '/api/v1/namespaces/default/pods';
    const fields = await created(path, pod);
    const mounts = fields['f:spec']['f:containers']['k:{"name":"one"}']['f:volumeMounts'];
    const escaped = 'k:{"mountPath":"/a\\u003cb\\u003e\\u0026\\u2028"}';
    expect(Object.keys(mounts)).toEqual(['.', escaped]);
    // As a server without these escapes has stored it.
    const { body } = await cluster.get(`${path}/mounts`);
    const text = JSON.stringify(body.metadata.managedFields[0].fieldsV1).replaceAll('\\\\u003c', '<');
    body.metadata.managedFields[0].fieldsV1 = JSON.parse(text);
    const { body: put } = await cluster.put(`${path}/mounts`, body);
    const owned = put.metadata.managedFields[0].fieldsV1['f:spec']['f:containers']['k:{"name":"one"}'];
    expect(Object.keys(owned['f:volumeMounts'])).toEqual(['.', escaped]);
  });
});
