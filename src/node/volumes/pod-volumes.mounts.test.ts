/** Proves how volumes are mounted: what is read-only, sub paths, devices, and the file of hosts. */
import { readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Container, Pod, VolumeMount } from '../../api/generated/types.ts';
import { configMaps, secrets } from '../../client/resources.ts';
import { ConfigError } from '../environment/pod-environment.ts';
import { useVolumes } from './pod-volumes.fixture.ts';
import { MountError } from './pod-volumes.ts';

const place = useVolumes();

beforeAll(async () => {
  await place.client.create(secrets, 'default', {
    metadata: { name: 'login' },
    data: { user: Buffer.from('jo').toString('base64') },
  });
});

describe('mounts', () => {
  const mounting = (...volumeMounts: VolumeMount[]): Container => ({ name: 'c', volumeMounts });

  it('are read-only where they show objects or say so', async () => {
    // Proves paths, sources and read-only.
    const { volumes } = await place.setUp([
      { name: 'e', emptyDir: {} },
      { name: 's', secret: { secretName: 'login' } },
      { name: 'h', hostPath: { path: '/dev/null', type: 'CharDevice' } },
    ]);
    const mounts = await volumes.mounts(
      mounting(
        { name: 'e', mountPath: '/data/' },
        { name: 'e', mountPath: 'relative//path', readOnly: true },
        { name: 's', mountPath: '/s' },
        { name: 'h', mountPath: '/n' },
      ),
    );
    expect(mounts).toEqual([
      { path: '/data', source: join(place.folder, 'volumes/e'), readOnly: false },
      { path: '/relative/path', source: join(place.folder, 'volumes/e'), readOnly: true },
      { path: '/s', source: join(place.folder, 'volumes/s'), readOnly: true },
      { path: '/n', source: '/dev/null', readOnly: false },
    ]);
  });

  it('of sub paths', async () => {
    // Proves folders created on demand, expansion of variables, and that files of objects stay when the
    // object changes.
    await place.client.create(configMaps, 'default', { metadata: { name: 'sub' }, data: { file: '1' } });
    const { volumes, pod } = await place.setUp([
      { name: 'e', emptyDir: {} },
      { name: 'c', configMap: { name: 'sub' } },
    ]);
    const container: Container = {
      ...mounting(
        { name: 'e', mountPath: '/a', subPath: 'x/y' },
        { name: 'e', mountPath: '/b', subPathExpr: 'logs/$(POD)' },
        { name: 'c', mountPath: '/f', subPath: 'file' },
      ),
      env: [{ name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
    };
    const sources = (await volumes.mounts(container)).map(({ source }) => source);
    expect(sources.slice(0, 2)).toEqual([
      join(place.folder, 'volumes/e/x/y'),
      join(place.folder, `volumes/e/logs/${pod.metadata.name}`),
    ]);
    expect(await place.modeOf('e', 'x/y')).toBe(0o777);
    await place.client.patch(configMaps, 'default', 'sub', { data: { file: '2' } });
    await volumes.refresh();
    expect(await readFile(sources[2]!, 'utf8')).toBe('2');
  });

  it('of sub paths that lead away are refused', async () => {
    // Proves that neither text, nor variables, nor links lead out of a volume, and that errors reveal nothing
    // of the node.
    const { volumes } = await place.setUp([
      { name: 'e', emptyDir: {} },
      { name: 's', secret: { secretName: 'login' } },
    ]);
    await symlink(place.folder, join(place.folder, 'volumes/e/link'));
    const env = [
      { name: 'UP', value: '../..' },
      { name: 'ROOT', value: '/etc' },
    ];
    const refusal = async (mount: VolumeMount): Promise<string> => {
      const error = await volumes.mounts({ ...mounting({ mountPath: '/m', ...mount }), env }).then(
        (mounts) => new Error(`mounted ${mounts[0]!.source}`),
        (thrown: Error) => thrown,
      );
      expect(error).toBeInstanceOf(ConfigError);
      return error.message;
    };
    const prepare = (name: string) => `failed to prepare subPath for volumeMount "${name}" of container "c"`;
    expect(await refusal({ name: 'e', subPath: '../x' })).toBe(
      "unable to provision SubPath `../x`: must not contain '..'",
    );
    expect(await refusal({ name: 'e', subPath: 'a/../../x' })).toMatch(/must not contain '\.\.'$/);
    expect(await refusal({ name: 'e', subPath: '/etc' })).toBe(
      'error SubPath `/etc` must not be an absolute path',
    );
    expect(await refusal({ name: 'e', subPath: 'a\0b' })).toMatch(/NUL/);
    expect(await refusal({ name: 'e', subPathExpr: '$(UP)/x' })).toMatch(/must not contain '\.\.'$/);
    expect(await refusal({ name: 'e', subPathExpr: '$(ROOT)' })).toMatch(/absolute/);
    expect(await refusal({ name: 'e', subPathExpr: '$(NONE)' })).toBe('missing value for "NONE"');
    expect(await refusal({ name: 'e', subPath: 'link' })).toBe(prepare('e'));
    expect(await refusal({ name: 'e', subPath: 'link/new' })).toBe(prepare('e'));
    expect(await refusal({ name: 's', subPath: 'none' })).toBe(prepare('s'));
    expect(await refusal({ name: 'unknown' })).toBe(
      'cannot find volume "unknown" to mount into container "c"',
    );
    expect(await readdir(place.folder)).toEqual(['volumes']);
  });

  it('of devices are not there', async () => {
    // Proves that a block device is refused, not ignored.
    const { volumes } = await place.setUp([]);
    const failed = volumes.mounts({ name: 'c', volumeDevices: [{ name: 'd', devicePath: '/dev/x' }] });
    await expect(failed).rejects.toThrow(new MountError('d', 'block volumes are not supported by this node'));
  });

  it('have a hosts file for pods with aliases', async () => {
    // Proves the hosts file, that a link in its place is not written through, and that pods may mount their own.
    const hostAliases = [{ ip: '10.9.9.9', hostnames: ['db.local', 'db'] }];
    const { volumes, container, pod } = await place.setUp([], {
      hostAliases,
      hostname: 'web',
      subdomain: 'shop',
    });
    await symlink(join(place.folder, 'target'), join(place.folder, 'etc-hosts'));
    const path = join(place.folder, 'etc-hosts');
    expect(await volumes.mounts(container)).toEqual([{ path: '/etc/hosts', source: path, readOnly: false }]);
    const lines = (await readFile(path, 'utf8')).split('\n');
    expect(lines).toContain('# Kubernetes-managed hosts file.');
    expect(lines).toContain('127.0.0.1\tlocalhost');
    expect(lines).toContain('10.1.0.5\tweb.shop.default.svc.cluster.local\tweb');
    expect(lines).toContain('10.9.9.9\tdb.local\tdb');
    expect((await readdir(place.folder)).sort()).toEqual(['etc-hosts', 'volumes']);
    const own = await place.setUp(
      [{ name: 'h', emptyDir: {} }],
      { hostAliases },
      { volumeMounts: [{ name: 'h', mountPath: '/etc/hosts' }] },
    );
    expect(await own.volumes.mounts(own.container)).toHaveLength(1);
    const none: Pod = { ...pod, spec: { ...pod.spec, hostAliases: [] } };
    expect(await place.volumesOf(none).mounts(container)).toEqual([]);
  });

  it('have one hosts file for containers that start together', async () => {
    // Proves that no container gets in the way of another, and that a file that one has mounted already is not replaced.
    const hostAliases = [{ ip: '10.9.9.9', hostnames: ['db'] }];
    const { volumes, container } = await place.setUp([], { hostAliases });
    const path = join(place.folder, 'etc-hosts');
    const found = await Promise.all(
      Array.from({ length: 20 }, async () => {
        await volumes.mounts(container);
        return (await stat(path)).ino;
      }),
    );
    expect(new Set(found).size).toBe(1);
    // A container may have changed it; the next one to start finds it as it should be.
    await writeFile(path, 'changed');
    await volumes.mounts(container);
    expect(await readFile(path, 'utf8')).toContain('10.9.9.9\tdb');
    expect((await readdir(place.folder)).sort()).toEqual(['etc-hosts', 'volumes']);
  });
});
