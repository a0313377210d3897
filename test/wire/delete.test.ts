/** Delete: options, effect and answer, for one object and for many. Wire contract, sections 6.6 and 6.7. */
import { describe, expect, it } from 'vitest';
import { brief, type Json, useCluster } from '../support/http.ts';
import { expectFailure, expectInvalidOptions } from './failure.ts';
import {
  configMap,
  configMaps,
  controller,
  controllers,
  created,
  currentVersion,
  job,
  jobs,
  pod,
  pods,
  service,
  services,
} from './objects.ts';

const client = useCluster();
const likeKubernetes = useCluster({ like: 'kubernetes', controllers: false, createStatus: 200 });
const held = (name: string): Json => configMap(name, { a: '1' }, { finalizers: ['x.io/f'] });

describe('options', () => {
  it('come from the body, or else from the query', async () => {
    await created(client, configMaps, configMap('c'));
    const foreground = await client.delete(`${configMaps}/c?propagationPolicy=Foreground`);
    expect(foreground.body.metadata.finalizers).toEqual(['foregroundDeletion']);
    await created(client, configMaps, configMap('both'));
    const both = await client.delete(`${configMaps}/both?propagationPolicy=Foreground`, {});
    expect(both.body).toMatchObject({ kind: 'Status', status: 'Success' });
  });

  it('may be empty, YAML, and of any served version', async () => {
    const yaml = { 'Content-Type': 'application/yaml' };
    for (const [i, [body, headers]] of [
      [undefined, {}],
      ['{}', {}],
      [{ kind: 'DeleteOptions', apiVersion: 'v1' }, {}],
      [{ kind: 'DeleteOptions', apiVersion: 'extensions/v1beta1' }, {}],
      ['kind: DeleteOptions\napiVersion: v1\n', yaml],
    ].entries() as Iterable<[number, [Json, Record<string, string>]]>) {
      await created(client, configMaps, configMap(`opt${i}`));
      const reply = await client.delete(`${configMaps}/opt${i}`, body, headers);
      expect(reply.status, reply.text).toBe(200);
    }
  });

  it('are options, and JSON', async () => {
    await created(client, configMaps, configMap('refused'));
    expectFailure(
      await client.delete(`${configMaps}/refused`, { kind: 'Pod', apiVersion: 'v1' }),
      400,
      'BadRequest',
      /^no kind "Pod" is registered for version "v1" in scheme ".+"$/,
    );
    expectFailure(
      await client.delete(`${configMaps}/refused`, '{'),
      400,
      'BadRequest',
      /^couldn't get version\/kind; json parse error: /,
    );
    expectFailure(
      await client.delete(`${configMaps}/refused?gracePeriodSeconds=abc`),
      400,
      'BadRequest',
      'strconv.ParseInt: parsing "abc": invalid syntax',
    );
    expect((await client.get(`${configMaps}/refused`)).status).toBe(200);
  });

  it('know three policies, and one way to say them', async () => {
    await created(client, configMaps, configMap('ruled'));
    for (const reply of [
      await client.delete(`${configMaps}/ruled?propagationPolicy=Bogus`),
      await client.delete(`${configMaps}/ruled`, { propagationPolicy: 'Bogus' }),
    ])
      expectInvalidOptions(
        reply,
        'DeleteOptions',
        'propagationPolicy',
        'Unsupported value: "Bogus": supported values: "Foreground", "Background", "Orphan", "nil"',
      );
    expectInvalidOptions(
      await client.delete(`${configMaps}/ruled`, { propagationPolicy: 'Orphan', orphanDependents: true }),
      'DeleteOptions',
      'propagationPolicy',
      'Invalid value: "Orphan": orphanDependents and deletionPropagation cannot be both set',
    );
  });

  it('can set conditions', async () => {
    const { metadata } = await created(client, configMaps, configMap('cond'));
    const path = `${configMaps}/cond`;
    expectFailure(
      await client.delete(path, { preconditions: { uid: 'other' } }),
      409,
      'Conflict',
      `Operation cannot be fulfilled on ConfigMap "cond": the UID in the precondition (other) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
      { name: 'cond', kind: 'ConfigMap' },
    );
    expectFailure(
      await client.delete(path, { preconditions: { resourceVersion: '1' } }),
      409,
      'Conflict',
      `Operation cannot be fulfilled on ConfigMap "cond": the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`,
      { name: 'cond', kind: 'ConfigMap' },
    );
    const { uid, resourceVersion } = metadata;
    expect((await client.delete(path, { preconditions: { uid, resourceVersion } })).status).toBe(200);
  });

  it('do not help against a protected namespace', async () => {
    for (const name of ['default', 'kube-system', 'kube-public'])
      expectFailure(
        await client.delete(`/api/v1/namespaces/${name}`),
        403,
        'Forbidden',
        `namespaces "${name}" is forbidden: this namespace may not be deleted`,
        { name, kind: 'namespaces' },
      );
  });

  it('find nothing where nothing is', async () => {
    expectFailure(await client.delete(`${jobs}/gone`), 404, 'NotFound', 'jobs.extensions "gone" not found', {
      name: 'gone',
      group: 'extensions',
      kind: 'jobs',
    });
  });
});

describe('the answer', () => {
  it('is a Status for most kinds', async () => {
    const { metadata } = await created(client, configMaps, configMap('status'));
    expect((await client.delete(`${configMaps}/status`)).body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: { name: 'status', kind: 'configmaps', uid: metadata.uid },
      code: 200,
    });
    const { metadata: meta } = await created(client, jobs, job('status'));
    expect((await client.delete(`${jobs}/status`)).body.details).toEqual({
      name: 'status',
      group: 'extensions',
      kind: 'jobs',
      uid: meta.uid,
    });
  });

  const template = { metadata: { labels: { a: 'b' } }, spec: pod('x').spec };
  const answering: Record<string, [string, Json]> = {
    Pod: [pods, pod('answer')],
    Service: [services, service('answer')],
    PodTemplate: ['/api/v1/namespaces/default/podtemplates', { metadata: { name: 'answer' }, template }],
    ResourceQuota: ['/api/v1/namespaces/kube-public/resourcequotas', { metadata: { name: 'answer' } }],
    ServiceAccount: ['/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'answer' } }],
    Namespace: ['/api/v1/namespaces', { metadata: { name: 'answer' } }],
    PersistentVolume: [
      '/api/v1/persistentvolumes',
      {
        metadata: { name: 'answer' },
        spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/x' } },
      },
    ],
    PersistentVolumeClaim: [
      '/api/v1/namespaces/default/persistentvolumeclaims',
      {
        metadata: { name: 'answer' },
        spec: {
          accessModes: ['ReadWriteOnce'],
          storageClassName: 'none',
          resources: { requests: { storage: '1Gi' } },
        },
      },
    ],
  };
  for (const [kind, [path, object]] of Object.entries(answering))
    it(`is the object for a ${kind}`, async () => {
      await created(client, path, object);
      const reply = await client.delete(`${path}/answer`);
      expect(reply.status, reply.text).toBe(200);
      expect(reply.body).toMatchObject({ kind, metadata: { name: 'answer' } });
    });

  it('is the object for any kind as long as something holds it', async () => {
    await created(client, configMaps, held('holding'));
    const reply = await client.delete(`${configMaps}/holding`);
    expect(reply.body).toMatchObject({ kind: 'ConfigMap', metadata: { finalizers: ['x.io/f'] } });
  });
});

describe('finalizers', () => {
  it('keep the object, marked, until they are gone', async () => {
    const path = `${configMaps}/kept`;
    const { metadata } = await created(client, configMaps, held('kept'));
    const watch = await client.watch(`${configMaps}?watch=true&resourceVersion=${metadata.resourceVersion}`);
    const first = await client.delete(path);
    expect(first.body.metadata.deletionTimestamp).toBeTruthy();
    expect(first.body.metadata.deletionGracePeriodSeconds).toBe(0);
    const again = await client.delete(path);
    expect(again.status).toBe(200);
    expect(again.body).toEqual(first.body);
    await client.patch(path, { metadata: { finalizers: null } });
    expect((await watch.take(2)).map(brief)).toEqual(['MODIFIED kept', 'DELETED kept']);
    watch.close();
  });

  it('count as a change of the spec where those are counted', async () => {
    const object = controller('counted');
    object.metadata.finalizers = ['x.io/f'];
    await created(client, controllers, object);
    const reply = await client.delete(`${controllers}/counted`, { propagationPolicy: 'Background' });
    expect(reply.body.metadata.generation).toBe(2);
  });

  it('are added by a policy', async () => {
    for (const [policy, finalizer] of [
      ['Foreground', 'foregroundDeletion'],
      ['Orphan', 'orphan'],
    ]) {
      const name = `policy-${finalizer!.toLowerCase()}`;
      await created(client, configMaps, held(name));
      const reply = await client.delete(`${configMaps}/${name}`, { propagationPolicy: policy });
      expect(reply.body.metadata.finalizers).toEqual(['x.io/f', finalizer]);
    }
    await created(client, configMaps, held('policy-old'));
    const old = await client.delete(`${configMaps}/policy-old`, { orphanDependents: true });
    expect(old.body.metadata.finalizers).toEqual(['x.io/f', 'orphan']);
  });

  it('are taken away by a later Background', async () => {
    await created(client, configMaps, held('changed'));
    await client.delete(`${configMaps}/changed`, { propagationPolicy: 'Foreground' });
    const reply = await client.delete(`${configMaps}/changed`, { propagationPolicy: 'Background' });
    expect(reply.body.metadata.finalizers).toEqual(['x.io/f']);
  });

  it('orphan the pods of a controller when nothing else is asked for', async () => {
    const { metadata } = await created(likeKubernetes, controllers, controller('plain'));
    const reply = await likeKubernetes.delete(`${controllers}/plain`);
    expect(reply.body).toMatchObject({ kind: 'ReplicationController', metadata: { finalizers: ['orphan'] } });
    expect(reply.body.metadata.uid).toBe(metadata.uid);
  });
});

describe('pods', () => {
  /** Deletion of a pod with a node waits for its agent. */
  async function bound(name: string): Promise<string> {
    await created(client, pods, pod(name));
    const binding = { metadata: { name }, target: { kind: 'Node', name: 'node-1' } };
    expect((await client.post(`${pods}/${name}/binding`, binding)).status).toBe(200);
    return `${pods}/${name}`;
  }

  it('without a node, or finished, go at once', async () => {
    await created(client, pods, pod('fresh'));
    expect((await client.delete(`${pods}/fresh`)).body.kind).toBe('Pod');
    expect((await client.get(`${pods}/fresh`)).status).toBe(404);
    const path = await bound('finished');
    await client.patch(`${path}/status`, { status: { phase: 'Succeeded' } });
    await client.delete(path);
    expect((await client.get(path)).status).toBe(404);
  });

  it('with a node are given their grace period', async () => {
    const path = await bound('graceful');
    const version = await currentVersion(client);
    const before = Date.now();
    const { body } = await client.delete(path);
    expect(body.metadata).toMatchObject({ deletionGracePeriodSeconds: 30, generation: 2 });
    const deadline = Date.parse(body.metadata.deletionTimestamp);
    expect(deadline).toBeGreaterThanOrEqual(before + 29_000);
    expect(deadline).toBeLessThanOrEqual(Date.now() + 30_000);
    const watch = await client.watch(`${pods}?watch=true&resourceVersion=${version}`);
    expect(brief(await watch.next())).toBe('MODIFIED graceful');
    watch.close();

    expect((await client.delete(path)).body).toEqual(body);
    expect((await client.delete(path, { gracePeriodSeconds: 60 })).body).toEqual(body);
    const shortened = await client.delete(path, { gracePeriodSeconds: 5 });
    expect(shortened.body.metadata.deletionGracePeriodSeconds).toBe(5);
    expect(Date.parse(shortened.body.metadata.deletionTimestamp)).toBeLessThan(deadline);
    await client.delete(path, { gracePeriodSeconds: 0 });
    expect((await client.get(path)).status).toBe(404);
  });

  it('take a negative period for one second', async () => {
    const path = await bound('negative');
    const { body } = await client.delete(path, { gracePeriodSeconds: -5 });
    expect(body.metadata.deletionGracePeriodSeconds).toBe(1);
    await client.delete(path, { gracePeriodSeconds: 0 });
  });
});

describe('namespaces', () => {
  it('are marked as going, and stay so', async () => {
    const path = '/api/v1/namespaces/going';
    await created(client, '/api/v1/namespaces', { metadata: { name: 'going' } });
    await created(client, `${path}/configmaps`, held('obstacle'));
    const first = await client.delete(path);
    expect(first.body.metadata.deletionTimestamp).toBeTruthy();
    expect(first.body.status.phase).toBe('Terminating');
    const again = await client.delete(path);
    expect(again.status).toBe(200);
    expect(again.body.metadata.deletionTimestamp).toBe(first.body.metadata.deletionTimestamp);
  });
});

describe('a collection', () => {
  const path = '/api/v1/namespaces/kube-public/configmaps';
  const names = (list: Json): string[] => list.items.map((item: Json) => item.metadata.name);

  it('is deleted as far as the selectors choose', async () => {
    for (const name of ['a', 'b', 'c'])
      await created(client, path, configMap(name, {}, { labels: { half: name < 'c' ? 'one' : 'two' } }));
    const reply = await client.delete(`${path}?labelSelector=half%3Done`);
    expect(reply.body).toMatchObject({ kind: 'ConfigMapList', apiVersion: 'v1' });
    expect(reply.body.metadata.resourceVersion).toMatch(/^\d+$/);
    expect(names(reply.body)).toEqual(['a', 'b']);
    expect((await client.get(`${path}/a`)).status).toBe(404);
    expect((await client.get(`${path}/c`)).status).toBe(200);
    expect(names((await client.delete(`${path}?fieldSelector=metadata.name%3Dc`)).body)).toEqual(['c']);
  });

  it('of nothing is an empty list', async () => {
    const reply = await client.delete(`${path}?labelSelector=no%3Dsuch`);
    expect(reply.body).toMatchObject({ kind: 'ConfigMapList', items: [] });
  });

  it('is shown as it was before', async () => {
    await created(client, path, held('before'));
    const { body } = await client.delete(`${path}?fieldSelector=metadata.name%3Dbefore`);
    expect(body.items[0].metadata).not.toHaveProperty('deletionTimestamp');
    expect((await client.get(`${path}/before`)).body.metadata.deletionTimestamp).toBeTruthy();
  });

  it('takes options', async () => {
    const { metadata } = await created(client, path, held('opted'));
    const watch = await client.watch(`${path}?watch=true&resourceVersion=${metadata.resourceVersion}`);
    await client.delete(`${path}?fieldSelector=metadata.name%3Dopted`, { propagationPolicy: 'Orphan' });
    expect((await watch.next()).object.metadata.finalizers).toEqual(['x.io/f', 'orphan']);
    watch.close();
    const refused = await client.delete(path, { propagationPolicy: 'Bogus' });
    expect(refused.status).toBe(422);
  });

  it('may be cluster-scoped, but not span namespaces', async () => {
    await created(client, '/api/v1/nodes', { metadata: { name: 'n1' } });
    expect(names((await client.delete('/api/v1/nodes')).body)).toEqual(['n1']);
    expect((await client.delete('/api/v1/configmaps')).status).toBe(405);
    expect((await client.delete('/api/v1/namespaces')).status).toBe(405);
  });
});
