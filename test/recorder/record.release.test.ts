/**
 * Proves on etcd that a recording is the history of a cluster of several servers, of which one is killed again and again, and
 * the recorder with it: event by event, of what a server that is left alone tells. Without and with `--like kubernetes`.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { record } from '../../src/cluster/index.ts';
import { etcds, TestEtcd } from '../../src/store/etcd/etcd-server.fixture.ts';
import { Child } from '../support/child.ts';
import { useCommand } from '../support/command.ts';
import { call, recordedEvents, ToldHistory, until, unversioned } from './source-history.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const rounds = 6;
useCommand();

/** An address in front of several servers, as a load balancer is. */
async function balanced(targets: () => readonly string[]): Promise<{ url: string; close: () => void }> {
  const sockets = new Set<Socket>();
  let turn = 0;
  const server = createServer((socket) => {
    const all = targets();
    const { port } = new URL(all[turn++ % all.length]!);
    const onward = connect(Number(port), '127.0.0.1');
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ] as const) {
      sockets.add(one);
      one.on('error', () => other.destroy()).on('close', () => other.destroy());
      one.pipe(other);
    }
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const close = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}

describe.skipIf(etcds.length === 0)('a cluster on etcd, which is not installed where this is skipped', () => {
  it.each([[[]], [['--like', 'kubernetes']]])(
    'is recorded though servers are killed %j',
    async (flags) => {
      const folder = mkdtempSync(path.join(tmpdir(), 'wherry-record-etcd-'));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      const etcd = await TestEtcd.start({ members: 1 });
      onTestFinished(() => etcd.close());
      const servers: { child: Child; url: string }[] = [];
      const server = async (i: number) => {
        const store = [
          '--store',
          'etcd',
          '--etcd-servers',
          etcd.urls.join(','),
          '--data-dir',
          path.join(folder, `server-${i}`),
        ];
        const child = new Child([
          'serve',
          '--port',
          '0',
          '--secure-port',
          'off',
          '--controllers',
          'none',
          ...store,
          ...flags,
        ]);
        return { child, url: await child.ready() };
      };
      for (let i = 0; i < 3; i++) servers.push(await server(i));
      const [told] = servers as [(typeof servers)[0]];
      const front = await balanced(() => servers.slice(1).map(({ url }) => url));
      onTestFinished(front.close);
      const kubeconfig = path.join(folder, 'config');
      const config = {
        clusters: [{ name: 'c', cluster: { server: front.url } }],
        contexts: [{ name: 'c', context: { cluster: 'c' } }],
        'current-context': 'c',
      };
      writeFileSync(kubeconfig, JSON.stringify(config));
      const options = {
        dataDir: path.join(folder, 'recording'),
        kubeconfig,
        kinds: ['configmaps'],
        requestsPerSecond: 100,
      };
      let recorder = await record(options);
      onTestFinished(() => recorder.close());
      const { metadata } = await call(told.url, 'GET', maps);
      const history = new ToldHistory(told.url, maps, metadata.resourceVersion);
      onTestFinished(() => history.close());
      let isOver = false;
      let written = 0;
      const writing = Promise.all(
        Array.from({ length: 4 }, async (_, i) => {
          for (let n = 0; !isOver; n++) {
            const name = `m-${i}-${n % 5}`;
            const isNew = n % 10 < 5;
            await call(
              told.url,
              isNew ? 'POST' : 'DELETE',
              isNew ? maps : `${maps}/${name}`,
              isNew ? { metadata: { name }, data: { n: String(n) } } : undefined,
            );
            written++;
          }
        }),
      );
      for (let round = 0; round < rounds; round++) {
        const before = written;
        await until(() => written > before + 100, 'changes');
        const i = 1 + (round % 2);
        await servers[i]!.child.kill();
        if (round % 3 === 2) {
          await recorder.close();
          recorder = await record(options);
        }
        servers[i] = await server(i);
      }
      isOver = true;
      await writing;
      await until(() => history.events.length === written, 'the history of the source');
      const events = await recordedEvents(recorder.url, maps, written);
      expect(unversioned(events)).toEqual(unversioned(history.events));
      const { gaps = [] } = await call(recorder.url, 'GET', '/wherry/history');
      expect(gaps.filter(({ why }: { why: string }) => !why.includes('fetched afterwards'))).toEqual([]);
    },
    300_000,
  );
});
