/**
 * Jobs in their two API groups, over HTTP: an object created in one version is read, listed, watched, changed
 * and deleted in the other, and the version with fewer fields loses none of the others.
 */
import { describe, expect, test } from 'vitest';
import {
  brief,
  housekeeping,
  type Json,
  jsonPatch,
  mergePatch,
  strategicPatch,
  useCluster,
} from '../support/http.ts';
import { made, placeOf, read, tableAccept } from '../support/versions.ts';

const podTemplate = (labels: object = { app: 'job' }) => ({
  metadata: { labels },
  spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'example.com/job:1' }] },
});

describe('jobs', () => {
  const client = useCluster({ controllers: housekeeping });
  const batch = placeOf('batch/v1', 'jobs');
  const extensions = placeOf('extensions/v1beta1', 'jobs');

  test('made in batch/v1 are read in extensions/v1beta1', async () => {
    const job = await made(client, batch, {
      metadata: { name: 'new' },
      spec: { template: podTemplate(), backoffLimit: 2, ttlSecondsAfterFinished: 60, suspend: true },
    });
    const { uid } = job.metadata;
    const label = 'batch.kubernetes.io/controller-uid';
    expect(job).toMatchObject({
      kind: 'Job',
      apiVersion: 'batch/v1',
      metadata: { generation: 1, labels: { app: 'job', 'job-name': 'new', [label]: uid } },
      spec: {
        backoffLimit: 2,
        completionMode: 'NonIndexed',
        manualSelector: false,
        selector: { matchLabels: { [label]: uid } },
      },
    });
    const old = await read(client, `${extensions}/new`);
    expect(old).toEqual({
      kind: 'Job',
      apiVersion: 'extensions/v1beta1',
      metadata: { ...job.metadata, selfLink: `${extensions}/new` },
      spec: {
        parallelism: 1,
        completions: 1,
        selector: job.spec.selector,
        template: job.spec.template,
        autoSelector: true,
      },
      status: {},
    });
  });

  test('made in extensions/v1beta1 are read in batch/v1', async () => {
    const old = await made(client, extensions, {
      metadata: { name: 'old' },
      spec: { template: podTemplate() },
    });
    expect(old).toMatchObject({
      apiVersion: 'extensions/v1beta1',
      metadata: { generation: 1, labels: { app: 'job' }, selfLink: `${extensions}/old` },
      spec: { selector: { matchLabels: { app: 'job' } } },
    });
    expect(old.spec).not.toHaveProperty('autoSelector');
    expect(await read(client, `${batch}/old`)).toMatchObject({
      apiVersion: 'batch/v1',
      metadata: { uid: old.metadata.uid, resourceVersion: old.metadata.resourceVersion },
      spec: {
        manualSelector: true,
        backoffLimit: 2_147_483_647,
        suspend: false,
        selector: old.spec.selector,
      },
    });
    const taken = await client.post(batch, { metadata: { name: 'old' }, spec: { template: podTemplate() } });
    expect([taken.status, taken.body.message]).toEqual([409, 'jobs.batch "old" already exists']);
  });

  test('keep through a PUT in the old version what only the new one knows', async () => {
    const before = await read(client, `${batch}/new`);
    const old = await read(client, `${extensions}/new`);
    old.spec.parallelism = 3;
    old.metadata.labels.touched = 'yes';
    const put = await client.put(`${extensions}/new`, old);
    expect(put.status, put.text).toBe(200);
    expect(put.body).toMatchObject({ apiVersion: 'extensions/v1beta1', spec: { parallelism: 3 } });
    const after = await read(client, `${batch}/new`);
    expect(after.spec).toEqual({ ...before.spec, parallelism: 3 });
    expect(after.metadata).toMatchObject({ generation: 2, labels: { touched: 'yes' } });
    expect(Number(after.metadata.resourceVersion)).toBeGreaterThan(Number(before.metadata.resourceVersion));
  });

  test('are not written by a PUT of what was read, in either version', async () => {
    for (const path of [`${extensions}/new`, `${batch}/new`, `${extensions}/old`, `${batch}/old`]) {
      const job = await read(client, path);
      const { status, body } = await client.put(path, job);
      expect([status, body]).toEqual([200, job]);
    }
  });

  test('have one resourceVersion, which both versions check', async () => {
    const stale = await read(client, `${batch}/new`);
    await client.patch(`${extensions}/new`, { spec: { activeDeadlineSeconds: 100 } });
    const put = await client.put(`${batch}/new`, stale);
    expect([put.status, put.body.message]).toEqual([
      409,
      'Operation cannot be fulfilled on jobs.batch "new": the object has been modified; please apply your changes to the latest version and try again',
    ]);
    expect((await read(client, `${batch}/new`)).spec).toMatchObject({
      activeDeadlineSeconds: 100,
      backoffLimit: 2,
    });
  });

  test('take all kinds of patches in both versions', async () => {
    const generation = async () => (await read(client, `${batch}/new`)).metadata.generation;
    const before = await generation();
    const patches: [string, unknown, string][] = [
      [batch, { spec: { backoffLimit: 4 } }, mergePatch],
      [extensions, { spec: { parallelism: 5 } }, strategicPatch],
      [extensions, [{ op: 'replace', path: '/spec/parallelism', value: 6 }], jsonPatch],
    ];
    for (const [path, body, type] of patches) {
      const reply = await client.patch(`${path}/new`, body as object, type);
      expect(reply.status, reply.text).toBe(200);
    }
    expect(await generation()).toBe(before + 3);
    expect((await read(client, `${batch}/new`)).spec).toMatchObject({ backoffLimit: 4, parallelism: 6 });
    const unknown = await client.request(
      'PATCH',
      `${extensions}/new`,
      JSON.stringify({ spec: { suspend: false } }),
      {
        'Content-Type': mergePatch,
      },
    );
    expect(unknown.warnings).toEqual(['"unknown field \\"spec.suspend\\""']);
    expect((await read(client, `${batch}/new`)).spec.suspend).toBe(true);
  });

  test('are held to the rules of the version asked, in its words', async () => {
    const bad = {
      metadata: { name: 'bad' },
      spec: { template: podTemplate(), completions: -1, backoffLimit: -1 },
    };
    const inBatch = await client.post(batch, bad);
    expect(inBatch.body.message).toMatch(
      /^Job\.batch "bad" is invalid: \[spec\.completions: .*spec\.backoffLimit: /,
    );
    const inExtensions = await client.post(extensions, bad);
    expect(inExtensions.body.message).toBe(
      'Job.extensions "bad" is invalid: spec.completions: Invalid value: -1: must be greater than or equal to 0',
    );
    expect((await client.get(`${batch}/nope`)).body.message).toBe('jobs.batch "nope" not found');
    expect((await client.get(`${extensions}/nope`)).body.message).toBe('jobs.extensions "nope" not found');
  });

  test('have one status', async () => {
    const conditions = [{ type: 'Suspended', status: 'True', lastProbeTime: null, lastTransitionTime: null }];
    const job = await read(client, `${batch}/new`);
    const put = await client.put(`${batch}/new/status`, {
      ...job,
      spec: {},
      status: { active: 2, ready: 1, terminating: 1, conditions },
    });
    expect(put.status, put.text).toBe(200);
    const old = await read(client, `${extensions}/new/status`);
    expect(old.status).toEqual({ active: 2, conditions });
    const patched = await client.patch(`${extensions}/new/status`, { status: { active: 1, succeeded: 1 } });
    expect(patched.status, patched.text).toBe(200);
    const after = await read(client, `${batch}/new`);
    expect(after.status).toEqual({ active: 1, succeeded: 1, ready: 1, terminating: 1, conditions });
    expect([after.metadata.generation, after.spec]).toEqual([job.metadata.generation, job.spec]);
    const selected = `?fieldSelector=${encodeURIComponent('status.successful=1')}`;
    for (const path of [batch, extensions])
      expect((await read(client, path + selected)).items.map((one: Json) => one.metadata.name)).toEqual([
        'new',
      ]);
  });

  test('are listed alike, each in the form of its version', async () => {
    const lists = [await read(client, batch), await read(client, extensions)];
    expect(lists.map(({ kind, apiVersion }) => [kind, apiVersion])).toEqual([
      ['JobList', 'batch/v1'],
      ['JobList', 'extensions/v1beta1'],
    ]);
    expect(lists[0].metadata.resourceVersion).toBe(lists[1].metadata.resourceVersion);
    for (const { items } of lists)
      expect(items.map((one: Json) => one.metadata.name)).toEqual(['new', 'old']);
    expect(lists[0].items.map((one: Json) => one.spec.manualSelector)).toEqual([false, true]);
    expect(lists[1].items.map((one: Json) => one.spec.autoSelector)).toEqual([true, undefined]);
    const selected = await read(client, `${extensions}?labelSelector=job-name`);
    expect(selected.items).toHaveLength(1);
  });

  test('are shown in the same table', async () => {
    const [one, other] = await Promise.all(
      [batch, extensions].map(async (path) => (await client.get(path, tableAccept)).body),
    );
    const cells = (table: Json) =>
      table.rows.map((row: Json) => row.cells.filter((_: unknown, i: number) => i !== 4));
    expect(cells(one)).toEqual(cells(other));
    expect(one.columnDefinitions).toEqual(other.columnDefinitions);
  });

  test('are watched in both versions, whoever writes', async () => {
    const { resourceVersion } = (await read(client, batch)).metadata;
    const query = `?watch=true&resourceVersion=${resourceVersion}`;
    const watches = [await client.watch(batch + query), await client.watch(extensions + query)];
    await made(client, batch, { metadata: { name: 'seen' }, spec: { template: podTemplate() } });
    await client.patch(`${extensions}/seen`, { metadata: { labels: { seen: 'yes' } } });
    await client.delete(`${extensions}/seen`, { propagationPolicy: 'Background' });
    for (const [i, apiVersion] of ['batch/v1', 'extensions/v1beta1'].entries()) {
      const events = await watches[i]!.take(3);
      expect(events.map(brief)).toEqual(['ADDED seen', 'MODIFIED seen', 'DELETED seen']);
      for (const { object } of events) expect(object.apiVersion).toBe(apiVersion);
      expect('autoSelector' in events[0]!.object.spec).toBe(apiVersion !== 'batch/v1');
      watches[i]!.close();
    }
  });

  test('are deleted in any version, and what they own stays: later freed in the new one, at once in the old one', async () => {
    const owned = async (name: string, uid: string) => {
      const ownerReferences = [{ apiVersion: 'batch/v1', kind: 'Job', name, uid, controller: true }];
      return made(client, '/api/v1/namespaces/default/configmaps', { metadata: { name, ownerReferences } });
    };
    const names = ['orphaned', 'freed'];
    for (const name of names) {
      const job = await made(client, batch, { metadata: { name }, spec: { template: podTemplate() } });
      await owned(name, job.metadata.uid);
    }
    const watch = await client.watch('/api/v1/namespaces/default/configmaps?watch=true&resourceVersion=0');
    expect((await client.delete(`${batch}/orphaned`)).body).toMatchObject({
      kind: 'Job',
      apiVersion: 'batch/v1',
      metadata: { finalizers: ['orphan'] },
    });
    expect((await client.delete(`${extensions}/freed`)).body).toMatchObject({
      kind: 'Status',
      details: { name: 'freed', group: 'extensions', kind: 'jobs' },
    });
    expect((await client.get(`${extensions}/freed`)).status).toBe(404);
    const { metadata } = await read(client, '/api/v1/namespaces/default/configmaps/freed');
    expect(metadata).not.toHaveProperty('ownerReferences');
    const changes = new Set<string>();
    while (changes.size < 2) {
      const event = await watch.until(({ object }) => names.includes(object.metadata.name));
      const { name, ownerReferences } = event.object.metadata;
      if (event.type === 'DELETED') changes.add(`${name} deleted`);
      else if (!ownerReferences) changes.add(`${name} freed`);
    }
    watch.close();
    expect([...changes].sort()).toEqual(['freed freed', 'orphaned freed']);
  });

  test('are deleted as a collection in the old version', async () => {
    const reply = await client.delete(extensions, { propagationPolicy: 'Background' });
    expect(reply.body).toMatchObject({ kind: 'JobList', apiVersion: 'extensions/v1beta1' });
    expect(reply.body.items.length).toBeGreaterThanOrEqual(2);
    expect((await read(client, batch)).items).toEqual([]);
  });
});

describe('deleting a job', () => {
  const client = useCluster({ controllers: false });
  const warning = /child pods are preserved by default when jobs are deleted/;

  test('warns when the request does not say what becomes of its pods, in batch/v1', async () => {
    for (const [apiVersion, body, warned] of [
      ['batch/v1', undefined, true],
      ['batch/v1', { propagationPolicy: 'Background' }, false],
      ['batch/v1', { orphanDependents: true }, false],
      ['extensions/v1beta1', undefined, false],
    ] as const) {
      const jobs = placeOf(apiVersion, 'jobs');
      const name = `gone-${apiVersion.length}-${JSON.stringify(body)?.length ?? 0}`;
      await made(client, jobs, { metadata: { name }, spec: { template: podTemplate() } });
      const { status, warnings } = await client.delete(`${jobs}/${name}`, body);
      expect(status).toBe(200);
      expect(warnings.some((text) => warning.test(text))).toBe(warned);
    }
  });
});

describe('discovery', () => {
  const client = useCluster({ controllers: false });

  test('lists extensions last, and the newest version of a group first', async () => {
    const { groups } = (await client.get('/apis')).body;
    const names = groups.map(({ name }: Json) => name);
    expect(names).toEqual(
      expect.arrayContaining(['autoscaling', 'batch', 'coordination.k8s.io', 'events.k8s.io']),
    );
    expect(names.at(-1)).toBe('extensions');
    const autoscaling = groups.find(({ name }: Json) => name === 'autoscaling');
    expect(autoscaling).toMatchObject({
      versions: [{ version: 'v2' }, { version: 'v1' }],
      preferredVersion: { groupVersion: 'autoscaling/v2' },
    });
  });
});
