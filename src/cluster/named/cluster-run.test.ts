/** Proves that what a start names holds, also for a cluster that had something else before, and that the rest stays. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { readRecord } from './cluster-record.ts';
import { ClusterRun } from './cluster-run.ts';

const home = mkdtempSync(path.join(tmpdir(), 'wherry-run-'));
beforeAll(() => void vi.stubEnv('XDG_DATA_HOME', home));
afterAll(() => {
  vi.unstubAllEnvs();
  rmSync(home, { recursive: true, force: true });
});

const open = { port: true, securePort: true, serviceRange: true, podRange: true };
const closed = { port: false, securePort: false, serviceRange: false, podRange: false };
const named = { name: 'a', dataDir: undefined, args: [], cwd: home, version: '1', log: undefined };
const given = {
  port: 1,
  secure: { port: 2 },
  serviceClusterIPRange: '10.5.0.0/24',
  node: { podRange: '10.6.0.0/16' },
};

it.each([true, false])('options win over what a cluster had before (in memory: %s)', async (inMemory) => {
  const first = await ClusterRun.take({ ...named, inMemory, open });
  const had = first.options({ secure: {}, node: {} });
  first.update({ url: `http://127.0.0.1:${had.port}`, ...first.rangesOf(had) });
  first.end();
  const second = await ClusterRun.take({ ...named, inMemory, open: closed });
  expect(second.options(given)).toMatchObject(given);
  second.update({ port: 1, securePort: 2, ...second.rangesOf(second.options(given)) });
  second.end();
  const third = await ClusterRun.take({ ...named, inMemory, open });
  // Services on disk keep their addresses, whatever range was asked for.
  const serviceClusterIPRange = inMemory ? given.serviceClusterIPRange : had.serviceClusterIPRange;
  expect(third.options({ secure: {}, node: {} })).toMatchObject({ ...given, serviceClusterIPRange });
  third.end();
});

it('a start that fails leaves nothing, or the cluster whose data it has made', async () => {
  const asked = { ...named, name: 'failing', inMemory: false, open };
  (await ClusterRun.take(asked)).fail();
  expect(readRecord('failing')).toBeUndefined();
  const run = await ClusterRun.take(asked);
  const { dataDir, serviceRange, podRange } = run.record;
  mkdirSync(dataDir!, { recursive: true });
  writeFileSync(path.join(dataDir!, 'data.mdb'), '');
  run.fail();
  expect(readRecord('failing')).toMatchObject({ dataDir, serviceRange, podRange });
  for (const part of ['process', 'port', 'securePort'])
    expect(readRecord('failing')).not.toHaveProperty(part);
});
