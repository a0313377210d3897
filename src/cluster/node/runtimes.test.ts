/** Proves that pods behave alike as processes and as containers, on one node. */
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isRelease } from '../../../test/support/tier.ts';
import type { Pod } from '../../api/generated/types.ts';
import { Client } from '../../client/client.ts';
import { pods, runtimeClasses, secrets, services } from '../../client/resources.ts';
import { mountsBelow } from '../../node/machine/folder-care.ts';
import { problem as networkProblem, serviceRange } from '../../node/network/netns.fixture.ts';
import { TestContainerd } from '../../node/runtime/cri/containerd.fixture.ts';
import { TestDocker } from '../../node/runtime/docker/docker.fixture.ts';
import { testImage, tryEngine } from '../../node/runtime/engine/engine.fixture.ts';
import { registryProblem, TestRegistry } from '../../node/runtime/engine/registry.fixture.ts';
import type { Cluster } from '../cluster.ts';
import { start } from '../start.ts';
import { containerBehaviours } from './container-behaviours.suite.ts';
import { collectsImages } from './image-garbage.suite.ts';
import { podBehaviours } from './pod-behaviours.suite.ts';
import { first, PodBench, ready, sh } from './pod-bench.fixture.ts';
import { criLimits, dockerLimits, podmanLimits, processLimits } from './runtime-limits.suite.ts';

const nodeName = 'bench';
const docker = await tryEngine('docker', () => TestDocker.start(), networkProblem);
const cri = await tryEngine('containerd', () => TestContainerd.start(), networkProblem);
const engines = { docker, cri } as const;
type EngineName = keyof typeof engines;
/** Tests of one engine. */
const describeEngine = (name: EngineName, text: string, tests: () => void): void => {
  describe.skipIf(engines[name].problem)(`${text}${engines[name].note}`, tests);
};
const present = (Object.keys(engines) as EngineName[]).filter((name) => engines[name].engine);
const noEngine = networkProblem ?? (present.length ? undefined : 'there is no engine');

let folder = '';
let cluster: Cluster | undefined;
const errors: Error[] = [];

const benchOf = (runtime: string): PodBench => {
  const bench = new PodBench(cluster!, runtime, join(folder, 'host'), nodeName);
  bench.killSandbox = (uid) => engines[runtime as EngineName].engine!.killSandbox(uid);
  return bench;
};

beforeAll(async () => {
  if (noEngine) return;
  folder = await mkdtemp(join(tmpdir(), 'wherry-runtimes-'));
  await mkdir(join(folder, 'host'));
  await writeFile(join(folder, 'host/file'), 'of the machine\n');
  cluster = await start({
    store: 'memory',
    serviceClusterIPRange: serviceRange,
    allowPrivileged: true,
    node: {
      name: nodeName,
      podNetwork: 'netns',
      folder: join(folder, 'node'),
      dockerSocket: docker.engine?.socket ?? 'off',
      criSocket: cri.engine?.socket ?? 'off',
    },
    onError: (error) => errors.push(error),
  });
  await cluster.nodesReady;
});

afterAll(async () => {
  await cluster?.close();
  await Promise.all([docker.engine?.close(), cri.engine?.close()]);
  // Only after a failure: volumes in memory are unmounted with their pods.
  for (const { point } of folder ? await mountsBelow(folder) : []) execFileSync('umount', ['-l', point]);
  if (folder) await rm(folder, { recursive: true, force: true });
});

const runAll = (
  runtime: string,
  all: Readonly<Record<string, (bench: PodBench) => Promise<void>>>,
  limits: Readonly<Partial<Record<string, string>>>,
): void => {
  const possible = Object.keys(all).filter((name) => !limits[name]);
  it.concurrent.each(possible)('%s', (name) => all[name]!(benchOf(runtime)));
  if (possible.length === Object.keys(all).length) return;
  describe('has no counterpart of', () => {
    it.skipIf(true).each(Object.entries(limits))('%s: %s', () => undefined);
  });
};

const ofContainers: typeof podBehaviours = { ...podBehaviours, ...containerBehaviours };

describe.skipIf(noEngine)('a pod of processes', () => runAll('process', ofContainers, processLimits));

/**
 * With `npm test` every behaviour has a pod of processes or of containerd, and engines run those that ask something of the
 * engine; before a release each runs all.
 */
const inDocker = [
  'runs a command with variables, and shows its output, exit code and termination message',
  'mounts volumes of every kind at their paths, with their owner and read-only',
  'answers at its ports, from the server and from other pods',
  'runs the command of the image, with its variables, folder and files',
  'starts again when its sandbox has died',
];
/** The node does these alike for all runtimes. */
const notInContainerd = [
  'runs no pod that wants users or a system of its own',
  'uses the end of the log as the termination message where the pod says so',
  'probes by command, HTTP and TCP',
  'is probed and proxied at its address, where a server on its loopback address does not answer',
  'runs hooks after the start and before the stop',
  'is asked for its health by gRPC',
  'starts all containers of a pod at the first try, however many there are',
  'runs init containers in order, then a sidecar beside the containers',
  'restarts a container, counts it, and keeps the log before',
  'has its own host name, address and names',
  'is killed when it uses too much memory',
  'answers at a port of the machine',
  'lets an ephemeral container join',
  'reads the last lines of a log, with times, and follows it',
  'runs as the user and with the groups that the pod names',
  'says that its program cannot be started',
  // `container-rights.test.ts` and `engine-log-file.test.ts` hold what is special about these.
  'has all rights where the pod says so',
  'keeps a long log in several files, and reads it as one',
  // Docker does these, through the same node.
  'answers at its ports, from the server and from other pods',
  'runs the command of the image, with its variables, folder and files',
  // `container-rights.test.ts` again.
  'limits rights: capabilities, a read-only root, no new privileges, users of the image',
  // As an ephemeral container that sees the processes of another.
  'sees only its own processes, or those of the pod',
];
const someOf = (isIn: (name: string) => boolean): typeof podBehaviours =>
  isRelease ? ofContainers : Object.fromEntries(Object.entries(ofContainers).filter(([name]) => isIn(name)));

describeEngine('docker', 'a pod in Docker', () =>
  runAll(
    'docker',
    someOf((name) => inDocker.includes(name)),
    docker.engine?.isPodman ? podmanLimits : dockerLimits,
  ),
);

describeEngine('cri', 'a pod in containerd', () => {
  runAll(
    'cri',
    someOf((name) => !notInContainerd.includes(name)),
    criLimits(cri.engine?.features),
  );

  it.skipIf(cri.engine?.features?.imageMounts /* The engine has them: the behaviours above mount one. */)(
    'that mounts an image as a volume waits, and an event says which engines can',
    async () => {
      const bench = benchOf('cri');
      await bench.create('imagerefused', {
        volumes: [{ name: 'i', image: { reference: testImage } }],
        containers: [sh('sleep 3600', { volumeMounts: [{ name: 'i', mountPath: '/files' }] })],
      });
      const { type, message } = await bench.event('imagerefused', 'volumes of type image');
      expect(type).toBe('Warning');
      expect(message).toMatch(
        /volumes of type image are not supported by containerd \S+: containerd has them from 2\.1 on, CRI-O from 1\.31 on/,
      );
      await bench.remove('imagerefused');
    },
  );
});

const pullProblem = noEngine ?? registryProblem;

describe.skipIf(pullProblem)(
  `an image of a registry${pullProblem ? ` (left out: ${pullProblem})` : ''}`,
  () => {
    let registry: TestRegistry;
    let digest = '';
    const waiting = (pod: Pod) => first(pod).state?.waiting?.reason;
    const secret = 'pull';

    beforeAll(async () => {
      registry = await TestRegistry.start();
      digest = await registry.push('team/app:1');
      await registry.push('team/garbage:1', { other: 'content' });
      await benchOf('').client.create(secrets, 'default', {
        metadata: { name: secret },
        type: 'kubernetes.io/dockerconfigjson',
        data: registry.secretData,
      });
    });
    afterAll(() => registry?.close());

    // Docker gets credentials in the same way when it pulls the image of the next test.
    it.concurrent.each(isRelease ? present : present.slice(-1))(
      'is pulled with the secret of the pod, by tag and by digest, and used by such pods only, in %s',
      async (runtime) => {
        const bench = benchOf(runtime);
        const image = `${registry.host}/team/app:1`;
        const imagePullSecrets = [{ name: secret }];
        const container = (name: string) => [sh('sleep 3600', { image: name })];
        await bench.create('refused', { containers: container(image) });
        await bench.until('refused', (pod) => waiting(pod) === 'ImagePullBackOff');
        await bench.event('refused', `Failed to pull image "${image}"`);
        await bench.event('refused', `Back-off pulling image "${image}"`);
        await bench.create('pulled', { imagePullSecrets, containers: container(image) });
        const pulled = await bench.until('pulled', ready);
        expect(first(pulled).imageID).toBe(`${registry.host}/team/app@${digest}`);
        await bench.event('pulled', `Pulling image "${image}"`);
        await bench.event('pulled', `Successfully pulled image "${image}" in`);
        // It is there now, and still not for a pod without the secret.
        await bench.create('stranger', { containers: container(image) });
        await bench.until('stranger', (pod) =>
          ['ErrImagePull', 'ImagePullBackOff'].includes(waiting(pod) ?? ''),
        );
        await bench.create('same', { imagePullSecrets, containers: container(image) });
        await bench.until('same', ready);
        await bench.event('same', 'already present on machine');
        await bench.create('digest', {
          imagePullSecrets,
          containers: container(`${registry.host}/team/app@${digest}`),
        });
        await bench.until('digest', ready);
        for (const name of ['refused', 'pulled', 'stranger', 'same', 'digest']) await bench.remove(name);
      },
    );

    it.each(isRelease ? present : present.slice(-1))(
      'is removed from a full disk when nobody uses it, in %s',
      async (runtime) => {
        await collectsImages(
          engines[runtime].engine!,
          `${registry.host}/team/garbage:1`,
          registry.secretData,
        );
      },
    );

    it.concurrent.each(present)('that does not exist is told apart, in %s', async (runtime) => {
      const bench = benchOf(runtime);
      const image = `${registry.host}/team/none:9`;
      await bench.create('unknown', {
        imagePullSecrets: [{ name: secret }],
        containers: [sh('sleep 3600', { image })],
      });
      const pod = await bench.until('unknown', (one) => waiting(one) === 'ErrImagePull');
      const isPodman = runtime === 'docker' && docker.engine!.isPodman;
      const words = isPodman ? 'manifest unknown' : 'not found';
      expect(first(pod).state?.waiting?.message).toContain(words);
      await bench.remove('unknown');
    });
  },
);

describe.skipIf(noEngine)('one node with several runtimes', () => {
  it('has a class for each of them', async () => {
    const client = new Client(cluster!.url);
    const { items } = await client.list(runtimeClasses);
    expect(items.map(({ metadata, handler }) => `${metadata.name} ${handler}`).sort()).toEqual([
      ...present.map((name) => `${name} ${name}`).sort(),
      'process process',
      'simulated simulated',
    ]);
    client.close();
  });

  it('runs an image as a container, and a command of the machine as a process', async () => {
    const bench = benchOf('');
    const containers = (image: string) => [sh('sleep 3600', { image })];
    await bench.create('contained', { containers: containers(testImage) });
    await bench.create('plain', { containers: containers('host') });
    const id = async (name: string) =>
      (await bench.until(name, ready)).status!.containerStatuses![0]!.containerID;
    // Docker comes first.
    expect(await id('contained')).toMatch(new RegExp(`^${present[0]}:`));
    expect(await id('plain')).toMatch(/^process:/);
    await Promise.all([bench.remove('contained'), bench.remove('plain')]);
  });

  it('lets containers and processes reach each other by services', async () => {
    const server = (runtime: string) => async () => {
      const bench = benchOf(runtime);
      const script = `mkdir -p /v/www; echo ${runtime} > /v/www/index.html; exec busybox httpd -f -p 18082 -h /v/www`;
      await bench.create(
        'web',
        {
          volumes: [{ name: 'v', emptyDir: {} }],
          containers: [sh(script, { volumeMounts: [{ name: 'v', mountPath: '/v' }] })],
        },
        { labels: { app: bench.name('web') } },
      );
      await bench.client.create(services, 'default', {
        metadata: { name: bench.name('web') },
        spec: { selector: { app: bench.name('web') }, ports: [{ port: 80, targetPort: 18082 }] },
      });
      await bench.until('web', ready);
    };
    const all = ['process', ...present];
    await Promise.all(all.map((runtime) => server(runtime)()));
    const ask = async (from: string, to: string) =>
      (
        await benchOf(from).exec('web', [
          'busybox',
          'wget',
          '-qO-',
          `http://web-${to}.default.svc.cluster.local/`,
        ])
      ).stdout;
    for (const from of all)
      for (const to of all)
        if (from !== to) await expect.poll(() => ask(from, to), { timeout: 60_000 }).toBe(`${to}\n`);
    await Promise.all(all.map((runtime) => benchOf(runtime).remove('web')));
  });

  it('leaves nothing in the engine when its pods are gone', async () => {
    const bench = benchOf('');
    const { items } = await bench.client.list(pods, { namespace: 'default' });
    await Promise.all(
      items.map(({ metadata }) =>
        bench.client
          .delete(pods, 'default', metadata.name!, { gracePeriodSeconds: 0 })
          .catch(() => undefined),
      ),
    );
    for (const name of present) {
      await expect.poll(() => engines[name].engine!.containers(), { timeout: 60_000 }).toEqual([]);
      await expect.poll(() => readdir(join(folder, 'node', name, 'pods')), { timeout: 60_000 }).toEqual([]);
    }
  });

  it('has reported no error', () => {
    expect(errors.map(({ message }) => message)).toEqual([]);
  });
});
