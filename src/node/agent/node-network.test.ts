/** Proves that a node's network uses what its machine allows, and that pods of a real agent find services by name. */
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { endpoints } from '../../client/endpoints.fixture.ts';
import { pods, services } from '../../client/resources.ts';
import { leftOf, namedServer, note, problem } from '../network/netns.fixture.ts';
import { ownAddress, until } from '../network/service-proxy.fixture.ts';
import { ImageTable } from '../runtime/images.ts';
import { ProcessRuntime } from '../runtime/process/process-runtime.ts';
import { condition, useNode } from './agent.fixture.ts';
import { NodeNetwork, type NodeNetworkOptions } from './node-network.ts';

const node = useNode();
/** The service range of the cluster in these tests. */
const clusterRange = '10.0.0.0/24';
const address = ownAddress ?? '127.0.0.1';
let folder = '';
const opened: NodeNetwork[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wherry-network-'));
});

afterEach(async () => {
  await Promise.all(node.agents.splice(0).map((agent) => agent.close()));
  for (const network of opened.splice(0)) await network.close();
  for (const { metadata } of (await node.client.list(services, { namespace: 'default' })).items)
    if (metadata.name !== 'kubernetes') await node.client.delete(services, 'default', metadata.name!);
  if (problem === undefined) expect(await readdir(join(folder, 'claims')).catch(() => [])).toEqual([]);
  await rm(folder, { recursive: true, force: true });
});

async function open(options: Partial<NodeNetworkOptions> = {}): Promise<NodeNetwork> {
  const network = await NodeNetwork.open({
    ...{ nodeName: 'n1', address, folder, claimFolder: join(folder, 'claims'), serviceRange: clusterRange },
    onError: (error) => node.errors.push(error),
    ...options,
  });
  opened.push(network);
  return network;
}

async function run(network: NodeNetwork): Promise<void> {
  const onError = (error: Error): void => void node.errors.push(error);
  const images = await ImageTable.open();
  const runtime = new ProcessRuntime({
    folder: node.folder,
    network: network.pods,
    images,
    now: Date.now,
    onError,
  });
  await network.start(node.client);
  await node.agent(runtime, { secondMs: 100, address, network });
}

const program = (text: string, ...ports: number[]) => ({
  name: 'c',
  image: 'node',
  command: [process.execPath, '-e', text],
  ports: ports.map((containerPort) => ({ containerPort })),
});

const ready = (name: string) => node.untilPod(name, (pod) => condition(pod, 'Ready')?.status === 'True');

describe('the network of a node', () => {
  it('can be that of the machine, and says so', async () => {
    const network = await open({ mode: 'host', serviceRange: '127.9.9.0/24' });
    expect(network.mode).toBe('host');
    expect(network.describe()[0]).toBe(
      'pod network host: pods share the network of this machine (as asked for)',
    );
    expect(network.describe()[1]).toMatch(/^services: .*; pods find them by variables, not by name$/);
    expect(await network.resolvConf({ metadata: { name: 'p' } })).toBeUndefined();
    await expect(open({ podRange: 'x' })).rejects.toThrow('the pod range must be');
    await expect(open({ serviceRange: 'x' })).rejects.toThrow('"x" is no IPv4 range');
  });

  it('of the machine tells pods of ports that others have', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    await run(await open({ mode: 'host' }));
    await node.create('clash', { containers: [program('', port, 1)], restartPolicy: 'Never' });
    const { message, type } = await node.event('clash', 'FailedPortBinding');
    expect({ message, type }).toEqual({
      message: `port ${port} is taken by another process on this node: pods share the network of the machine`,
      type: 'Warning',
    });
    await node.untilPod('clash', ({ status }) => status?.phase === 'Succeeded');
    const told = (await node.events('clash')).filter(({ reason }) => reason === 'FailedPortBinding');
    expect(told.length).toBe(1);
    other.close();
  });
});

describe.skipIf(problem !== undefined)(`the network of a node with the rights for it${note}`, () => {
  it('says at the start that nodes of this machine with another range are not reached, unless they are', async () => {
    const first = await open();
    const second = await open({ nodeName: 'n2', folder: join(folder, 'n2'), podRange: '10.218.0.0/16' });
    const forwards = (await readFile('/proc/sys/net/ipv4/ip_forward', 'utf8')).trim() === '1';
    const range = /10\.217\.\d+\.0\/24/.exec(first.describe()[0]!)![0];
    const sentence = `pods of other nodes on this machine (${range}) are not reached: they have another --pod-range`;
    expect(second.describe().includes(sentence)).toBe(!forwards);
    expect(first.describe().join()).not.toContain('are not reached');
  });

  it('gives each pod an address, and services names that answer', async () => {
    // Three replicas listen on the same port; a fourth pod finds them by the short name of their service.
    const network = await open();
    expect(network.mode).toBe('netns');
    expect(network.describe()[0]).toMatch(
      /^pod network netns: each pod has an address of 10\.217\.\d+\.0\/24$/,
    );
    await run(network);
    const labels = { app: 'web' };
    await node.client.create(services, 'default', {
      metadata: { name: 'web' },
      spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
    });
    for (const name of ['w1', 'w2', 'w3'])
      await node.create(name, { containers: [program(namedServer(name, 8080), 8080)] }, { labels });
    const made = await Promise.all(['w1', 'w2', 'w3'].map(ready));
    expect(new Set(made.map(({ status }) => status?.podIP)).size).toBe(3);
    await node.until(endpoints, 'web', ({ subsets }) => subsets?.[0]?.addresses?.length === 3);
    const { clusterIP } = (await node.client.get(services, 'default', 'web')).spec!;
    // A pod without a probe is ready before its program listens, so the first answers may be refusals.
    const client = `
      const say = (text) => require('node:fs').writeFileSync('/dev/termination-log', text);
      const ask = () => {
        let text = '';
        require('node:net').connect(80, 'web').on('data', (data) => { text += data; })
          .on('end', () => text ? say(text + ' ' + process.env.WEB_SERVICE_HOST) : setTimeout(ask, 100))
          .on('error', ({ code, message }) => /ECONN/.test(code) ? setTimeout(ask, 100) : say(message));
      };
      ask();`;
    await node.create('c', { containers: [program(client)], restartPolicy: 'Never' });
    const done = await node.untilPod('c', ({ status }) => status?.phase === 'Succeeded');
    const { message } = done.status!.containerStatuses![0]!.state!.terminated!;
    expect(message).toMatch(new RegExp(`^w[123] ${clusterIP}$`));
    const { id } = (network as unknown as { bridge: { id: string } }).bridge;
    await Promise.all(
      ['w1', 'w2', 'w3', 'c'].map((name) =>
        node.client.delete(pods, 'default', name, { gracePeriodSeconds: 0 }),
      ),
    );
    await until(async () => !(await leftOf(id)).some((line) => /-p\d+/.test(line)));
    await node.agents.splice(0)[0]!.close();
    await network.close();
    expect(await leftOf(id)).toEqual([]);
  });
});
