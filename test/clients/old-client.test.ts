/**
 * Proves that a client which does not know all fields of an object can read it, change it and write it back: what the
 * server itself put there comes to no harm, and does not stand in the way.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Kind } from '../../src/api/kind/kind.ts';
import { builtinKinds } from '../../src/api/kinds/kinds.ts';
import { type Cluster, start } from '../../src/cluster/index.ts';
import { Client, type Json } from '../support/http.ts';
import { knownIn11, manifests11, wasIn11 } from '../support/old-client.ts';
import { libraryKinds, sampledKinds } from './library-kinds.ts';

let cluster: Cluster;
const client = new Client(() => cluster.url);

beforeAll(async () => {
  // Only the controller whose finalizers are put on claims and volumes: others would write between read and write.
  cluster = await start({ store: 'memory', controllers: ['protection'] });
});
afterAll(() => cluster.close());

/** Each kind has a namespace of its own, so that a quota or a limit range meets no pods. */
const homeOf = ({ resource, group }: Kind): string => `${resource}-${group.replaceAll('.', '-') || 'core'}`;

async function collectionOf(kind: Kind): Promise<string> {
  const prefix = kind.group ? `/apis/${kind.apiVersion}` : `/api/${kind.apiVersion}`;
  if (!kind.namespaced) return `${prefix}/${kind.resource}`;
  await client.post('/api/v1/namespaces', { metadata: { name: homeOf(kind) } });
  return `${prefix}/namespaces/${homeOf(kind)}/${kind.resource}`;
}

/** Makes an object, reads it, and writes it back as a client does that knows a part of it, with one label more. */
async function relabelled(kind: Kind, manifest: Json, known: (read: Json) => Json) {
  const collection = await collectionOf(kind);
  const path = `${collection}/${manifest.metadata.name}`;
  const created = await client.post(collection, manifest);
  expect(created.status, created.text).toBe(200);
  const before = (await client.get(path)).body;
  const sent = known(before);
  sent.metadata.labels = { ...sent.metadata.labels, added: 'yes' };
  const reply = await client.put(path, sent);
  expect(reply.status, reply.text).toBe(200);
  const after = (await client.get(path)).body;
  expect(after).toEqual(reply.body);
  return { before, after };
}

function expectOnlyLabel({ before, after }: { before: Json; after: Json }): void {
  const labels = { ...before.metadata.labels, added: 'yes' };
  const { resourceVersion, managedFields } = after.metadata;
  expect(resourceVersion).not.toBe(before.metadata.resourceVersion);
  expect(after).toEqual({
    ...before,
    metadata: { ...before.metadata, labels, resourceVersion, managedFields },
  });
}

const replaceable = builtinKinds.filter(({ verbs }) => verbs.includes('update'));
const title = ({ apiVersion, kind }: Kind): string => `${apiVersion} ${kind}`;

describe('a client of Kubernetes 1.1', () => {
  for (const kind of replaceable.filter(({ model }) => wasIn11(model)))
    describe(title(kind), () => {
      const manifests = manifests11[kind.kind] ?? [];
      it('is in the table', () => expect(manifests.length).toBeGreaterThan(0));

      for (const [i, manifestOf] of manifests.entries())
        it(`labels number ${i + 1} and nothing else`, async () => {
          const manifest = manifestOf(`old-${i}`);
          expect(knownIn11(kind.model, manifest)).toEqual(manifest);
          expectOnlyLabel(await relabelled(kind, manifest, (read) => knownIn11(kind.model, read)));
        });
    });
});

describe('a client that knows the fields it wrote and no others', () => {
  const groupOf = (apiVersion: string): string => apiVersion.split('/')[0]!;

  function manifestOf(kind: Kind, name: string): Json {
    if (wasIn11(kind.model)) return manifests11[kind.kind]![0]!(name);
    const samples = [...libraryKinds, ...sampledKinds()].filter((row) => row.kind === kind.kind);
    const sample =
      samples.find(({ apiVersion }) => apiVersion === kind.apiVersion) ??
      samples.find(({ apiVersion }) => groupOf(apiVersion) === groupOf(kind.apiVersion));
    if (!sample) throw new Error(`${title(kind)} has no sample in library-kinds.ts`);
    return JSON.parse(JSON.stringify(sample.sample.manifest(kind.namespaced ? homeOf(kind) : '', name)));
  }

  for (const kind of replaceable)
    it(`labels a ${title(kind)} and nothing else`, async () => {
      const manifest = manifestOf(kind, `new-${kind.version}`);
      const outcome = await relabelled(kind, manifest, ({ metadata: { resourceVersion } }) => ({
        ...manifest,
        metadata: { ...manifest.metadata, resourceVersion },
      }));
      // Labels count as content of these.
      if (kind.generationOf === 'content and labels') outcome.before.metadata.generation++;
      expectOnlyLabel(outcome);
    });
});

describe('a pod that is written back', () => {
  const pods = '/api/v1/namespaces/default/pods';

  async function made(name: string, spec: Json = {}): Promise<Json> {
    const containers = [{ name: 'c', image: 'registry.example/c:1' }];
    const reply = await client.post(pods, { metadata: { name }, spec: { containers, ...spec } });
    expect(reply.status, reply.text).toBe(200);
    return reply.body;
  }

  /** The spec after a write of the pod as `change` left it. */
  async function rewritten(pod: Json, change: (spec: Json) => void): Promise<Json> {
    const sent = structuredClone(pod);
    change(sent.spec);
    const reply = await client.put(`${pods}/${pod.metadata.name}`, sent);
    expect(reply.status, reply.text).toBe(200);
    expect(reply.body.metadata.generation).toBe(pod.metadata.generation);
    return reply.body.spec;
  }

  const tokenVolumeOf = (spec: Json): Json =>
    spec.volumes.find(({ name }: Json) => name.startsWith('kube-api-access-'));

  it('keeps its priority and its preemption policy', async () => {
    const pod = await made('priority');
    const spec = await rewritten(pod, (sent) => {
      delete sent.priority;
      delete sent.preemptionPolicy;
    });
    expect(spec).toEqual(pod.spec);
    expect(spec).toMatchObject({ priority: 0, preemptionPolicy: 'PreemptLowerPriority' });
  });

  it('keeps the class that was the default one when it was made', async () => {
    const classes = '/apis/scheduling.k8s.io/v1/priorityclasses';
    const made7 = { metadata: { name: 'seven' }, value: 7, globalDefault: true, preemptionPolicy: 'Never' };
    expect((await client.post(classes, made7)).status).toBe(200);
    const pod = await made('class');
    await client.delete(`${classes}/seven`);
    const spec = await rewritten(pod, (sent) => {
      for (const name of ['priority', 'preemptionPolicy', 'priorityClassName']) delete sent[name];
    });
    expect(spec).toEqual(pod.spec);
    expect(spec).toMatchObject({ priority: 7, preemptionPolicy: 'Never', priorityClassName: 'seven' });
  });

  const forms: Record<string, (volume: Json) => void> = {
    'a bare name': (volume) => delete volume.projected,
    'an empty directory': (volume) => {
      delete volume.projected;
      volume.emptyDir = {};
    },
  };
  for (const [form, change] of Object.entries(forms))
    it(`keeps the volume of its token, which came back as ${form}`, async () => {
      const pod = await made(`volume-${form.split(' ')[1]}`, { volumes: [{ name: 'mine', emptyDir: {} }] });
      const spec = await rewritten(pod, (sent) => change(tokenVolumeOf(sent)));
      expect(spec).toEqual(pod.spec);
      expect(tokenVolumeOf(spec).projected.sources).toHaveLength(3);
    });

  it('keeps volume, mounts, tolerations and account, which it came back without', async () => {
    const pod = await made('bare', {
      initContainers: [{ name: 'i', image: 'i', volumeMounts: [{ name: 'mine', mountPath: '/mine' }] }],
      volumes: [{ name: 'mine', emptyDir: {} }],
    });
    const spec = await rewritten(pod, (sent) => {
      sent.volumes = [{ name: 'mine' }];
      delete sent.containers[0].volumeMounts;
      sent.initContainers[0].volumeMounts.length = 1;
      for (const name of ['tolerations', 'serviceAccountName', 'serviceAccount']) delete sent[name];
    });
    expect(spec).toEqual(pod.spec);
  });

  it('keeps what limit ranges gave it', async () => {
    const ranges = '/api/v1/namespaces/default/limitranges';
    const limits = [{ type: 'Container', default: { cpu: '2' }, defaultRequest: { cpu: '1' } }];
    await client.post(ranges, { metadata: { name: 'given' }, spec: { limits } });
    const pod = await made('limited');
    await client.delete(`${ranges}/given`);
    expect(pod.spec.containers[0].resources).toEqual({ limits: { cpu: '2' }, requests: { cpu: '1' } });
    expect(await rewritten(pod, (sent) => delete sent.containers[0].resources)).toEqual(pod.spec);
  });

  it('may not lose or change what its author said', async () => {
    const tolerations = [{ key: 'mine', operator: 'Exists' }];
    const volumes = [{ name: 'mine', projected: { sources: [{ secret: { name: 's' } }] } }];
    const pod = await made('author', { tolerations, volumes, hostname: 'h' });
    const changes: ((spec: Json) => void)[] = [
      (spec) => delete spec.tolerations,
      (spec) => delete spec.hostname,
      (spec) => {
        spec.volumes[0] = { name: 'mine', emptyDir: {} };
      },
      (spec) => {
        tokenVolumeOf(spec).projected = undefined;
        tokenVolumeOf(spec).hostPath = { path: '/' };
      },
      (spec) => {
        tokenVolumeOf(spec).projected = undefined;
        tokenVolumeOf(spec).emptyDir = { medium: 'Memory' };
      },
    ];
    for (const change of changes) {
      const sent = structuredClone(pod);
      change(sent.spec);
      const reply = await client.put(`${pods}/author`, sent);
      expect(reply.body, reply.text).toMatchObject({ code: 422, reason: 'Invalid' });
    }
  });
});

describe('what a user set and a client leaves out', () => {
  it('is removed, beside what the server keeps', async () => {
    const claims = '/api/v1/namespaces/default/persistentvolumeclaims';
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } };
    await client.post(claims, {
      metadata: { name: 'c', finalizers: ['example.com/mine'], annotations: { a: 'b' } },
      spec,
    });
    const { metadata } = (await client.put(`${claims}/c`, { metadata: { name: 'c' }, spec })).body;
    expect(metadata.finalizers).toEqual(['kubernetes.io/pvc-protection']);
    expect(metadata).not.toHaveProperty('annotations');

    const taints = [{ key: 'example.com/mine', effect: 'NoSchedule' }];
    await client.post('/api/v1/nodes', { metadata: { name: 'tainted' }, spec: { taints } });
    const node = (await client.put('/api/v1/nodes/tainted', { metadata: { name: 'tainted' } })).body;
    expect(node.spec.taints).toEqual([{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }]);
    const cleared = { metadata: { name: 'tainted' }, spec: { taints } };
    expect((await client.put('/api/v1/nodes/tainted', cleared)).body.spec.taints).toEqual(taints);
  });
});
