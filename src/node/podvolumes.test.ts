/** Proves what containers find in their volumes, from objects and tokens of a running cluster, now and after changes. */
import {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeJwt } from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Container, Node, Pod, PodSpec, Volume, VolumeMount } from '../api/generated/types.ts';
import { Client } from '../client/client.ts';
import { claims, configMaps, volumes as persistentVolumes, pods, secrets } from '../client/resources.ts';
import { type Cluster, start } from '../cluster/index.ts';
import { ConfigObjects } from './configobjects.ts';
import { ConfigError } from './podenvironment.ts';
import { MountError, PodVolumes } from './podvolumes.ts';

const node: Node = { metadata: { name: 'n1' }, status: { allocatable: { cpu: '4', memory: '8Gi' } } };
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const isRoot = process.getuid?.() === 0;

let cluster: Cluster;
let client: Client;
let objects: ConfigObjects;
let folder: string;
let clockMs: number;
let errors: Error[];
let serial = 0;
const opened: PodVolumes[] = [];

beforeAll(async () => {
  // No controllers: nothing else is to bind claims or delete pods here.
  cluster = await start({ store: 'memory', controllers: false });
  client = new Client(cluster.url);
  await client.create(configMaps, 'default', {
    metadata: { name: 'settings' },
    data: { color: 'blue', 'app.conf': 'x=1\n' },
    binaryData: { blob: Buffer.from([0, 255, 1]).toString('base64') },
  });
  await client.create(secrets, 'default', {
    metadata: { name: 'login' },
    data: { user: base64('jo'), password: base64('p') },
  });
});

afterAll(async () => {
  client.close();
  await cluster.close();
});

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'wherry-volumes-')));
  // No answer is kept, so that a refresh sees the change made just before.
  objects = new ConfigObjects(client, { ageMaxMs: 0 });
  clockMs = Date.now();
  errors = [];
});

afterEach(async () => {
  for (const volumes of opened.splice(0)) await volumes.close();
  objects.close();
  await rm(folder, { recursive: true, force: true });
});

/** A pod in the cluster with a container that mounts every volume at its name. */
async function createPod(volumes: Volume[], spec: PodSpec = {}, container: Container = {}): Promise<Pod> {
  const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
  return client.create(pods, 'default', {
    metadata: { name: `pod-${(serial += 1)}`, labels: { app: 'web' } },
    spec: {
      automountServiceAccountToken: false,
      nodeName: 'n1',
      ...spec,
      volumes,
      containers: [{ name: 'c', image: 'i', volumeMounts, ...container }],
    },
  });
}

function volumesOf(pod: Pod): PodVolumes {
  const volumes = new PodVolumes({
    pod,
    folder,
    client,
    objects,
    node,
    podIP: () => '10.1.0.5',
    hostIP: '192.168.0.9',
    now: () => clockMs,
    onError: (error) => errors.push(error),
  });
  opened.push(volumes);
  return volumes;
}

async function setUp(list: Volume[], spec?: PodSpec, container?: Container) {
  const pod = await createPod(list, spec, container);
  const volumes = volumesOf(pod);
  await volumes.setUp();
  return { pod, volumes, container: pod.spec!.containers![0]! };
}

const failure = async (list: Volume[]): Promise<MountError> => {
  const error = await setUp(list).then(
    () => new Error('it was set up'),
    (thrown: Error) => thrown,
  );
  expect(error).toBeInstanceOf(MountError);
  return error as MountError;
};

const file = (...names: string[]): Promise<string> => readFile(join(folder, 'volumes', ...names), 'utf8');
const visible = async (name: string): Promise<string[]> =>
  (await readdir(join(folder, 'volumes', name))).filter((entry) => !entry.startsWith('..')).sort();
const modeOf = async (...names: string[]): Promise<number> =>
  (await stat(join(folder, 'volumes', ...names))).mode & 0o7777;

describe('volumes of objects', () => {
  it('show all keys, or those asked for', async () => {
    // Proves secrets and config maps with binary data, items, folders, modes and defaults.
    await setUp([
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
    expect(await visible('all')).toEqual(['app.conf', 'blob', 'color']);
    expect(await file('all', 'app.conf')).toBe('x=1\n');
    expect([...(await readFile(join(folder, 'volumes/all/blob')))]).toEqual([0, 255, 1]);
    expect(await modeOf('all', 'color')).toBe(0o644);
    expect(await visible('some')).toEqual(['pw', 'who']);
    expect(await file('some', 'who/is/it')).toBe('jo');
    expect([await modeOf('some', 'who/is/it'), await modeOf('some', 'pw')]).toEqual([0o400, 0o440]);
  });

  it('show the pod', async () => {
    // Proves files of the downward API.
    await setUp([
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
    expect(await file('me', 'labels')).toBe('app="web"');
    expect(await file('me', 'cpu')).toBe('4000');
  });

  it('may be optional', async () => {
    // Proves that what is optional is absent, whole objects and keys.
    await setUp([
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
    expect(await visible('a')).toEqual([]);
    expect(await visible('b')).toEqual(['y']);
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
    // Proves each failure in Kubernetes' words, with the name of the volume.
    const error = await failure([
      { name: 'good', emptyDir: {} },
      { name: 'v', ...volume },
    ]);
    expect([error.volume, error.message]).toEqual(['v', message]);
    // The others are set up all the same.
    expect(await visible('good')).toEqual([]);
  });

  it('can be set up again when what was missing is there', async () => {
    // Proves that setting up is repeatable, and keeps what is there.
    const pod = await createPod([
      { name: 'e', emptyDir: {} },
      { name: 'v', secret: { secretName: 'late' } },
    ]);
    const volumes = volumesOf(pod);
    await expect(volumes.setUp()).rejects.toThrow('secret "late" not found');
    await writeFile(join(folder, 'volumes/e/mine'), 'kept');
    await client.create(secrets, 'default', { metadata: { name: 'late' }, data: { k: base64('now') } });
    await volumes.setUp();
    expect([await file('v', 'k'), await file('e', 'mine')]).toEqual(['now', 'kept']);
    // An agent that starts again finds the place as it was.
    await volumesOf(pod).setUp();
    expect([await file('v', 'k'), await file('e', 'mine')]).toEqual(['now', 'kept']);
  });

  it('are not set up when nobody mounts them', async () => {
    // Proves that an unused volume is in nobody's way.
    await setUp([{ name: 'v', secret: { secretName: 'none' } }], {}, { volumeMounts: [] });
    expect(await readdir(join(folder, 'volumes'))).toEqual([]);
  });

  it('that the server would refuse do no harm', async () => {
    // Proves that hostile names and paths stay inside, and that unknown sources are refused, wherever they come from.
    const pod = await createPod([{ name: 'v', emptyDir: {} }]);
    const bad = (volume: Volume): PodVolumes => {
      const volumeMounts = [{ name: volume.name, mountPath: '/v' }];
      return volumesOf({ ...pod, spec: { volumes: [volume], containers: [{ name: 'c', volumeMounts }] } });
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
    expect(await readdir(folder)).toEqual(['volumes']);
  });
});

describe('changes', () => {
  it('are shown by a refresh, all at once', async () => {
    // Proves following of objects and labels, one move for each change and none without.
    await client.create(configMaps, 'default', { metadata: { name: 'moving' }, data: { a: '1', b: '1' } });
    const { pod, volumes } = await setUp([
      { name: 'v', configMap: { name: 'moving' } },
      {
        name: 'me',
        downwardAPI: { items: [{ path: 'l', fieldRef: { fieldPath: "metadata.labels['app']" } }] },
      },
    ]);
    const state = () => readlink(join(folder, 'volumes/v/..data'));
    const first = await state();
    await volumes.refresh();
    expect(await state()).toBe(first);
    await client.patch(configMaps, 'default', 'moving', { data: { a: '2', b: null, c: '2' } });
    await client.patch(pods, 'default', pod.metadata.name!, { metadata: { labels: { app: 'shop' } } });
    await volumes.refresh();
    expect(await state()).not.toBe(first);
    expect(await visible('v')).toEqual(['a', 'c']);
    expect([await file('v', 'a'), await file('me', 'l')]).toEqual(['2', 'shop']);
    expect(errors).toEqual([]);
  });

  it('that cannot be shown leave what is there', async () => {
    // Proves that a secret that is deleted stays in the volume, and that this is told.
    await client.create(secrets, 'default', { metadata: { name: 'going' }, data: { k: base64('v') } });
    const { volumes } = await setUp([{ name: 'v', secret: { secretName: 'going' } }]);
    await client.delete(secrets, 'default', 'going');
    await volumes.refresh();
    expect(await file('v', 'k')).toBe('v');
    expect(errors.map((error) => [(error as MountError).volume, error.message])).toEqual([
      ['v', 'secret "going" not found'],
    ]);
  });

  it('end with close', async () => {
    // Proves that a refresh after the end does nothing.
    await client.create(configMaps, 'default', { metadata: { name: 'last' }, data: { a: '1' } });
    const { volumes } = await setUp([{ name: 'v', configMap: { name: 'last' } }]);
    await client.patch(configMaps, 'default', 'last', { data: { a: '2' } });
    const late = volumes.refresh();
    await volumes.close();
    await late;
    await volumes.refresh();
    await volumes.close();
    expect(await file('v', 'a')).toBe('1');
  });
});

describe('tokens', () => {
  const minute = 60_000;

  it('of the standard volume are there without a certificate', async () => {
    // Proves the volume every pod gets, in a cluster that has no CA; and the certificate once there is one.
    const pod = await client.create(pods, 'default', {
      metadata: { name: 'standard' },
      spec: { nodeName: 'n1', containers: [{ name: 'c', image: 'i' }] },
    });
    const volumes = volumesOf(pod);
    await volumes.setUp();
    const [mount] = await volumes.mounts(pod.spec!.containers![0]!);
    expect(mount).toMatchObject({ path: '/var/run/secrets/kubernetes.io/serviceaccount', readOnly: true });
    const { name } = pod.spec!.volumes![0]!;
    expect(await visible(name!)).toEqual(['namespace', 'token']);
    expect(await file(name!, 'namespace')).toBe('default');
    const claimsOf = decodeJwt(await file(name!, 'token'));
    expect(claimsOf.sub).toBe('system:serviceaccount:default:default');
    expect(claimsOf['kubernetes.io']).toMatchObject({ pod: { name: 'standard', uid: pod.metadata.uid } });
    expect(claimsOf.exp! - claimsOf.iat!).toBe(3607);
    await client.create(configMaps, 'default', {
      metadata: { name: 'kube-root-ca.crt' },
      data: { 'ca.crt': 'PEM' },
    });
    await volumes.refresh();
    expect(await file(name!, 'ca.crt')).toBe('PEM');
    await client.delete(configMaps, 'default', 'kube-root-ca.crt');
  });

  const tokenVolume = (audience: string | undefined, expirationSeconds: number): Volume => ({
    name: 't',
    projected: { sources: [{ serviceAccountToken: { path: 'token', audience, expirationSeconds } }] },
  });

  it('are for their audience, and are renewed at four fifths of their life', async () => {
    // Proves audience and life of a token, and the moment of its renewal.
    const { volumes } = await setUp([tokenVolume('vault', 1000)]);
    const first = await file('t', 'token');
    expect(decodeJwt(first).aud).toEqual(['vault']);
    clockMs += 790_000;
    await volumes.refresh();
    expect(await file('t', 'token')).toBe(first);
    clockMs += 11_000;
    await volumes.refresh();
    const second = await file('t', 'token');
    expect(second).not.toBe(first);
    expect(decodeJwt(second).aud).toEqual(['vault']);
  });

  it('are renewed every day, and when the clock is set back', async () => {
    // Proves the two other reasons.
    const { volumes } = await setUp([tokenVolume(undefined, 30 * 24 * 3600)]);
    const first = await file('t', 'token');
    clockMs += 24 * 60 * minute - minute;
    await volumes.refresh();
    expect(await file('t', 'token')).toBe(first);
    clockMs += 2 * minute;
    await volumes.refresh();
    const second = await file('t', 'token');
    expect(second).not.toBe(first);
    clockMs -= 3 * 24 * 60 * minute;
    await volumes.refresh();
    expect(await file('t', 'token')).not.toBe(second);
  });

  it('stay in use while they are good, when there is no newer one', async () => {
    // Proves that a pod whose token cannot be renewed keeps it until its end, and that both are told.
    const { pod, volumes } = await setUp([tokenVolume(undefined, 600)]);
    const first = await file('t', 'token');
    await client.delete(pods, 'default', pod.metadata.name!, { gracePeriodSeconds: 0 });
    clockMs += 500_000;
    await volumes.refresh();
    expect(errors.map(({ name }) => name)).toEqual(['StatusError']);
    clockMs += 200_000;
    await volumes.refresh();
    expect(errors[1]!.message).toMatch(/^token expired and refresh failed: /);
    expect(await file('t', 'token')).toBe(first);
  });

  it('need their account', async () => {
    // Proves the failure of a pod whose account is gone.
    const pod = await createPod([tokenVolume(undefined, 600)]);
    const stranger: Pod = { ...pod, spec: { ...pod.spec, serviceAccountName: 'nobody' } };
    await expect(volumesOf(stranger).setUp()).rejects.toThrow(
      'failed to fetch token: serviceaccounts "nobody" not found',
    );
  });

  it.runIf(isRoot)('are for the user of the pod alone', async () => {
    // Proves owner and mode, with a user of all containers and with a group.
    await setUp([tokenVolume(undefined, 600)], { securityContext: { runAsUser: 1234 } });
    const own = await stat(join(folder, 'volumes/t/token'));
    expect([own.uid, own.mode & 0o777]).toEqual([1234, 0o600]);
    await rm(join(folder, 'volumes'), { recursive: true });
    await setUp([tokenVolume(undefined, 600)], { securityContext: { fsGroup: 4321 } });
    const shared = await stat(join(folder, 'volumes/t/token'));
    expect([shared.uid, shared.gid, shared.mode & 0o777]).toEqual([0, 4321, 0o640]);
  });
});

describe('folders', () => {
  it('that are empty are for anyone to write to', async () => {
    // Proves the mode of emptyDir and of the way to it in spite of umask, also in memory.
    const umask = process.umask(0o077);
    const { volumes, container } = await setUp([
      { name: 'e', emptyDir: {} },
      { name: 'm', emptyDir: { medium: 'Memory' } },
    ]).finally(() => process.umask(umask));
    expect([await modeOf(), await modeOf('e'), await modeOf('m')]).toEqual([0o755, 0o777, 0o777]);
    expect(await volumes.mounts(container)).toEqual([
      { path: '/e', source: join(folder, 'volumes/e'), readOnly: false },
      { path: '/m', source: join(folder, 'volumes/m'), readOnly: false },
    ]);
  });

  it.runIf(isRoot)('belong to the group of the pod', async () => {
    // Proves fsGroup on an empty folder.
    await setUp([{ name: 'e', emptyDir: {} }], { securityContext: { fsGroup: 4321 } });
    const stats = await stat(join(folder, 'volumes/e'));
    expect([stats.gid, stats.mode & 0o7777]).toEqual([4321, 0o2777]);
  });

  describe('of claims', () => {
    const claimed = (name: string, readOnly = false): Volume => ({
      name: 'd',
      persistentVolumeClaim: { claimName: name, readOnly },
    });

    /** A claim and its volume, bound to each other as the controller does it. */
    async function bind(name: string, source: object, bound = true): Promise<void> {
      const accessModes = ['ReadWriteOnce'];
      const claim = await client.create(claims, 'default', {
        metadata: { name },
        spec: { accessModes, resources: { requests: { storage: '1Gi' } }, volumeName: `pv-${name}` },
      });
      await client.create(persistentVolumes, undefined, {
        metadata: { name: `pv-${name}` },
        spec: {
          accessModes,
          capacity: { storage: '1Gi' },
          claimRef: { kind: 'PersistentVolumeClaim', namespace: 'default', name, uid: claim.metadata.uid },
          ...source,
        },
      });
      if (bound)
        await client.patch(claims, 'default', name, { status: { phase: 'Bound' } }, 'merge', 'status');
    }

    it('are those of the bound volume', async () => {
      // Proves claims on host paths and local folders, and read-only ones.
      await mkdir(join(folder, 'disk'));
      const nodeSelectorTerms = [{ matchExpressions: [{ key: 'x', operator: 'Exists' }] }];
      await bind('host', { hostPath: { path: join(folder, 'disk') } });
      await bind('local', {
        local: { path: join(folder, 'disk') },
        nodeAffinity: { required: { nodeSelectorTerms } },
      });
      for (const name of ['host', 'local']) {
        const { volumes, container } = await setUp([claimed(name, name === 'local')]);
        expect(await volumes.mounts(container)).toEqual([
          { path: '/d', source: join(folder, 'disk'), readOnly: name === 'local' },
        ]);
      }
    });

    it('fail without claim, volume, binding or support', async () => {
      // Proves each way a claim cannot be used.
      await bind('unbound', { hostPath: { path: '/tmp' } }, false);
      await bind('remote', { nfs: { server: 's', path: '/p' } });
      await bind('gone', { hostPath: { path: join(folder, 'none'), type: 'Directory' } });
      await bind('stolen', { hostPath: { path: '/tmp' } });
      await client.patch(persistentVolumes, undefined, 'pv-stolen', { spec: { claimRef: { uid: 'other' } } });
      const message = async (name: string) => (await failure([claimed(name)])).message;
      expect(await message('none')).toBe('persistentvolumeclaim "none" not found');
      expect(await message('unbound')).toBe('error processing PVC default/unbound: PVC is not bound');
      expect(await message('remote')).toBe('the type of PV pv-remote is not supported by this node');
      expect(await message('gone')).toMatch(/^hostPath type check failed: /);
      expect(await message('stolen')).toBe(
        'error processing PVC default/stolen: PV pv-stolen is bound to another claim',
      );
    });
  });
});

describe('mounts', () => {
  const mounting = (...volumeMounts: VolumeMount[]): Container => ({ name: 'c', volumeMounts });

  it('are read-only where they show objects or say so', async () => {
    // Proves paths, sources and read-only.
    const { volumes } = await setUp([
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
      { path: '/data', source: join(folder, 'volumes/e'), readOnly: false },
      { path: '/relative/path', source: join(folder, 'volumes/e'), readOnly: true },
      { path: '/s', source: join(folder, 'volumes/s'), readOnly: true },
      { path: '/n', source: '/dev/null', readOnly: false },
    ]);
  });

  it('of sub paths', async () => {
    // Proves folders made on demand, expansion of names, files of objects that stay when they change.
    await client.create(configMaps, 'default', { metadata: { name: 'sub' }, data: { file: '1' } });
    const { volumes, pod } = await setUp([
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
      join(folder, 'volumes/e/x/y'),
      join(folder, `volumes/e/logs/${pod.metadata.name}`),
    ]);
    expect(await modeOf('e', 'x/y')).toBe(0o777);
    await client.patch(configMaps, 'default', 'sub', { data: { file: '2' } });
    await volumes.refresh();
    expect(await readFile(sources[2]!, 'utf8')).toBe('2');
  });

  it('of sub paths that lead away are refused', async () => {
    // Proves that neither text, nor variables, nor links lead out of a volume, and that errors tell nothing of the node.
    const { volumes } = await setUp([
      { name: 'e', emptyDir: {} },
      { name: 's', secret: { secretName: 'login' } },
    ]);
    await symlink(folder, join(folder, 'volumes/e/link'));
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
    expect(await readdir(folder)).toEqual(['volumes']);
  });

  it('of devices are not there', async () => {
    // Proves that a block device is refused, not forgotten.
    const { volumes } = await setUp([]);
    const failed = volumes.mounts({ name: 'c', volumeDevices: [{ name: 'd', devicePath: '/dev/x' }] });
    await expect(failed).rejects.toThrow(new MountError('d', 'block volumes are not supported by this node'));
  });

  it('have a hosts file for pods with aliases', async () => {
    // Proves its content, that a link in its place is not written through, and that pods may bring their own.
    const hostAliases = [{ ip: '10.9.9.9', hostnames: ['db.local', 'db'] }];
    const { volumes, container, pod } = await setUp([], { hostAliases, hostname: 'web', subdomain: 'shop' });
    await symlink(join(folder, 'target'), join(folder, 'etc-hosts'));
    const path = join(folder, 'etc-hosts');
    expect(await volumes.mounts(container)).toEqual([{ path: '/etc/hosts', source: path, readOnly: false }]);
    const lines = (await readFile(path, 'utf8')).split('\n');
    expect(lines).toContain('# Kubernetes-managed hosts file.');
    expect(lines).toContain('127.0.0.1\tlocalhost');
    expect(lines).toContain('10.1.0.5\tweb.shop.default.svc.cluster.local\tweb');
    expect(lines).toContain('10.9.9.9\tdb.local\tdb');
    expect((await readdir(folder)).sort()).toEqual(['etc-hosts', 'volumes']);
    const own = await setUp(
      [{ name: 'h', emptyDir: {} }],
      { hostAliases },
      { volumeMounts: [{ name: 'h', mountPath: '/etc/hosts' }] },
    );
    expect(await own.volumes.mounts(own.container)).toHaveLength(1);
    const none: Pod = { ...pod, spec: { ...pod.spec, hostAliases: [] } };
    expect(await volumesOf(none).mounts(container)).toEqual([]);
  });
});
