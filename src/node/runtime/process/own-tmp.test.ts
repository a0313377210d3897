/** Proves that a container's own /tmp costs one folder and one mount, and no more unless its words name folders of the machine there. */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ContainerLaunch } from '../runtime.ts';
import { temporaryMounts } from './own-tmp.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wherry-own-tmp-'));
});
afterEach(() => rm(folder, { recursive: true }));

const launch = (more: object = {}): ContainerLaunch =>
  ({
    mounts: [],
    command: ['sleep', '600'],
    container: { name: 'c' },
    ...more,
  }) as unknown as ContainerLaunch;
const own = () => join(folder, 'own');

it('is one mount for a container that does not look there', async () => {
  expect(await temporaryMounts(launch(), own())).toEqual([{ path: '/tmp', source: own(), readOnly: false }]);
  expect((await stat(own())).mode & 0o7777).toBe(0o1777);
});

it.runIf(tmpdir() === '/tmp')('has one more for each folder of the machine that its words name', async () => {
  const mounts = await temporaryMounts(
    launch({ command: [`${folder}/program`, '/tmp/nothing/here'] }),
    own(),
  );
  expect(mounts.map(({ path }) => path)).toEqual(['/tmp', folder]);
});

it('is nothing at all below a volume', async () => {
  const volume = { path: '/tmp/', source: folder, readOnly: false };
  expect(await temporaryMounts(launch({ mounts: [volume] }), own())).toEqual([]);
  await expect(stat(own())).rejects.toThrow('ENOENT');
});
