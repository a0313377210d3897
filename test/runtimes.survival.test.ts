/**
 * Proves that containers outlive the agent: however often it is killed, the next one goes on with the same containers.
 * `WHERRY_SURVIVAL=PODS,ROUNDS` sets how many pods and rounds there are.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { problem as networkProblem } from '../src/node/network/netns.case.ts';
import { TestContainerd } from '../src/node/runtime/cri/containerd.case.ts';
import { TestDocker } from '../src/node/runtime/docker/docker.case.ts';
import { type TestEngine, testImage, tryEngine } from '../src/node/runtime/engine/engine.case.ts';
import { Child, useChildren } from './child.ts';
import { Client } from './http.ts';

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

/** A container of another program, which has to stay; returns its id. */
const strangers = {
  docker: async (engine: TestDocker) => {
    const made = await engine.api.json<{ Id: string }>('POST', '/containers/create', {
      body: { Image: testImage },
    });
    return made.Id;
  },
  cri: async (engine: TestContainerd) => {
    const metadata = { name: 'other', uid: 'other', namespace: 'other' };
    const linux = { securityContext: { namespaces: { network: 2, pid: 1 } } };
    const config = { metadata, logDirectory: engine.folder, linux };
    return (await engine.api.call('RunPodSandbox', { config })).id!;
  },
};

const docker = await tryEngine('docker', () => TestDocker.start(), networkProblem);
const containerd = await tryEngine('containerd', () => TestContainerd.start(), networkProblem);
afterAll(() => Promise.all([docker.engine?.close(), containerd.engine?.close()]));

describe('a killed agent', () => {
  const leaves = async (runtime: 'docker' | 'cri', engine: TestEngine, stranger: () => Promise<string>) => {
    const folder = await children.folder();
    const off = runtime === 'docker' ? 'cri' : 'docker';
    const args = [`--${runtime}-socket`, engine.socket, `--${off}-socket`, 'off', '--data-dir', folder];
    const begin = async () => {
      const child = new Child(['up', '--port', '0', '--secure-port', 'off', ...args], folder);
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
    const id = await stranger();
    child.signal('SIGTERM');
    await child.exited;
    expect(await engine.containers()).toHaveLength(ids.length - 1);
    const cleanup = new Child(['cleanup', ...args], folder);
    expect(await cleanup.exited).toEqual({ code: 0, signal: null });
    expect(cleanup.stdout).toBe(`Removed ${ids.length - 2} containers\n`);
    expect(await engine.containers()).toEqual([id]);
  };
  const text = 'leaves its containers to the next one, and cleanup removes them';

  it.skipIf(docker.problem)(`${text}, in Docker${docker.note}`, () =>
    leaves('docker', docker.engine!, () => strangers.docker(docker.engine!)),
  );

  it.skipIf(containerd.problem)(`${text}, in containerd${containerd.note}`, () =>
    leaves('cri', containerd.engine!, () => strangers.cri(containerd.engine!)),
  );
});
