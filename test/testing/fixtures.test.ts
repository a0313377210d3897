/** Proves that test clusters take fixtures from text, files and folders, have users, and are the same for one seed. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type TestCluster, testCluster } from '../../src/testing/index.ts';

let cluster: TestCluster;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wherry-fixtures-'));
  cluster = await testCluster();
});
beforeEach(() => cluster.reset());
afterAll(async () => {
  await cluster.close();
  await rm(folder, { recursive: true, force: true });
});

const names = (objects: readonly Record<string, any>[]) => objects.map(({ metadata }) => metadata.name);
const map = (name: string) => `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\n`;

describe('apply()', () => {
  it('takes text with several documents, in whichever order they need', async () => {
    const text = `# The first document is about nothing.
---
apiVersion: v1
kind: ConfigMap
metadata: { name: settings, namespace: team, uid: copied, resourceVersion: "5", managedFields: [] }
data: { color: blue }
--- # and its namespace
apiVersion: v1
kind: Namespace
metadata: { name: team }
---
apiVersion: v1
kind: List
items:
  - { apiVersion: v1, kind: ConfigMap, metadata: { generateName: made- } }
`;
    const stored = await cluster.apply(text);
    expect(names(stored)).toEqual(['team', 'settings', expect.stringMatching(/^made-\w{5}$/)]);
    expect(stored[1]).toMatchObject({ data: { color: 'blue' }, metadata: { namespace: 'team' } });
    expect(stored[1]!.metadata.uid).not.toBe('copied');
  });

  it('takes a file, a URL and a folder with its folders', async () => {
    await mkdir(join(folder, 'deeper'));
    await writeFile(join(folder, 'a.yaml'), map('a'));
    await writeFile(join(folder, 'deeper', 'b.yml'), map('b'));
    await writeFile(join(folder, 'c.json'), '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}');
    await writeFile(join(folder, 'notes.txt'), 'no fixture');
    expect(names(await cluster.apply(join(folder, 'a.yaml')))).toEqual(['a']);
    expect(names(await cluster.apply(pathToFileURL(join(folder, 'c.json'))))).toEqual(['c']);
    expect(names(await cluster.apply(folder))).toEqual(['a', 'c', 'b']);
    await expect(cluster.apply(join(folder, 'missing.yaml'))).rejects.toThrow('there is no file or folder');
  });

  it('writes the status of an object as well, and changes what it applied before', async () => {
    const node = (ready: string) => ({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'made-up' },
      status: { conditions: [{ type: 'Ready', status: ready, reason: 'Test', message: 'made up' }] },
    });
    await cluster.apply(node('True'));
    await cluster.waitFor('Node/made-up', 'Ready');
    const [changed] = await cluster.apply(node('False'));
    expect(changed!.status.conditions[0].status).toBe('False');
  });

  it('refuses what is no object', async () => {
    await expect(cluster.apply('just: text')).rejects.toThrow('an object without metadata');
    await expect(cluster.apply('- 5\n- 6\n')).rejects.toThrow('is no object of the API');
    await expect(
      cluster.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, dat: {} }),
    ).rejects.toThrow('dat');
  });
});

describe('a seed', () => {
  const run = async (seed: number) => {
    const seeded = await testCluster({ seed, controllers: false });
    const made = await seeded.apply(Array.from({ length: 3 }, () => generated));
    await seeded.reset();
    const again = await seeded.apply(Array.from({ length: 3 }, () => generated));
    await seeded.close();
    const shown = (objects: readonly Record<string, any>[]) =>
      objects.map(({ metadata }) => [metadata.name, metadata.uid]);
    expect(shown(again)).toEqual(shown(made));
    return shown(made);
  };
  const generated = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { generateName: 'x-' } };

  it('makes names and uids the same each time, and after a reset', async () => {
    const first = await run(1);
    expect(first[0]![1]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect(new Set(first.flat()).size).toBe(6);
    expect(await run(1)).toEqual(first);
    expect(await run(2)).not.toEqual(first);
  });
});

describe('users', () => {
  it('have roles that there are, if only by fixtures', async () => {
    const users = [{ name: 'ann', roles: ['sailor'] }];
    await expect(testCluster({ users, controllers: false })).rejects.toThrow(
      'there is no ClusterRole "sailor" for the user "ann"',
    );
    const fixtures = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'sailor' },
      rules: [],
    };
    await (await testCluster({ users, fixtures, controllers: false })).close();
  });

  it('have tokens, kubeconfigs and what their roles allow', async () => {
    const shared = await testCluster({
      users: [
        { name: 'ann', token: 'secret-of-ann', roles: ['view', { role: 'edit', namespace: 'team' }] },
        { name: 'bob', rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['list'] }] },
      ],
    });
    try {
      const ann = await shared.kubeConfig('ann');
      const { CoreV1Api } = await import('@kubernetes/client-node');
      const api = ann.makeApiClient(CoreV1Api);
      const body = { metadata: { name: 'settings' } };
      await api.createNamespacedConfigMap({ namespace: 'team', body });
      await expect(api.createNamespacedConfigMap({ namespace: 'default', body })).rejects.toMatchObject({
        code: 403,
      });
      expect(shared.tokenFor('ann')).toBe('secret-of-ann');
      expect(shared.tokenFor('bob')).toMatch(/^[0-9a-f-]{36}$/);
      const bob = (await shared.kubeConfig('bob')).makeApiClient(CoreV1Api);
      expect((await bob.listPodForAllNamespaces()).items).toEqual([]);
      await expect(bob.listSecretForAllNamespaces()).rejects.toMatchObject({ code: 403 });
      const local = (await shared.kubeConfig()).makeApiClient(CoreV1Api);
      expect((await local.listNamespace()).items.length).toBeGreaterThan(3);
      expect(shared.requests({ user: 'bob', kind: 'Secret' })).toEqual([]);
    } finally {
      await shared.close();
    }
  });
});
