/**
 * Proves that a recording of a day, a million changes, is opened in bounded time and memory, and that questions about any
 * moment of it are answered.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { writeRecordingFile } from '../../src/cluster/shared/recording-file.ts';
import { SourceObjects } from '../../src/recorder/source/source-objects.ts';
import { openLmdbStore } from '../../src/store/lmdb.ts';
import { Child } from '../support/child.ts';
import { useCommand } from '../support/command.ts';
import { call } from './source-history.ts';

const changes = 1_000_000;
const objects = 2_000;
const perCommit = 500;
const readyMaxMs = 60_000;
const memoryMaxBytes = 1.2e9;
useCommand();

/** Processor time of all threads of a process. */
const processorMs = (pid: number): number =>
  readdirSync(`/proc/${pid}/task`)
    .map((thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]))
    .reduce((sum, ns) => sum + ns / 1e6, 0);

it('a million changes are opened, and every moment can be asked for', async () => {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'wherry-long-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const source = { apiVersion: 'v1', group: '', resource: 'pods', kind: 'Pod', namespaced: true } as any;
  const forms = new SourceObjects();
  const pod = (n: number) => ({
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: {
      name: `pod-${n % objects}`,
      namespace: 'default',
      uid: `uid-${n % objects}`,
      creationTimestamp: '2026-01-01T00:00:00Z',
      annotations: { note: 'x'.repeat(1_000) },
    },
    spec: { containers: [{ name: 'c', image: `image:${n}` }] },
  });
  const store = await openLmdbStore({ dataDir, unsafeNoFsync: true });
  for (let n = 0; n < changes; n += perCommit)
    await store.assign(
      Array.from({ length: perCommit }, (_, i) => forms.stored(source, pod(n + i), () => undefined)[0]!),
    );
  const last = store.revision();
  await store.close();
  writeRecordingFile(dataDir, {
    source: 'http://x',
    cluster: '',
    begun: '2026-01-01T00:00:00Z',
    isListed: true,
  });
  const begunMs = performance.now();
  const child = new Child(['open', dataDir, '--port', '0']);
  // A loaded machine is waited for longer than a child usually is.
  while (!/ready at \S+, read-only\n/.test(child.stdout))
    await new Promise((resolve) => setTimeout(resolve, 50));
  const readyMs = performance.now() - begunMs;
  const readyProcessorMs = processorMs(child.pid);
  const url = /ready at (\S+),/.exec(child.stdout)![1]!;
  const { oldest, newest } = await call(url, 'GET', '/wherry/history');
  expect(Number(newest)).toBe(last);
  for (const version of [Number(oldest) + 1, Math.floor(last / 2), last]) {
    const askedMs = performance.now();
    const where = `/api/v1/pods?limit=5&resourceVersion=${version}&resourceVersionMatch=Exact`;
    expect((await call(url, 'GET', where)).items.length, String(version)).toBeGreaterThan(0);
    console.log(`a list at ${version} of ${last}: ${Math.round(performance.now() - askedMs)} ms`);
  }
  const asked = `/wherry/changes?resource=pods&namespace=default&name=pod-7&limit=1000`;
  expect((await call(url, 'GET', asked)).items.length).toBeGreaterThan(changes / objects - 2);
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
  const peakBytes = Number(/VmHWM:\s+(\d+)/.exec(status)![1]) * 1024;
  const privateBytes = Number(/RssAnon:\s+(\d+)/.exec(status)![1]) * 1024;
  console.log(
    `${changes} changes: ready in ${Math.round(readyMs)} ms, ${Math.round(readyProcessorMs)} of a processor, ${Math.round(peakBytes / 1e6)} MB at most, ${Math.round(privateBytes / 1e6)} MB of its own`,
  );
  // Of a processor: a loaded machine takes longer.
  expect(readyProcessorMs).toBeLessThan(readyMaxMs);
  expect(privateBytes).toBeLessThan(memoryMaxBytes);
}, 600_000);
