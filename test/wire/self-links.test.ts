/** Like a current server, nothing that is answered has a `selfLink`, also not what a server of the other manner stored. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { type Cluster, start } from '../../src/cluster/index.ts';

const namespaced = '/api/v1/namespaces/default';
const deployments = '/apis/apps/v1/namespaces/default/deployments';
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const widgets = '/apis/example.com/v1/namespaces/default/widgets';

const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
const subresources = {
  scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' },
};
const definition = {
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: ['v1', 'v2'].map((name) => ({
      name,
      served: true,
      storage: name === 'v1',
      schema,
      subresources,
    })),
  },
};
const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
const deployment = {
  metadata: { name: 'd' },
  spec: { replicas: 0, selector: { matchLabels: { a: 'b' } }, template },
};
const job = { metadata: { name: 'j' }, spec: { parallelism: 0, template } };

async function fill(send: (path: string, body: object) => Promise<string>): Promise<string[]> {
  return [
    await send(`${namespaced}/configmaps`, { metadata: { name: 'c' } }),
    await send(deployments, deployment),
    await send('/apis/extensions/v1beta1/namespaces/default/jobs', {
      ...job,
      spec: { ...job.spec, template: { ...template, spec: { ...template.spec, restartPolicy: 'Never' } } },
    }),
    await send(definitions, definition),
    await send(widgets, {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 'w' },
      spec: { replicas: 1 },
    }),
  ];
}

/** Every way to read these objects. */
const reads = [
  `${namespaced}/configmaps/c`,
  `${namespaced}/configmaps`,
  `${namespaced}/configmaps?watch=true&resourceVersion=0&timeoutSeconds=1`,
  `${namespaced}/configmaps?watch=true&resourceVersion=1&timeoutSeconds=1`,
  '/api/v1/componentstatuses',
  '/api/v1/namespaces',
  deployments,
  `${deployments}/d/scale`,
  '/apis/extensions/v1beta1/namespaces/default/deployments/d',
  '/apis/extensions/v1beta1/namespaces/default/deployments/d/scale',
  '/apis/extensions/v1beta1/namespaces/default/jobs',
  '/apis/batch/v1/namespaces/default/jobs/j',
  widgets,
  `${widgets}/w`,
  `${widgets}/w/scale`,
  '/apis/example.com/v2/namespaces/default/widgets/w',
  definitions,
  '/api/v1/events',
];

const forms = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf, application/json',
  'application/json;as=Table;v=v1;g=meta.k8s.io,application/json',
  'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json',
  'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json',
];

const sender =
  ({ url }: Cluster) =>
  async (path: string, body: object): Promise<string> => {
    const headers = { 'Content-Type': 'application/json' };
    const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
    const text = await answer.text();
    expect(answer.ok, text).toBe(true);
    return text;
  };

async function answers({ url }: Cluster): Promise<string[]> {
  const found: string[] = [];
  for (const path of reads)
    for (const accept of path.includes('watch') ? forms.slice(0, 1) : forms) {
      const answer = await fetch(url + path, { headers: { Accept: accept } });
      const text = await answer.text();
      expect(answer.status, `${path} ${text}`).toBeLessThan(500);
      found.push(text);
    }
  return found;
}

/** The word, or the path as protobuf has it. */
const linked = (text: string): boolean =>
  text.includes('selfLink') || text.includes('/namespaces/default/configmaps/c');

async function started(folder: string, like?: 'kubernetes'): Promise<Cluster> {
  const cluster = await start({ port: 0, dataDir: folder, controllers: false, ...(like ? { like } : {}) });
  onTestFinished(() => cluster.close());
  return cluster;
}

async function temporary(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'self-links-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

it('objects, lists, scales, watches and other versions have none', async () => {
  const cluster = await started(await temporary(), 'kubernetes');
  const written = await fill(sender(cluster));
  expect([...written, ...(await answers(cluster))].filter(linked)).toEqual([]);
});

it('they have one otherwise, and lose it when the same data is served like Kubernetes', async () => {
  const folder = await temporary();
  const before = await started(folder);
  expect((await fill(sender(before))).filter(linked)).toHaveLength(5);
  expect((await answers(before)).filter(linked).length).toBeGreaterThan(30);
  await before.close();
  const after = await started(folder, 'kubernetes');
  expect((await answers(after)).filter(linked)).toEqual([]);
  const removed = await fetch(`${after.url}${namespaced}/configmaps/c`, { method: 'DELETE' });
  expect([removed.status, await removed.text()].map(String).filter(linked)).toEqual([]);
});
