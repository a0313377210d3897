/**
 * Proves that a cluster of two servers on etcd is copied whole though one of them goes in the middle of a list, and the import
 * with it: what was finished is not read again. `import.release.test.ts` kills processes.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { importCluster, openDump, start } from '../../src/cluster/index.ts';
import { TestEtcd } from '../../src/store/etcd/etcd-server.fixture.ts';
import { describeWith } from '../support/tools.ts';
import { expectSameObjects, fillSource } from './copied-cluster.ts';
import { SourceProxy } from './source-proxy.ts';

/** More than a page. */
const mapCount = 520;

describeWith('etcd-server')('a cluster on etcd', () => {
  it('is copied whole though a server goes, and on from where the import was ended', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'wherry-import-etcd-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const etcd = await TestEtcd.start();
    onTestFinished(() => etcd.close());
    const shared = {
      store: 'etcd',
      etcd: { servers: etcd.urls },
      controllers: false,
      like: 'kubernetes',
    } as const;
    const [first, second] = [await start(shared), await start(shared)];
    onTestFinished(() => second.close());
    onTestFinished(() => first.close());
    await fillSource(second.url, mapCount);
    const proxy = new SourceProxy(first.url);
    await proxy.listen();
    onTestFinished(() => proxy.close());
    const ended = new AbortController();
    let pages = 0;
    proxy.interfere = ({ url }) => {
      if (url.startsWith('/api/v1/configmaps') && ++pages === 2) {
        // This page is lost with the server; the next request finds the other one.
        void first.close();
        proxy.cut();
        proxy.mend();
        proxy.target = second.url;
      }
      if (url.startsWith('/api/v1/secrets') && !ended.signal.aborted) ended.abort(new Error('enough'));
      return undefined;
    };
    const dataDir = path.join(folder, 'copy');
    const kubeconfig = proxy.kubeconfig(folder, 'source');
    const options = { dataDir, kubeconfig, requestsPerSecond: 1_000, secrets: 'values' } as const;
    await expect(importCluster({ ...options, signal: ended.signal })).rejects.toThrow();
    expect(pages).toBeGreaterThan(2);
    proxy.asked = [];
    const summary = await importCluster(options);
    expect(proxy.asked.some(({ url }) => url.startsWith('/api/v1/configmaps'))).toBe(false);
    expect(proxy.writes).toBe(0);
    expect(summary.kinds.filter(({ why }) => why)).toEqual([]);
    expect(summary.kinds.find(({ resource }) => resource === 'configmaps')!.objects).toBeGreaterThanOrEqual(
      mapCount,
    );
    const copy = await openDump(dataDir);
    onTestFinished(() => copy.close());
    expect(await expectSameObjects(second.url, copy.url)).toBeGreaterThan(mapCount);
  });
});
