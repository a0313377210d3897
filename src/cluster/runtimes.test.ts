/** Proves that pods behave alike as processes and as containers, on one node. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client } from '../client/client.ts';
import { runtimeClasses, services } from '../client/resources.ts';
import { problem as networkProblem, serviceRange } from '../node/network/netns.case.ts';
import { engineProblem, TestDocker, testImage } from '../node/runtime/engine/engine.case.ts';
import { containerBehaviours } from './containerbehaviours.case.ts';
import { podBehaviours } from './podbehaviours.case.ts';
import { PodBench, ready, sh } from './podbench.case.ts';
import { start } from './start.ts';
import type { Cluster } from './startoptions.ts';

const nodeName = 'bench';
const dockerProblem = networkProblem ?? engineProblem('dockerd');
const note = dockerProblem === undefined ? '' : ` (left out: ${dockerProblem})`;

let folder = '';
let docker: TestDocker | undefined;
let cluster: Cluster | undefined;
const errors: Error[] = [];

const benchOf = (runtime: string): PodBench => {
  const bench = new PodBench(cluster!, runtime, join(folder, 'host'), nodeName);
  bench.killSandbox = (uid) => docker!.killSandbox(uid);
  return bench;
};

beforeAll(async () => {
  if (dockerProblem) return;
  folder = await mkdtemp(join(tmpdir(), 'wherry-runtimes-'));
  docker = await TestDocker.start();
  const { mkdir } = await import('node:fs/promises');
  await mkdir(join(folder, 'host'));
  await writeFile(join(folder, 'host/file'), 'of the machine\n');
  cluster = await start({
    store: 'memory',
    serviceClusterIPRange: serviceRange,
    node: {
      name: nodeName,
      podNetwork: 'netns',
      folder: join(folder, 'node'),
      dockerSocket: docker.socket,
    },
    onError: (error) => errors.push(error),
  });
  await cluster.nodesReady;
});

afterAll(async () => {
  await cluster?.close();
  await docker?.close();
  if (folder) await rm(folder, { recursive: true, force: true });
});

describe.skipIf(dockerProblem)(`a pod of processes${note}`, () => {
  it.each(Object.keys(podBehaviours))('%s', (name) => podBehaviours[name]!(benchOf('process')));
});

describe.skipIf(dockerProblem)(`a pod in Docker${note}`, () => {
  const all = { ...podBehaviours, ...containerBehaviours };
  it.each(Object.keys(all))('%s', (name) => all[name]!(benchOf('docker')));
});

describe.skipIf(dockerProblem)(`one node with several runtimes${note}`, () => {
  it('has a class for each of them', async () => {
    const client = new Client(cluster!.url);
    const { items } = await client.list(runtimeClasses);
    expect(items.map(({ metadata, handler }) => `${metadata.name} ${handler}`).sort()).toEqual([
      'docker docker',
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
    expect(await id('contained')).toMatch(/^docker:/);
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
    await Promise.all([server('process')(), server('docker')()]);
    const ask = async (from: string, to: string) =>
      (
        await benchOf(from).exec('web', [
          'busybox',
          'wget',
          '-qO-',
          `http://web-${to}.default.svc.cluster.local/`,
        ])
      ).stdout;
    await expect.poll(() => ask('docker', 'process')).toBe('process\n');
    await expect.poll(() => ask('process', 'docker')).toBe('docker\n');
    await Promise.all([benchOf('process').remove('web'), benchOf('docker').remove('web')]);
  });

  it('has reported no error', () => {
    expect(errors.map(({ message }) => message)).toEqual([]);
  });
});
