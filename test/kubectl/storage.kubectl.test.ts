/**
 * Proves that claims just work on one machine: a stateful set with claim templates and no volumes anywhere becomes
 * ready, its data outlives pods and a restart of the server, and its folders go with the claims.
 */
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { start } from '../../src/cluster/index.ts';
import { describeWith } from '../support/tools.ts';
import { Kubectl } from './kubectl.ts';

const manifest = `
apiVersion: v1
kind: Service
metadata: { name: db }
spec: { clusterIP: None, selector: { app: db }, ports: [{ port: 80 }] }
---
apiVersion: apps/v1
kind: StatefulSet
metadata: { name: db }
spec:
  serviceName: db
  replicas: 2
  selector: { matchLabels: { app: db } }
  template:
    metadata: { labels: { app: db } }
    spec:
      terminationGracePeriodSeconds: 0
      containers:
        - name: c
          image: host
          command: [sh, -c, 'echo begun >> "$WHERRY_ROOT/data/log"; exec sleep 100000']
          volumeMounts: [{ name: data, mountPath: /data }]
  volumeClaimTemplates:
    - metadata: { name: data }
      spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 1Gi } } }
`;

describeWith('kubectl')('claims on one machine', () => {
  let folder: string;
  let kubectl: Kubectl;
  const k = (...args: string[]) => kubectl.run(...args);

  const open = async (): Promise<void> => {
    const node = { podNetwork: 'host', address: '127.0.0.1' } as const;
    const cluster = await start({ dataDir: path.join(folder, 'data'), node });
    await cluster.nodesReady;
    kubectl = new Kubectl(cluster);
  };
  const close = async (): Promise<void> => {
    kubectl.close();
    await kubectl.cluster.close();
  };
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'wherry-storage-'));
    await open();
  });
  afterAll(async () => {
    await close();
    await rm(folder, { recursive: true, force: true });
  });

  /** An object or a list, without a process for each look while something is waited for. */
  const read = async (what: string): Promise<any> =>
    (await fetch(`${kubectl.cluster.url}/api/v1/${what}`)).json();
  const folders = async (): Promise<string[]> => (await readdir(path.join(folder, 'data/volumes'))).sort();
  const volumeOf = async (claim: string): Promise<string> =>
    (await kubectl.json('get', 'pvc', claim)).spec.volumeName;
  const ready = (): Promise<string> => k('rollout', 'status', 'sts/db', '--timeout=60s');
  const scaledDown = async (): Promise<void> => {
    await k('scale', 'sts/db', '--replicas=1');
    await expect.poll(async () => (await read('namespaces/default/pods/db-1')).code).toBe(404);
  };
  /** Data of a claim: one line for every start of its pod. */
  const lines = async (volume: string): Promise<number> =>
    (await readFile(path.join(folder, 'data/volumes', volume, 'log'), 'utf8')).split('\n').length - 1;

  test('a stateful set with claim templates becomes ready', async () => {
    expect(await kubectl.table('get', 'sc', '--no-headers')).toEqual([
      [
        'local-path (default)',
        'wherry.dev/local-path',
        'Delete',
        'WaitForFirstConsumer',
        'true',
        expect.any(String),
      ],
    ]);
    await k('apply', '-f', kubectl.file('db.yaml', manifest));
    await ready();
    const volumes = [await volumeOf('data-db-0'), await volumeOf('data-db-1')];
    expect(await folders()).toEqual([...volumes].sort());
    for (const volume of volumes) {
      expect((await stat(path.join(folder, 'data/volumes', volume))).mode & 0o777).toBe(0o777);
      await expect.poll(() => lines(volume)).toBe(1);
    }
    const described = await k('describe', 'pvc', 'data-db-0');
    expect(described).toMatch(/Normal +Provisioning .* wherry\.dev\/local-path/);
    expect(described).toContain('External provisioner is provisioning volume for claim "default/data-db-0"');
    expect(described).toContain(`Successfully provisioned volume ${volumes[0]}`);
    expect(described).toContain("either by the external provisioner 'wherry.dev/local-path'");
  });

  test('a claim that is enlarged says so', async () => {
    await k('patch', 'pvc', 'data-db-0', '-p', '{"spec":{"resources":{"requests":{"storage":"3Gi"}}}}');
    await expect
      .poll(
        async () =>
          (await read('namespaces/default/persistentvolumeclaims/data-db-0')).status.capacity.storage,
      )
      .toBe('3Gi');
    const told = async () =>
      (await read('namespaces/default/events')).items.map(({ message }: { message: string }) => message);
    await expect.poll(told).toContainEqual(expect.stringContaining('Resize volume succeeded'));
    expect(await k('describe', 'pvc', 'data-db-0')).toContain('Resize volume succeeded');
    expect((await kubectl.json('get', 'pv', await volumeOf('data-db-0'))).spec.capacity.storage).toBe('3Gi');
  });

  test('data outlives a pod that is scaled away, and comes back with it', async () => {
    const volume = await volumeOf('data-db-1');
    await scaledDown();
    expect(await folders()).toContain(volume);
    await k('scale', 'sts/db', '--replicas=2');
    await ready();
    await expect.poll(() => lines(volume)).toBe(2);
  });

  test('data outlives a restart of the server; a class that was deleted stays deleted', async () => {
    const volume = await volumeOf('data-db-0');
    const before = await lines(volume);
    await k('delete', 'sc', 'local-path');
    await close();
    await open();
    await ready();
    await expect.poll(() => lines(volume)).toBe(before + 1);
    expect(await k('get', 'sc', '-o', 'name')).toBe('');
  });

  test('folders and volumes go with their claims', async () => {
    await scaledDown();
    await k('delete', 'pvc', 'data-db-1');
    const kept = await volumeOf('data-db-0');
    await expect.poll(folders).toEqual([kept]);
    await k('delete', 'sts', 'db');
    await k('delete', 'pvc', 'data-db-0');
    await expect.poll(folders).toEqual([]);
    await expect.poll(async () => (await read('persistentvolumes')).items).toEqual([]);
    expect(await k('get', 'pv', '-o', 'name')).toBe('');
  });
});
