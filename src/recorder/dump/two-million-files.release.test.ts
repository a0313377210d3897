/** Proves that an archive of two million files is read up to the bound, and that what came before is shown. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it, onTestFinished } from 'vitest';
import { tarOf } from '../archive/archives.fixture.ts';
import { readDump } from './dump.ts';

it('reads the first files, and says that the rest was not read', { timeout: 120_000 }, async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'wherry-files-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'first', namespace: 'a' } };
  const member = (entries: Parameters<typeof tarOf>[0]): Buffer =>
    gzipSync(tarOf(entries).subarray(0, -1024));
  const many = member(Array.from({ length: 1_000 }, (_, i) => ({ name: `empty/${i}.log` })));
  const file = path.join(folder, 'many.tar.gz');
  const first = member([{ name: 'pod.json', content: JSON.stringify(pod) }]);
  await writeFile(file, Buffer.concat([first, ...Array<Buffer>(2_000).fill(many)]));
  const { summary } = await readDump([file]);
  expect(summary.objects).toBe(1);
  expect(summary.problems.length).toBeLessThanOrEqual(10_000);
  expect(summary.problemCount).toBeGreaterThan(0);
  expect(summary.files).toBeLessThanOrEqual(500_001);
});
