/**
 * Proves that the command records through its own death: killed in the middle of changes, and started again, its history is that
 * of the cluster, event by event, without a gap.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { start } from '../../src/cluster/index.ts';
import { Child } from '../support/child.ts';
import { useCommand } from '../support/command.ts';
import { call, recordedEvents, ToldHistory, until, unversioned } from './source-history.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const rounds = 3;
useCommand();

it('is killed and started again, and has every change once', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'wherry-record-command-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const source = await start({ store: 'memory', like: 'kubernetes', controllers: false });
  onTestFinished(() => source.close());
  const kubeconfig = path.join(folder, 'config');
  writeFileSync(kubeconfig, source.kubeconfig);
  const args = [
    'record',
    '--kubeconfig',
    kubeconfig,
    '--data-dir',
    path.join(folder, 'data'),
    '--port',
    '0',
    '--kinds',
    'configmaps',
  ];
  const { metadata } = await call(source.url, 'GET', maps);
  const history = new ToldHistory(source.url, maps, metadata.resourceVersion);
  onTestFinished(() => history.close());
  let isOver = false;
  let written = 0;
  const readyUrl = async (child: Child): Promise<string> => {
    await child.printed(/ready at \S+, read-only\n/);
    return /ready at (\S+),/.exec(child.stdout)![1]!;
  };
  let child = new Child(args);
  await readyUrl(child);
  const writing = Promise.all(
    Array.from({ length: 3 }, async (_, i) => {
      for (let n = 0; !isOver; n++) {
        const name = `m-${i}-${n % 5}`;
        const method = n % 10 < 5 ? 'POST' : 'DELETE';
        await call(
          source.url,
          method,
          method === 'POST' ? maps : `${maps}/${name}`,
          method === 'POST' ? { metadata: { name }, data: { n: String(n) } } : undefined,
        );
        written++;
      }
    }),
  );
  for (let round = 0; round < rounds; round++) {
    const before = written;
    await until(() => written > before + 60, 'changes');
    await child.kill();
    const meanwhile = written;
    await until(() => written > meanwhile + 20, 'changes meanwhile');
    child = new Child(args);
    await readyUrl(child);
  }
  isOver = true;
  await writing;
  await until(() => history.events.length === written);
  const url = await readyUrl(child);
  const events = await recordedEvents(url, maps, written);
  expect(unversioned(events)).toEqual(unversioned(history.events));
  const { gaps = [] } = await call(url, 'GET', '/wherry/history');
  expect(gaps.filter(({ why }: { why: string }) => !why.includes('fetched afterwards'))).toEqual([]);
  child.signal('SIGTERM');
  expect(await child.exited).toEqual({ code: 0, signal: null });
}, 120_000);
