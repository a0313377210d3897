/**
 * Proves what the conformance tests of Kubernetes demand of every kind, and some of what they demand of single kinds. It
 * is not those tests: each row re-creates the requests of one of them, as far as that is cheap. The list of them is
 * docs/conformance.md.
 */
import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import type { Kind } from '../../src/api/kind/kind.ts';
import { builtinKinds } from '../../src/api/kinds/kinds.ts';
import { type Json, mergePatch, strategicPatch, useCluster } from '../support/http.ts';
import { homeOf, validBody } from '../wire/kind-bodies.ts';

const api = useCluster({
  like: 'kubernetes',
  controllers: ['namespace', 'garbagecollector', 'serviceaccount', 'protection'],
  allowPrivileged: true,
});

const selector = 'labelSelector=e2e-test%3Dconformance';

/** Kinds that clients may make and delete in numbers, in their stable versions. */
const kinds = builtinKinds.filter(
  ({ hidden, verbs, apiVersion }) =>
    !hidden && verbs.includes('deletecollection') && !/beta/.test(apiVersion),
);

function bodyOf(kind: Kind, name: string): Json {
  const body = structuredClone(validBody(kind, name));
  body.metadata.labels = { ...body.metadata.labels, 'e2e-test': 'conformance' };
  return body;
}

describe.each(kinds.map((kind) => [`${kind.apiVersion} ${kind.kind}`, kind] as const))('%s', (_, kind) => {
  const home = homeOf(kind);

  test('API operations: create, get, list, watch, patch, update, delete, deletecollection', async () => {
    const made: Json[] = [];
    for (const name of ['conform-a', 'conform-b']) {
      const reply = await api.post(home, bodyOf(kind, name));
      expect(reply.status, reply.text).toBe(201);
      made.push(reply.body);
    }
    const [{ metadata: first }, { metadata: second }] = made as [Json, Json];
    const watch = await api.watch(`${home}?watch=true&resourceVersion=${first.resourceVersion}&${selector}`);
    expect((await watch.until(({ type }) => type === 'ADDED')).object.metadata.name).toBe(second.name);
    const got = await api.get(`${home}/${first.name}`);
    expect(got.body.metadata.uid).toBe(first.uid);
    const listed = await api.get(`${home}?${selector}`);
    expect(listed.body.items.map(({ metadata }: Json) => metadata.uid).sort()).toEqual(
      [first.uid, second.uid].sort(),
    );
    const patch = { metadata: { annotations: { patched: 'true' } } };
    const patched = await api.patch(`${home}/${first.name}`, patch, mergePatch);
    expect(patched.status, patched.text).toBe(200);
    expect(patched.body.metadata.annotations.patched).toBe('true');
    patched.body.metadata.annotations.updated = 'true';
    const updated = await api.put(`${home}/${first.name}`, patched.body);
    expect(updated.status, updated.text).toBe(200);
    const seen = await watch.until(({ object }) => object.metadata.annotations?.updated === 'true');
    expect(seen.object.metadata.annotations.patched).toBe('true');
    expect((await api.delete(`${home}/${first.name}`, { gracePeriodSeconds: 0 })).status).toBeLessThan(300);
    const gone = await api.delete(`${home}?${selector}`, { gracePeriodSeconds: 0 });
    expect(gone.status, gone.text).toBe(200);
    await expect.poll(async () => (await api.get(`${home}?${selector}`)).body.items).toEqual([]);
    watch.close();
  });

  test.runIf(kind.hasStatus)('status: get, patch, update', async () => {
    const created = await api.post(home, bodyOf(kind, 'conform-status'));
    expect(created.status, created.text).toBe(201);
    const path = `${home}/${created.body.metadata.name}/status`;
    expect((await api.get(path)).body.metadata.uid).toBe(created.body.metadata.uid);
    const patched = await api.patch(
      path,
      { metadata: { annotations: { patchedstatus: 'true' } } },
      mergePatch,
    );
    expect(patched.status, patched.text).toBe(200);
    const metadataToo = !statusAlone.has(`${kind.apiVersion} ${kind.kind}`);
    expect(patched.body.metadata.annotations?.patchedstatus).toBe(metadataToo ? 'true' : undefined);
    const updated = await api.put(path, patched.body);
    expect(updated.status, updated.text).toBe(200);
    await api.delete(`${home}?${selector}`, { gracePeriodSeconds: 0 });
  });
});

/** Kinds of which the status path takes the status alone, and no metadata. */
const statusAlone: ReadonlySet<string> = new Set([
  'networking.k8s.io/v1 ServiceCIDR',
  'resource.k8s.io/v1 ResourceClaim',
  'storage.k8s.io/v1 VolumeAttachment',
]);

const pods = '/api/v1/namespaces/default/pods';
const pod = (name: string, metadata: Json = {}, spec: Json = {}): Json => ({
  metadata: { name, ...metadata },
  spec: { nodeName: 'nowhere', containers: [{ name: 'c', image: 'i' }], ...spec },
});

describe('pods', () => {
  test('generation starts at 1, whatever the client says, and counts changes of the spec and the deletion', async () => {
    const created = await api.post(pods, pod('generations', { generation: 100 }));
    expect(created.body.metadata.generation).toBe(1);
    const generation = async (spec: Json): Promise<number> =>
      (await api.patch(`${pods}/generations`, { spec }, strategicPatch)).body.metadata.generation;
    expect(await generation({ activeDeadlineSeconds: 1000 })).toBe(2);
    expect(await generation({ containers: [{ name: 'c', image: 'other' }] })).toBe(3);
    expect(await generation({ tolerations: [{ key: 'a', operator: 'Exists' }] })).toBe(4);
    const labelled = await api.patch(`${pods}/generations`, { metadata: { labels: { a: 'b' } } }, mergePatch);
    expect(labelled.body.metadata.generation).toBe(4);
    const containers = { spec: { ephemeralContainers: [{ name: 'e', image: 'i' }] } };
    const ephemeral = await api.patch(`${pods}/generations/ephemeralcontainers`, containers, strategicPatch);
    expect(ephemeral.body.metadata.generation).toBe(5);
    const resources = { spec: { containers: [{ name: 'c', resources: { requests: { cpu: '1m' } } }] } };
    const resized = await api.patch(`${pods}/generations/resize`, resources, strategicPatch);
    expect(resized.status, resized.text).toBe(422);
    const deleted = await api.delete(`${pods}/generations`, { gracePeriodSeconds: 30 });
    expect(deleted.body.metadata).toMatchObject({ generation: 6, deletionGracePeriodSeconds: 30 });
    await api.delete(`${pods}/generations`, { gracePeriodSeconds: 0 });
  });

  test('may be privileged where the server allows it', async () => {
    const containers = [{ name: 'c', image: 'i', securityContext: { privileged: true } }];
    expect((await api.post(`${pods}?dryRun=All`, pod('privileged', {}, { containers }))).status).toBe(201);
    const bad = [{ ...containers[0], securityContext: { privileged: true, runAsUser: -1 } }];
    const refused = await api.post(`${pods}?dryRun=All`, pod('privileged', {}, { containers: bad }));
    expect(refused.body.details.causes.map(({ field }: Json) => field)).toEqual([
      'spec.containers[0].securityContext.runAsUser',
    ]);
  });

  test('with invalid sysctls are refused, and only those are named', async () => {
    const sysctls = ['foo-', 'kernel.shmmax', 'safe-and-unsafe', 'bar..'].map((name) => ({
      name,
      value: '1',
    }));
    const reply = await api.post(
      pods,
      pod('sysctls', {}, { nodeName: undefined, securityContext: { sysctls } }),
    );
    expect(reply.status).toBe(422);
    expect(reply.body.message).toMatch(/Invalid value: "foo-".*Invalid value: "bar\.\."/);
    expect(reply.body.message).not.toMatch(/Invalid value: "(kernel|safe)/);
  });

  test('get the kernel’s idea of their quality of service', async () => {
    const resources = {
      requests: { cpu: '100m', memory: '100Mi' },
      limits: { cpu: '100m', memory: '100Mi' },
    };
    const containers = [{ name: 'c', image: 'i', resources }];
    const { body } = await api.post(`${pods}?dryRun=All`, pod('guaranteed', {}, { containers }));
    expect(body.status.qosClass).toBe('Guaranteed');
  });
});

describe('field validation', () => {
  const deployments = '/apis/apps/v1/namespaces/default/deployments?fieldValidation=Strict';

  test('names unknown and duplicate fields in the order of the document', async () => {
    const text = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"x","unknownMeta":"foo"},"spec":{"unknownField":"foo","replicas":1,"replicas":2,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i","imagePullPolicy":"Always","imagePullPolicy":"Never"}]}}}}`;
    const reply = await api.post(deployments, text, { 'Content-Type': 'application/json' });
    expect(reply.status).toBe(400);
    expect(reply.body.message).toContain(
      'strict decoding error: unknown field "metadata.unknownMeta", unknown field "spec.unknownField", duplicate field "spec.replicas", duplicate field "spec.template.spec.containers[0].imagePullPolicy"',
    );
  });
});

describe('tables', () => {
  test('of what has none are 406', async () => {
    const reply = await api.post(
      '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
      { spec: { resourceAttributes: { namespace: 'default', verb: 'get', resource: 'pods' } } },
      { Accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    );
    expect(reply.status, reply.text).toBe(406);
  });
});

describe('a namespace that is deleted', () => {
  test('loses its pods before anything else', async () => {
    const name = 'ordered';
    await api.post('/api/v1/namespaces', { metadata: { name } });
    const home = `/api/v1/namespaces/${name}`;
    await api.post(
      `${home}/pods`,
      pod('held', { finalizers: ['example.com/hold'] }, { nodeName: undefined }),
    );
    await api.post(`${home}/configmaps`, { metadata: { name: 'late' } });
    await api.delete(`/api/v1/namespaces/${name}`);
    await expect
      .poll(async () => (await api.get(`${home}/pods/held`)).body.metadata.deletionTimestamp)
      .toBeDefined();
    await expect
      .poll(async () => (await api.get(`/api/v1/namespaces/${name}`)).body.status.conditions ?? [])
      .toContainEqual(expect.objectContaining({ type: 'NamespaceContentRemaining', status: 'True' }));
    expect((await api.get(`${home}/configmaps/late`)).body.metadata.deletionTimestamp).toBeUndefined();
    await api.patch(`${home}/pods/held`, { metadata: { finalizers: null } }, mergePatch);
    await expect.poll(async () => (await api.get(`/api/v1/namespaces/${name}`)).status).toBe(404);
  });
});

describe('docs/conformance.md', () => {
  test('lists every test once, and counts them right', async () => {
    const text = await readFile(new URL('../../docs/conformance.md', import.meta.url), 'utf8');
    const rows = [...text.matchAll(/^- (yes|no \(([a-z])\)): /gm)];
    const no = rows.filter(([, verdict]) => verdict !== 'yes');
    expect(rows).toHaveLength(446);
    expect(text).toContain(`| all | ${rows.length} | ${rows.length - no.length} | ${no.length} |`);
    for (const letter of new Set(no.map(([, , reason]) => reason)))
      expect(text).toMatch(new RegExp(`^- \\(${letter}\\) `, 'm'));
    const names = new Set<string>();
    let group = '';
    for (const line of text.split('\n'))
      if (/^(## |\*\*)/.test(line)) group = line;
      else if (/^- (yes|no)/.test(line)) names.add(`${group} ${line}`);
    expect(names.size).toBe(446);
  });
});
