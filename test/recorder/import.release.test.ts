/**
 * Proves on etcd that a cluster of several servers is copied as it is while servers are killed in the middle of lists, and the
 * importing process with them: every object is there, and the second run goes on. Without and with `--like kubernetes`.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openDump } from '../../src/cluster/index.ts';
import { etcds, TestEtcd } from '../../src/store/etcd/etcd-server.fixture.ts';
import { Child } from '../support/child.ts';
import { useCommand } from '../support/command.ts';
import { expectSameObjects, fillSource } from './copied-cluster.ts';
import { SourceProxy } from './source-proxy.ts';

const mapCount = 5_200;
useCommand();

describe.skipIf(etcds.length === 0)('a cluster on etcd, which is not installed where this is skipped', () => {
  it.each([[[]], [['--like', 'kubernetes']]])(
    'is copied though servers and the import are killed %j',
    async (flags) => {
      const folder = mkdtempSync(path.join(tmpdir(), 'wherry-import-etcd-'));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      const etcd = await TestEtcd.start({ members: 1 });
      onTestFinished(() => etcd.close());
      const serve = async (i: number): Promise<{ child: Child; url: string }> => {
        const store = ['--store', 'etcd', '--etcd-servers', etcd.urls.join(',')];
        const place = ['--data-dir', path.join(folder, `server-${i}`), '--port', '0', '--secure-port', 'off'];
        const child = new Child(['serve', '--controllers', 'none', ...store, ...place, ...flags]);
        return { child, url: await child.ready() };
      };
      const servers = [await serve(0), await serve(1), await serve(2)];
      const [kept] = servers as [(typeof servers)[0]];
      await fillSource(kept.url, mapCount);
      const proxy = new SourceProxy(servers[1]!.url);
      await proxy.listen();
      onTestFinished(() => proxy.close());
      const importing = (): Child => {
        const kubeconfig = proxy.kubeconfig(folder, 'source');
        const to = ['--data-dir', path.join(folder, 'copy'), '--kubeconfig', kubeconfig];
        return new Child(['import', ...to, '--rate', '1000', '--with-secrets']);
      };
      let pages = 0;
      let killed = 0;
      let importer = importing();
      proxy.interfere = ({ url }) => {
        const isPage = url.startsWith('/api/v1/configmaps');
        if (isPage && ++pages % 3 === 0 && killed < 2) {
          // The page is lost with the server that was asked, and the next request finds another.
          void servers[++killed]!.child.kill();
          proxy.cut();
          proxy.mend();
          proxy.target = servers[killed === 1 ? 2 : 0]!.url;
        }
        if (url.startsWith('/api/v1/secrets') && killed === 2) {
          killed++;
          void importer.kill();
        }
        return undefined;
      };
      expect((await importer.exited).code).not.toBe(0);
      expect(killed).toBe(3);
      const state = JSON.parse(readFileSync(path.join(folder, 'copy', 'import.json'), 'utf8'));
      expect(state.isComplete).toBe(false);
      proxy.asked = [];
      importer = importing();
      expect((await importer.exited).code, importer.stderr).toBe(0);
      expect(proxy.asked.some(({ url }) => url.startsWith('/api/v1/configmaps'))).toBe(false);
      expect(proxy.writes).toBe(0);
      const copy = await openDump(path.join(folder, 'copy'));
      onTestFinished(() => copy.close());
      expect(await expectSameObjects(kept.url, copy.url)).toBeGreaterThan(mapCount);
    },
    300_000,
  );
});
