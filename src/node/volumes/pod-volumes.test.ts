/** Proves what containers find in their volumes, before and after objects change. */
import { mkdir, readdir, readFile, readlink, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Volume } from '../../api/generated/types.ts';
import { configMaps, pods, secrets } from '../../client/resources.ts';
import { ConfigObjects } from '../environment/config-objects.ts';
import { ConfigError } from '../environment/pod-environment.ts';
import { isRoot, useVolumes } from './pod-volumes.fixture.ts';
import type { MountError, PodVolumes } from './pod-volumes.ts';

const place = useVolumes();
const base64 = (text: string): string => Buffer.from(text).toString('base64');

beforeAll(async () => {
  await place.client.create(configMaps, 'default', {
    metadata: { name: 'settings' },
    data: { color: 'blue', 'app.conf': 'x=1\n' },
    binaryData: { blob: Buffer.from([0, 255, 1]).toString('base64') },
  });
  await place.client.create(secrets, 'default', {
    metadata: { name: 'login' },
    data: { user: base64('jo'), password: base64('p') },
  });
});

describe('volumes of objects', () => {
  it('show all keys, or those asked for', async () => {
    // Proves secrets and config maps with binary data, items, folders, modes and defaults.
    await place.setUp([
      { name: 'all', configMap: { name: 'settings' } },
      {
        name: 'some',
        secret: {
          secretName: 'login',
          defaultMode: 0o400,
          items: [
            { key: 'user', path: 'who/is/it' },
            { key: 'password', path: 'pw', mode: 0o440 },
          ],
        },
      },
    ]);
    expect(await place.visible('all')).toEqual(['app.conf', 'blob', 'color']);
    expect(await place.file('all', 'app.conf')).toBe('x=1\n');
    expect([...(await readFile(join(place.folder, 'volumes/all/blob')))]).toEqual([0, 255, 1]);
    expect(await place.modeOf('all', 'color')).toBe(0o644);
    expect(await place.visible('some')).toEqual(['pw', 'who']);
    expect(await place.file('some', 'who/is/it')).toBe('jo');
    expect([await place.modeOf('some', 'who/is/it'), await place.modeOf('some', 'pw')]).toEqual([
      0o400, 0o440,
    ]);
  });

  it('are plain files where the token is a secret, as in Kubernetes 1.1', async () => {
    // Proves modes, the end of the last line, and that config maps and modes of one's own stay as they are.
    const mountPath = '/var/run/secrets/kubernetes.io/serviceaccount';
    const labels = { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } };
    const name = { path: 'name', fieldRef: { fieldPath: 'metadata.name' } };
    const volumes: Volume[] = [
      { name: 'token', secret: { secretName: 'login' } },
      { name: 'own', secret: { secretName: 'login', defaultMode: 0o400 } },
      { name: 'me', downwardAPI: { items: [labels, name] } },
      { name: 'map', configMap: { name: 'settings' } },
    ];
    const volumeMounts = volumes.map((volume) => ({
      name: volume.name,
      mountPath: volume.name === 'token' ? mountPath : `/${volume.name}`,
    }));
    const { pod } = await place.setUp(volumes, {}, { volumeMounts });
    const entries = (volume: string): Promise<string[]> => readdir(join(place.folder, 'volumes', volume));
    expect((await entries('token')).sort()).toEqual(['password', 'user']);
    expect([await place.modeOf('token', 'user'), await place.modeOf('own', 'user')]).toEqual([0o444, 0o400]);
    expect((await entries('me')).sort()).toEqual(['labels', 'name']);
    expect(await place.file('me', 'labels')).toBe('app="web"\n');
    expect(await place.file('me', 'name')).toBe(pod.metadata.name);
    expect(await place.modeOf('me', 'labels')).toBe(0o644);
    expect(await entries('map')).toContain('..data');
  });

  it('show the pod', async () => {
    // Proves files of the downward API.
    await place.setUp([
      {
        name: 'me',
        downwardAPI: {
          items: [
            { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
            { path: 'cpu', resourceFieldRef: { containerName: 'c', resource: 'limits.cpu', divisor: '1m' } },
          ],
        },
      },
    ]);
    expect(await place.file('me', 'labels')).toBe('app="web"');
    expect(await place.file('me', 'cpu')).toBe('4000');
  });

  it('may be optional', async () => {
    // Proves that missing optional objects and keys are left out.
    await place.setUp([
      { name: 'a', secret: { secretName: 'none', optional: true } },
      {
        name: 'b',
        configMap: {
          name: 'settings',
          optional: true,
          items: [
            { key: 'none', path: 'x' },
            { key: 'color', path: 'y' },
          ],
        },
      },
    ]);
    expect(await place.visible('a')).toEqual([]);
    expect(await place.visible('b')).toEqual(['y']);
  });

  it.each<[string, Volume, string]>([
    ['secret', { secret: { secretName: 's' } }, 'secret "s" not found'],
    ['config map', { configMap: { name: 'x' } }, 'configmap "x" not found'],
    [
      'key of a secret',
      { secret: { secretName: 'login', items: [{ key: 'k', path: 'p' }] } },
      'references non-existent secret key: k',
    ],
    [
      'key of a config map',
      { configMap: { name: 'settings', items: [{ key: 'k', path: 'p' }] } },
      'configmap references non-existent config key: k',
    ],
    [
      'two sources',
      { projected: { sources: [{ secret: { name: 's' } }, { configMap: { name: 'x' } }] } },
      '[secret "s" not found, configmap "x" not found]',
    ],
    ['git', { gitRepo: { repository: 'r' } }, 'volumes of type gitRepo are not supported by this node'],
    ['nfs', { nfs: { server: 's', path: '/p' } }, 'volumes of type nfs are not supported by this node'],
    ['huge pages', { emptyDir: { medium: 'HugePages' } }, 'medium HugePages is not supported by this node'],
    [
      'host path',
      { hostPath: { path: '/none/at/all', type: 'Directory' } },
      'hostPath type check failed: /none/at/all is not a directory',
    ],
  ])('fail without their %s', async (_, volume, message) => {
    // Proves each failure, with Kubernetes' message and the name of the volume.
    const error = await place.failure([
      { name: 'good', emptyDir: {} },
      { name: 'v', ...volume },
    ]);
    expect([error.volume, error.message]).toEqual(['v', message]);
    // The other volumes are set up nevertheless.
    expect(await place.visible('good')).toEqual([]);
  });

  it('can be set up again when what was missing is there', async () => {
    // Proves that setting up is idempotent, and keeps existing files.
    const pod = await place.createPod([
      { name: 'e', emptyDir: {} },
      { name: 'v', secret: { secretName: 'late' } },
    ]);
    const volumes = place.volumesOf(pod);
    await expect(volumes.setUp()).rejects.toThrow('secret "late" not found');
    await writeFile(join(place.folder, 'volumes/e/mine'), 'kept');
    await place.client.create(secrets, 'default', { metadata: { name: 'late' }, data: { k: base64('now') } });
    await volumes.setUp();
    expect([await place.file('v', 'k'), await place.file('e', 'mine')]).toEqual(['now', 'kept']);
    // A restarted agent finds the volumes as they were.
    await place.volumesOf(pod).setUp();
    expect([await place.file('v', 'k'), await place.file('e', 'mine')]).toEqual(['now', 'kept']);
  });

  it('are not set up when nobody mounts them', async () => {
    // Proves that a volume that no container mounts does not block the pod.
    await place.setUp([{ name: 'v', secret: { secretName: 'none' } }], {}, { volumeMounts: [] });
    expect(await readdir(join(place.folder, 'volumes'))).toEqual([]);
  });

  it('that the server would refuse do no harm', async () => {
    // Proves that hostile names and paths stay inside the folder, and that unknown volume types are refused.
    const pod = await place.createPod([{ name: 'v', emptyDir: {} }]);
    const bad = (volume: Volume): PodVolumes => {
      const volumeMounts = [{ name: volume.name, mountPath: '/v' }];
      return place.volumesOf({
        ...pod,
        spec: { volumes: [volume], containers: [{ name: 'c', volumeMounts }] },
      });
    };
    await expect(bad({ name: '../../up', emptyDir: {} }).setUp()).rejects.toThrow('invalid volume name');
    const bundle = bad({ name: 'v', projected: { sources: [{ clusterTrustBundle: { path: 'p' } }] } });
    await expect(bundle.setUp()).rejects.toThrow('clusterTrustBundle is not supported by this node');
    for (const path of ['../x', '/x', '..data', 'a/../../x']) {
      const items = [{ key: 'color', path }];
      await expect(bad({ name: 'v', configMap: { name: 'settings', items } }).setUp()).rejects.toThrow(
        'invalid path',
      );
    }
    expect(await readdir(place.folder)).toEqual(['volumes']);
  });
});

describe('changes', () => {
  it('are shown without a refresh where the agent may follow objects, and the pod always', async () => {
    // Proves volumes of every type, alone and projected; nothing calls refresh().
    const objects = new ConfigObjects(place.client, { follows: true });
    onTestFinished(() => objects.close());
    await place.client.create(configMaps, 'default', { metadata: { name: 'followed' }, data: { a: '1' } });
    await place.client.create(secrets, 'default', {
      metadata: { name: 'followed' },
      data: { a: base64('1') },
    });
    const items = [{ path: 'note', fieldRef: { fieldPath: "metadata.annotations['note']" } }];
    const pod = await place.createPod([
      { name: 'map', configMap: { name: 'followed' } },
      { name: 'secret', secret: { secretName: 'followed' } },
      { name: 'down', downwardAPI: { items } },
      {
        name: 'all',
        projected: {
          sources: [
            { configMap: { name: 'followed', items: [{ key: 'a', path: 'map' }] } },
            { secret: { name: 'followed', items: [{ key: 'a', path: 'secret' }] } },
            { downwardAPI: { items } },
          ],
        },
      },
    ]);
    const volumes = place.volumesOf(pod, { objects });
    await volumes.setUp();
    const shown = () =>
      Promise.all(
        ['map/a', 'secret/a', 'down/note', 'all/map', 'all/secret', 'all/note'].map((path) =>
          place.file(...path.split('/')),
        ),
      );
    expect(await shown()).toEqual(['1', '1', '', '1', '1', '']);
    await place.client.patch(configMaps, 'default', 'followed', { data: { a: '2' } });
    await place.client.patch(secrets, 'default', 'followed', { data: { a: base64('3') } });
    volumes.update(
      await place.client.patch(pods, 'default', pod.metadata.name!, {
        metadata: { annotations: { note: 'n' } },
      }),
    );
    await expect.poll(shown).toEqual(['2', '3', 'n', '2', '3', 'n']);
    // Deleted objects leave the files as they are; a pod that is gone follows nothing any more.
    await place.client.delete(secrets, 'default', 'followed');
    await volumes.close();
    await place.client.patch(configMaps, 'default', 'followed', { data: { a: '4' } });
    expect(await shown()).toEqual(['2', '3', 'n', '2', '3', 'n']);
  });

  it('are shown by a refresh, all at once', async () => {
    // Proves that files follow objects and labels: one swap per change, none without a change.
    await place.client.create(configMaps, 'default', {
      metadata: { name: 'moving' },
      data: { a: '1', b: '1' },
    });
    const { pod, volumes } = await place.setUp([
      { name: 'v', configMap: { name: 'moving' } },
      {
        name: 'me',
        downwardAPI: { items: [{ path: 'l', fieldRef: { fieldPath: "metadata.labels['app']" } }] },
      },
    ]);
    const state = () => readlink(join(place.folder, 'volumes/v/..data'));
    const first = await state();
    await volumes.refresh();
    expect(await state()).toBe(first);
    await place.client.patch(configMaps, 'default', 'moving', { data: { a: '2', b: null, c: '2' } });
    await place.client.patch(pods, 'default', pod.metadata.name!, { metadata: { labels: { app: 'shop' } } });
    await volumes.refresh();
    expect(await state()).not.toBe(first);
    expect(await place.visible('v')).toEqual(['a', 'c']);
    expect([await place.file('v', 'a'), await place.file('me', 'l')]).toEqual(['2', 'shop']);
    expect(place.errors).toEqual([]);
  });

  it('that cannot be shown leave what is there', async () => {
    // Proves that a deleted secret stays in the volume, and that this is reported.
    await place.client.create(secrets, 'default', { metadata: { name: 'going' }, data: { k: base64('v') } });
    const { volumes } = await place.setUp([{ name: 'v', secret: { secretName: 'going' } }]);
    await place.client.delete(secrets, 'default', 'going');
    await volumes.refresh();
    expect(await place.file('v', 'k')).toBe('v');
    expect(place.errors.map((error) => [(error as MountError).volume, error.message])).toEqual([
      ['v', 'secret "going" not found'],
    ]);
  });

  it('end with close', async () => {
    // Proves that a refresh after close does nothing.
    await place.client.create(configMaps, 'default', { metadata: { name: 'last' }, data: { a: '1' } });
    const { volumes } = await place.setUp([{ name: 'v', configMap: { name: 'last' } }]);
    await place.client.patch(configMaps, 'default', 'last', { data: { a: '2' } });
    const late = volumes.refresh();
    await volumes.close();
    await late;
    await volumes.refresh();
    await volumes.close();
    expect(await place.file('v', 'a')).toBe('1');
  });
});

describe('folders', () => {
  it('of images are read-only, and nothing is made in them', async () => {
    // Proves volumes of the type image, whole and by a sub path.
    const files = join(place.folder, 'files');
    await mkdir(join(files, 'models'), { recursive: true });
    const pod = await place.createPod(
      [{ name: 'data', image: { reference: 'example.com/data:1' } }],
      {},
      {
        volumeMounts: [
          { name: 'data', mountPath: '/all' },
          { name: 'data', mountPath: '/part', subPath: 'models' },
        ],
      },
    );
    const asked: string[] = [];
    const imageFolder = async (image: string): Promise<string> => {
      asked.push(image);
      return files;
    };
    const volumes = place.volumesOf(pod, { imageFolder });
    await volumes.setUp();
    expect(asked).toEqual(['example.com/data:1']);
    expect(await volumes.mounts(pod.spec!.containers![0]!)).toEqual([
      { path: '/all', source: files, readOnly: true },
      { path: '/part', source: join(files, 'models'), readOnly: true },
    ]);
    const missing = { name: 'c', volumeMounts: [{ name: 'data', mountPath: '/no', subPath: 'none' }] };
    await expect(volumes.mounts(missing)).rejects.toThrow(ConfigError);
    expect(await readdir(files)).toEqual(['models']);
  });

  it('that are empty are for anyone to write to', async () => {
    // Proves the mode of emptyDir and its parent folders independent of umask, also in memory.
    const umask = process.umask(0o077);
    const { volumes, container } = await place
      .setUp([
        { name: 'e', emptyDir: {} },
        { name: 'm', emptyDir: { medium: 'Memory' } },
      ])
      .finally(() => process.umask(umask));
    expect([await place.modeOf(), await place.modeOf('e'), await place.modeOf('m')]).toEqual([
      0o755, 0o777, 0o777,
    ]);
    expect(await volumes.mounts(container)).toEqual([
      { path: '/e', source: join(place.folder, 'volumes/e'), readOnly: false },
      { path: '/m', source: join(place.folder, 'volumes/m'), readOnly: false },
    ]);
  });

  it.runIf(isRoot)('belong to the group of the pod', async () => {
    // Proves fsGroup on an emptyDir.
    await place.setUp([{ name: 'e', emptyDir: {} }], { securityContext: { fsGroup: 4321 } });
    const stats = await stat(join(place.folder, 'volumes/e'));
    expect([stats.gid, stats.mode & 0o7777]).toEqual([4321, 0o2777]);
  });
});
