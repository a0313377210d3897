/**
 * Proves that servers which start at the same moment on an empty etcd become one cluster: whatever a start makes is made by
 * the first and taken over by the others, also when one of them is killed in the middle of it.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestEtcd } from '../../src/store/etcd/etcd-server.fixture.ts';
import { decodeRange, encodeRange, RANGE } from '../../src/store/etcd/messages.ts';
import { Child, useChildren } from '../support/child.ts';
import { Client, type Json } from '../support/http.ts';
import { isRelease } from '../support/tier.ts';
import { describeWith } from '../support/tools.ts';

/** Each ends another server at another moment: in the middle, and before a release at twenty. */
const rounds = isRelease ? Array.from({ length: 20 }, (_, round) => round) : [9];
const servers = isRelease ? 5 : 3;
/** One of them is killed when this many keys times the round's number are stored; a start makes some hundred. */
const keysStep = 8;

describeWith('etcd-server')('servers that start together', () => {
  const { folder } = useChildren();
  let etcd: TestEtcd;
  beforeAll(async () => {
    etcd = await TestEtcd.start();
  });
  afterAll(() => etcd.close());

  const keys = async (prefix: string): Promise<number> => {
    const [key, end] = [Buffer.from(`${prefix}/`), Buffer.from(`${prefix}0`)];
    return decodeRange(await etcd.call(0, RANGE, encodeRange({ key, end }))).items.length;
  };

  it.each(rounds)(
    'are one cluster, round %i',
    async (round) => {
      const prefix = `/together-${round}`;
      const serve = async (): Promise<{ child: Child; dataDir: string }> => {
        const dataDir = await folder();
        const store = ['--store', 'etcd', '--etcd-servers', etcd.urls[0]!, '--etcd-prefix', prefix];
        const child = new Child([
          'serve',
          ...['--port', '0', '--secure-port', '0', '--data-dir', dataDir],
          ...store,
        ]);
        return { child, dataDir };
      };
      const all = await Promise.all(Array.from({ length: servers }, serve));
      const victim = all.splice(round % servers, 1)[0]!;
      const killed = (async () => {
        while ((await keys(prefix)) < 1 + round * keysStep);
        await victim.child.kill();
      })();
      const urls = await Promise.all(all.map(({ child }) => child.ready()));
      await killed;
      // A server that comes later finds the same.
      all.push(await serve());
      urls.push(await all.at(-1)!.child.ready());
      const seen = await Promise.all(urls.map((url) => whatStartsMake(new Client(url))));
      for (const one of seen) expect(one).toEqual(seen[0]);
      const authorities = await Promise.all(
        all.map(async ({ dataDir }) => {
          const text = await readFile(join(dataDir, 'kubeconfig'), 'utf8');
          return /certificate-authority-data"?: *"?([A-Za-z0-9+/=]+)/.exec(text)![1];
        }),
      );
      expect(new Set(authorities).size).toBe(1);
      const proxies = all.map(({ dataDir }) => readFile(join(dataDir, 'pki', 'front-proxy-ca.crt'), 'utf8'));
      expect(new Set(await Promise.all(proxies)).size).toBe(1);
      for (const { child } of all) {
        child.signal('SIGTERM');
        expect(await child.exited).toEqual({ code: 0, signal: null });
        // Debian's etcd is one that the server warns of.
        expect(
          (child.stdout + child.stderr).split('\n').filter((line) => /"level":[56]0/.test(line)),
        ).toEqual([]);
      }
    },
    300_000,
  );
});

/** Uids of everything that a start makes, by path; and that there is something at each. */
async function whatStartsMake(client: Client): Promise<Json> {
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const paths = [
    '/api/v1/namespaces',
    '/api/v1/namespaces/kube-system/configmaps',
    '/api/v1/namespaces/kube-public/configmaps',
    '/api/v1/namespaces/kube-system/secrets',
    '/api/v1/namespaces/default/services',
    ...['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'].map((name) => `${rbac}/${name}`),
    '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas',
    '/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations',
    '/apis/scheduling.k8s.io/v1/priorityclasses',
    '/apis/networking.k8s.io/v1/servicecidrs',
  ];
  const entries = await Promise.all(
    paths.map(async (path) => {
      const { items } = (await client.get(path)).body;
      expect(items.length, path).toBeGreaterThan(0);
      return [path, items.map(({ metadata }: Json) => `${metadata.name} ${metadata.uid}`)];
    }),
  );
  return Object.fromEntries(entries);
}
