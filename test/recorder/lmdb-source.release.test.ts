/**
 * Proves that a cluster on a data folder is recorded event by event though it is killed and started again, and that questions
 * about its past find a server by its name and by a kubeconfig.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { record } from '../../src/cluster/index.ts';
import { Child } from '../support/child.ts';
import { useCommand } from '../support/command.ts';
import { call, recordedEvents, until, unversioned } from './source-history.ts';
import { SourceProxy } from './source-proxy.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const rounds = 4;
const writers = 3;
useCommand();

it('a source on LMDB is killed and started again, and every change is recorded once', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'wherry-lmdb-source-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const args = [
    'serve',
    '--port',
    '0',
    '--secure-port',
    'off',
    '--controllers',
    'none',
    '--data-dir',
    path.join(folder, 'source'),
  ];
  let child = new Child([...args, '--like', 'kubernetes']);
  const proxy = new SourceProxy(await child.ready());
  await proxy.listen();
  onTestFinished(() => proxy.close());
  const { metadata } = await call(proxy.target, 'GET', maps);
  const recorder = await record({
    dataDir: path.join(folder, 'recording'),
    kubeconfig: proxy.kubeconfig(folder, 'source'),
    kinds: ['configmaps'],
    requestsPerSecond: 100,
  });
  onTestFinished(() => recorder.close());
  let isOver = false;
  let written = 0;
  const writing = Promise.all(
    Array.from({ length: writers }, async (_, i) => {
      for (let n = 0; !isOver; n++) {
        const name = `m-${i}-${n}`;
        // What was cut off may have been written: each name is used once, so that nothing is refused.
        const sent = await call(proxy.target, 'POST', maps, { metadata: { name } }).catch(() => undefined);
        if (sent) written++;
        else await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }),
  );
  for (let round = 0; round < rounds; round++) {
    const before = written;
    await until(() => written > before + 60, 'changes');
    await child.kill();
    child = new Child([...args, '--like', 'kubernetes']);
    proxy.target = await child.ready();
  }
  isOver = true;
  await writing;
  const answer = await call(proxy.target, 'GET', maps);
  const truth: any[] = answer.items.filter(({ metadata: { name } }: any) => name.startsWith('m-'));
  expect(truth.length).toBeGreaterThanOrEqual(written);
  truth.sort((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion));
  const expected = truth.map(({ kind: _k, apiVersion: _v, ...object }) => ({
    type: 'ADDED',
    object: { kind: 'ConfigMap', apiVersion: 'v1', ...object },
  }));
  const events = await recordedEvents(recorder.url, maps, truth.length);
  expect(unversioned(events)).toEqual(unversioned(expected));
  expect(Number(metadata.resourceVersion)).toBeGreaterThan(0);
  const { gaps = [] } = await call(recorder.url, 'GET', '/wherry/history');
  expect(gaps.filter(({ why }: { why: string }) => !why.includes('fetched afterwards'))).toEqual([]);
}, 300_000);

it('history, timeline and at find a server by its name and by a kubeconfig', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'wherry-asked-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  onTestFinished(() => rmSync(`${folder}-home`, { recursive: true, force: true }));
  const run = async (...args: string[]): Promise<string> => {
    const child = new Child(args, folder);
    const { code } = await child.exited;
    expect(`${code} ${child.stderr}`, args.join(' ')).toMatch(/^0 /);
    return child.stdout;
  };
  await run('up', '-d', '--name', 'asked', '--port', '0', '--controllers', 'none');
  onTestFinished(async () => void (await run('stop', 'asked')));
  const kubeconfig = path.join(folder, 'config');
  writeFileSync(kubeconfig, await run('kubeconfig', '--name', 'asked').catch(() => ''));
  const { url } = JSON.parse(await run('status', 'asked', '-o', 'json'));
  await call(url, 'POST', maps, { metadata: { name: 'seen' } });
  for (const way of [
    ['--name', 'asked'],
    ['--kubeconfig', kubeconfig],
    ['--server', url],
  ]) {
    expect(await run('history', 'configmaps/seen', ...way)).toContain('created');
    expect(await run('timeline', '--kinds', 'configmaps', ...way)).toContain('default/ConfigMap/seen');
    expect(await run('at', '0s', 'get', 'configmaps', '-o', 'name', ...way)).toContain('configmap/seen');
  }
}, 120_000);
