/**
 * Proves that dumps which kubectl makes of a live cluster, with custom kinds, webhooks and failing pods, open as clusters
 * that show every object as it was, whose logs can be read, and that refuse every change.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as yaml from 'yaml';
import { type OpenedDump, openDump } from '../../src/cluster/index.ts';
import { Kubectl, withKubectl } from '../kubectl/kubectl.ts';
import { describeWith } from '../support/tools.ts';

interface Shown {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly namespace?: string; readonly name: string };
}

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'ships.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'ships', kind: 'Ship', shortNames: ['sp'] },
    versions: ['v1', 'v2'].map((name) => ({
      name,
      served: true,
      storage: name === 'v2',
      schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    })),
  },
};
const objects = [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web' },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'web', image: 'web', command: ['sh', '-c', 'echo started; exit 3'] }] },
      },
    },
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    metadata: { name: 'refuse' },
    webhooks: [
      {
        name: 'refuse.example.com',
        clientConfig: { url: 'https://127.0.0.1:1/' },
        rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['secrets'], operations: ['CREATE'] }],
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        failurePolicy: 'Fail',
      },
    ],
  },
];
const ship = {
  apiVersion: 'example.com/v1',
  kind: 'Ship',
  metadata: { name: 'ann', finalizers: ['example.com/hold'] },
  spec: { crew: 9_007_199_254_740_991, note: 'two\nlines\n' },
};

const everything =
  'pods,deployments,replicasets,services,configmaps,serviceaccounts,namespaces,nodes,events,secrets,ships,crds,validatingwebhookconfigurations,clusterroles';

const keyOf = ({ apiVersion, kind, metadata }: Shown): string =>
  [apiVersion, kind, metadata.namespace, metadata.name].join(' ');
const byKey = (items: readonly Shown[]): Map<string, Shown> =>
  new Map(items.map((item) => [keyOf(item), item]));

describeWith('kubectl')('dumps', () => {
  const kubectl = withKubectl({ simulatedNodes: 2, defaultRoles: true, like: 'kubernetes' });
  let folder: string;
  let original: Map<string, Shown>;
  const opened: OpenedDump[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), 'wherry-dumps-'));
    const k = kubectl();
    await k.run('apply', '-f', k.file('crd.json', definition));
    await k.run('wait', '--for=condition=Established', '--timeout=60s', 'crd/ships.example.com');
    await k.run('apply', '-f', k.file('objects.json', { apiVersion: 'v1', kind: 'List', items: objects }));
    await k.run('apply', '-f', k.file('ship.json', ship));
    await k.run('delete', 'ship', 'ann', '--wait=false');
    await k.run('rollout', 'status', 'deployment/web', '--timeout=120s');
    const dumped = await k.run('get', everything, '-A', '-o', 'json');
    writeFileSync(path.join(folder, 'all.json'), dumped);
    original = byKey(JSON.parse(dumped).items);
  });
  afterAll(async () => {
    await Promise.all(opened.map((dump) => dump.close()));
    rmSync(folder, { recursive: true, force: true });
  });

  async function open(...names: string[]): Promise<{ dump: OpenedDump; k: Kubectl }> {
    const dump = await openDump(names.map((name) => path.join(folder, name)));
    opened.push(dump);
    return { dump, k: new Kubectl(dump) };
  }

  test('kubectl get -o yaml and -o json show every object as it was, and nothing can be changed', async () => {
    const k = kubectl();
    const text = await k.run('get', everything, '-A', '-o', 'yaml');
    writeFileSync(path.join(folder, 'all.yaml'), text);
    // Each is compared with itself: nodes report, and events come, between the two.
    const written = { 'all.yaml': byKey(yaml.parse(text).items), 'all.json': original };
    for (const [name, expected] of Object.entries(written)) {
      const { dump, k: copy } = await open(name);
      expect(dump.summary).toMatchObject({ objects: expected.size, problems: [], inferred: [] });
      const { items } = await copy.json('get', everything, '-A');
      expect(byKey(items)).toEqual(expected);
      copy.close();
    }
    const copy = new Kubectl(opened.at(-1)!);
    expect((await copy.json('get', 'ships.v1.example.com', 'ann')).apiVersion).toBe('example.com/v1');
    expect((await copy.try('label', 'pods', '--all', 'a=b')).stderr).toContain('read-only copy of the dump');
    for (const args of [
      ['delete', 'ns', 'default', '--wait=false'],
      ['create', 'cm', 'x'],
      ['create', 'cm', 'x', '--dry-run=server'],
    ])
      expect((await copy.try(...args)).stderr).toContain('nothing can be changed in it');
    expect((await copy.try('exec', 'deploy/web', '--', 'true')).stderr).toContain('nothing runs in it');
    expect(await copy.run('auth', 'can-i', 'get', 'pods')).toBe('yes\n');
    copy.close();
  });

  test('kubectl cluster-info dump, as a folder, as a text and as an archive of must-gather', async () => {
    const k = kubectl();
    await k.run('cluster-info', 'dump', '-A', '--output-directory', path.join(folder, 'info'));
    writeFileSync(path.join(folder, 'info.txt'), await k.run('cluster-info', 'dump', '-A'));
    const { dump, k: copy } = await open('info');
    expect(dump.summary.problems).toEqual([]);
    expect(dump.summary.logs).toBe(2);
    const named = (kind: string): string[] =>
      [...original.keys()].filter((key) => key.includes(` ${kind} `)).sort();
    const { items } = await copy.json('get', 'pods,deployments,replicasets,services', '-A');
    const kinds = ['Pod', 'Deployment', 'ReplicaSet', 'Service'];
    expect([...byKey(items).keys()].sort()).toEqual(kinds.flatMap(named).sort());
    for (const item of items as Shown[]) {
      const { uid, resourceVersion, creationTimestamp } = (original.get(keyOf(item)) as any).metadata;
      expect(item.metadata).toMatchObject({ uid, resourceVersion, creationTimestamp });
      // kubectl leaves out what its version does not know.
      expect((original.get(keyOf(item)) as any).status).toMatchObject((item as any).status);
    }
    const pod = items.find(({ kind }: Shown) => kind === 'Pod').metadata.name;
    const log = readFileSync(path.join(folder, 'info', 'default', pod, 'logs.txt'), 'utf8');
    expect(await copy.run('logs', pod)).toBe(log.replace(/^==== .*\n/gm, ''));
    copy.close();
    const { dump: text } = await open('info.txt');
    expect(text.summary).toMatchObject({ objects: dump.summary.objects, logs: 2, problems: [] });
    const { dump: gathered, k: shown } = await open(mustGather(folder, original));
    expect(gathered.summary.problems).toEqual([]);
    expect(byKey((await shown.json('get', everything, '-A')).items)).toEqual(original);
    expect(await shown.run('logs', pod)).toBe('kept\n');
    expect(await shown.run('logs', pod, '--previous')).toBe('before\n');
    shown.close();
  });
});

/** A tree as must-gather makes it, packed; its name. */
function mustGather(folder: string, original: ReadonlyMap<string, Shown>): string {
  const root = path.join(folder, 'must-gather');
  for (const object of original.values()) {
    const { apiVersion, kind, metadata } = object;
    const group = apiVersion.includes('/') ? apiVersion.split('/')[0]! : 'core';
    const place = metadata.namespace ? `namespaces/${metadata.namespace}` : 'cluster-scoped-resources';
    const own = path.join(root, place, group, `${kind.toLowerCase()}s`);
    mkdirSync(own, { recursive: true });
    writeFileSync(
      path.join(own, `${metadata.name.replaceAll(':', '_')}.yaml`),
      `---\n${JSON.stringify(object)}\n`,
    );
    if (kind !== 'Pod') continue;
    const logs = path.join(root, place, 'pods', metadata.name, 'web', 'web', 'logs');
    mkdirSync(logs, { recursive: true });
    writeFileSync(path.join(logs, 'current.log'), '2026-01-01T00:00:00.000000000Z kept\n');
    writeFileSync(path.join(logs, 'previous.log'), '2026-01-01T00:00:00.000000000Z before\n');
  }
  expect(readdirSync(root)).toHaveLength(2);
  execFileSync('tar', ['-czf', path.join(folder, 'must-gather.tar.gz'), '-C', folder, 'must-gather']);
  return 'must-gather.tar.gz';
}
