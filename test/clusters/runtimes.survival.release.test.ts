/**
 * Proves that containers outlive the agent: however often it is killed, the next one goes on with the same containers;
 * on the node of the server, and on one that has joined.
 * `WHERRY_SURVIVAL=PODS,ROUNDS` sets how many pods and rounds there are; before a release there are more than otherwise.
 */
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { first, PodBench, ready, sh } from '../../src/cluster/node/pod-bench.fixture.ts';
import { problem as networkProblem } from '../../src/node/network/netns.fixture.ts';
import { bridgeOf } from '../../src/node/runtime/cri/cni-configuration.ts';
import { TestContainerd } from '../../src/node/runtime/cri/containerd.fixture.ts';
import { TestDocker } from '../../src/node/runtime/docker/docker.fixture.ts';
import { type TestEngine, testImage, tryEngine } from '../../src/node/runtime/engine/engine.fixture.ts';
import { Child, useChildren } from '../support/child.ts';
import { Client } from '../support/http.ts';

const children = useChildren();
const [podCount = 4, rounds = 2] = (process.env.WHERRY_SURVIVAL ?? '4,2').split(',').map(Number);
const patienceMs = 120_000;

interface PodList {
  items: {
    metadata: { name: string };
    status?: {
      podIP?: string;
      containerStatuses?: { containerID?: string; restartCount?: number; ready?: boolean }[];
    };
  }[];
}

interface NodeList {
  items: { status: { nodeInfo: { containerRuntimeVersion: string } } }[];
}

const docker = await tryEngine('docker', () => TestDocker.start(), networkProblem);
const containerd = await tryEngine('containerd', () => TestContainerd.start(), networkProblem);
afterAll(() => Promise.all([docker.engine?.close(), containerd.engine?.close()]));

describe('a killed agent', () => {
  const leaves = async (runtime: 'docker' | 'cri', engine: TestEngine) => {
    const folder = await children.folder();
    const off = runtime === 'docker' ? 'cri' : 'docker';
    const args = [`--${runtime}-socket`, engine.socket, `--${off}-socket`, 'off', '--data-dir', folder];
    const begin = async () => {
      const child = new Child(
        ['up', '--port', '0', '--secure-port', 'off', '--runtime', runtime, ...args],
        folder,
      );
      return { child, client: new Client(await child.ready()) };
    };
    const states = async (client: Client) => {
      const { items } = (await client.get('/api/v1/namespaces/default/pods')).body as PodList;
      return items.map(({ metadata, status }) => {
        const { containerID, restartCount, ready } = status?.containerStatuses?.[0] ?? {};
        return { name: metadata.name, ip: status?.podIP, containerID, restartCount, ready };
      });
    };
    const settled = (found: Awaited<ReturnType<typeof states>>) =>
      found.length === podCount && found.every(({ ready }) => ready);
    let { child, client } = await begin();
    const container = {
      name: 'c',
      image: testImage,
      imagePullPolicy: 'Never',
      readinessProbe: { exec: { command: ['true'] }, periodSeconds: 1, timeoutSeconds: 30 },
    };
    const classes = `/apis/node.k8s.io/v1/runtimeclasses/${runtime}`;
    await expect.poll(async () => (await client.get(classes)).status, { timeout: patienceMs }).toBe(200);
    // The node names the engine, by its own name, and not the runtime of processes.
    const shown = async () => {
      const { items } = (await client.get('/api/v1/nodes')).body as NodeList;
      return items[0]?.status.nodeInfo.containerRuntimeVersion ?? '';
    };
    const version = runtime === 'docker' ? /^docker:\/\/\d+\.\d+/ : /^containerd:\/\/v?\d+\.\d+/;
    await expect.poll(shown, { timeout: patienceMs }).not.toBe('');
    expect(await shown()).toMatch(version);
    for (let i = 0; i < podCount; i++) {
      const spec = { runtimeClassName: runtime, terminationGracePeriodSeconds: 1, containers: [container] };
      const made = await client.post('/api/v1/namespaces/default/pods', {
        metadata: { name: `p${i}` },
        spec,
      });
      expect(made.status, made.text).toBeLessThan(300);
    }
    await expect.poll(async () => settled(await states(client)), { timeout: patienceMs }).toBe(true);
    const before = await states(client);
    const ids = (await engine.containers()).sort();
    for (let round = 0; round < rounds; round++) {
      child.signal('SIGKILL');
      await child.exited;
      ({ child, client } = await begin());
      // A command runs in every pod: the new agent looks after it.
      await expect.poll(async () => settled(await states(client)), { timeout: patienceMs }).toBe(true);
      await expect
        .poll(async () => (await client.get(`/api/v1/namespaces/default/pods/p0/log`)).text, {
          timeout: patienceMs,
        })
        .toBe('from the image\n');
      expect(await states(client)).toEqual(before);
      expect((await engine.containers()).sort()).toEqual(ids);
    }
    // A pod that is deleted leaves nothing.
    await client.delete('/api/v1/namespaces/default/pods/p0');
    await expect
      .poll(async () => (await engine.containers()).length, { timeout: patienceMs })
      .toBe(ids.length - 2);
    const strange = await engine.makeStranger();
    const early = new Child(['cleanup', ...args], folder);
    expect(await early.exited).toEqual({ code: 1, signal: null });
    expect(early.stderr).toContain(`${folder} is in use by process ${child.pid}`);
    const everywhere = new Child(['cleanup', '--all', ...args], folder);
    expect(await everywhere.exited, everywhere.stderr).toEqual({ code: 0, signal: null });
    expect(everywhere.stdout).toBe(
      `Removed 0 containers\nLeft alone the containers of the node in ${join(folder, 'node')}, which runs\n`,
    );
    child.signal('SIGTERM');
    await child.exited;
    expect(await engine.containers()).toHaveLength(ids.length - 2 + strange.length);
    const cleanup = new Child(['cleanup', ...args], folder);
    expect(await cleanup.exited).toEqual({ code: 0, signal: null });
    expect(cleanup.stdout).toBe(`Removed ${ids.length - 2} containers\n`);
    expect(await engine.containers()).toEqual(strange);
    // The last one has removed the configuration of the network, too.
    if (runtime === 'cri') {
      const plugins = join(containerd.engine!.folder, 'cni');
      expect(await readdir(plugins)).toEqual([]);
      expect(existsSync(`/sys/class/net/${bridgeOf(plugins)}`)).toBe(false);
    }
  };
  const text = 'leaves its containers to the next one, and cleanup removes them';

  it.skipIf(docker.problem)(`${text}, in Docker${docker.note}`, () => leaves('docker', docker.engine!));

  it.skipIf(containerd.problem)(`${text}, in containerd${containerd.note}`, () =>
    leaves('cri', containerd.engine!),
  );
});

const engines = { docker: docker.engine, cri: containerd.engine };
const present = (['docker', 'cri'] as const).filter((name) => engines[name]);

describe.skipIf(!present.length)('a joined node', () => {
  it('runs containers, and goes on with them after it was killed', async () => {
    const [home, away] = [await children.folder(), await children.folder()];
    const doors = ['--port', '0', '--secure-port', '0', '--secure-host', '127.0.0.1'];
    const server = new Child(['serve', ...doors, '--controllers', '*', '--data-dir', home], home);
    const url = await server.ready();
    const joining = new Child(['token', 'create', '--data-dir', home], home);
    expect(await joining.exited, joining.stderr).toEqual({ code: 0, signal: null });
    const [, ...words] = joining.stdout.trim().split(' ');
    const sockets = Object.entries(engines).flatMap(([name, engine]) => [
      `--${name}-socket`,
      engine?.socket ?? 'off',
    ]);
    const here = ['--data-dir', away, ...sockets];
    const args = ['--node-name', 'away', '--kubelet-port', '0', ...here];
    let node = new Child([...words, ...args], away);
    const before = await Promise.all(present.map((name) => engines[name]!.containers()));
    const benches = present.map((name) => new PodBench({ url }, name, away, 'away'));
    const classes = '/apis/node.k8s.io/v1/runtimeclasses/';
    const client = new Client(url);
    const found = async () =>
      Promise.all(present.map(async (name) => (await client.get(classes + name)).status));
    await expect.poll(found, { timeout: patienceMs }).toEqual(present.map(() => 200));
    const script = 'echo begun; sleep 3600';
    const made = await Promise.all(
      benches.map(async (bench) => {
        await bench.create('p', { containers: [sh(script)] });
        return bench.until('p', ready);
      }),
    );
    const talk = async () => {
      for (const bench of benches) {
        const answers = async () => (await bench.exec('p', ['sh', '-c', 'cat; exit 5'], 'input')).stdout;
        // Until the new agent has told the server where it listens.
        await expect.poll(answers, { timeout: patienceMs }).toBe('input');
        expect(await bench.log('p')).toBe('begun\n');
      }
    };
    await talk();
    await node.kill();
    // It has a certificate now, and needs no token.
    node = new Child([...words.slice(0, 3), ...args], away);
    await talk();
    for (const [i, bench] of benches.entries()) {
      const pod = await bench.until('p', ready);
      expect(first(pod)).toMatchObject({ containerID: first(made[i]!).containerID, restartCount: 0 });
      expect(pod.status?.podIP).toBe(made[i]!.status?.podIP);
    }
    await benches[0]!.remove('p');
    const left = () => engines[present[0]!]!.containers();
    await expect.poll(left, { timeout: patienceMs }).toEqual(before[0]);
    const early = new Child(['cleanup', ...here], away);
    expect(await early.exited).toEqual({ code: 1, signal: null });
    expect(early.stderr).toContain(`${away} is in use by process ${node.pid}`);
    node.signal('SIGTERM');
    expect(await node.exited, node.stderr).toEqual({ code: 0, signal: null });
    const cleanup = new Child(['cleanup', ...here], away);
    expect(await cleanup.exited, cleanup.stderr).toEqual({ code: 0, signal: null });
    expect(cleanup.stdout).toBe(`Removed ${2 * (present.length - 1)} containers\n`);
    expect(await Promise.all(present.map((name) => engines[name]!.containers()))).toEqual(before);
    for (const bench of benches) bench.client.close();
    server.signal('SIGTERM');
    expect(await server.exited, server.stderr).toEqual({ code: 0, signal: null });
  });
});
