import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';
import {
  asking,
  leftOf,
  namedServer,
  narrowRange,
  nodeAddress,
  note,
  pod,
  problem,
  serviceRange,
  type TestNetwork,
  useNetwork,
} from './netns.fixture.ts';
import type { NodeBridge } from './node-bridge.ts';
import { Subnet } from './subnet.ts';

async function textOf(stream: Duplex): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += chunk;
  return text;
}

describe.skipIf(problem !== undefined)(`a network of namespaces${note}`, () => {
  const test = useNetwork();

  it('lets three pods listen on one port, and reach each other and the machine', async () => {
    // Each pod has its own address and all ports; pods and machine reach each other by address.
    const network = test.network();
    const pods = await Promise.all([1, 2, 3].map(() => network.attach(pod())));
    expect(new Set(pods.map(({ ip }) => ip)).size).toBe(3);
    await Promise.all(pods.map((one, index) => test.serve(one, namedServer(`s${index}`, 8080))));
    const host = createServer((socket) => socket.end('host')).listen(0, '0.0.0.0');
    await once(host, 'listening');
    const { port } = host.address() as AddressInfo;
    const gateway = pods[0]!.ip.replace(/\d+$/, '1');
    const targets = [
      ...pods.map(({ ip }): [string, number] => [ip, 8080]),
      [gateway, port] as [string, number],
    ];
    for (const place of [pods[0], pods[2], undefined])
      expect((await test.run(place, asking(...targets))).split('\n')).toEqual(['s0', 's1', 's2', 'host']);
    expect(await test.run(pods[1], asking(['127.0.0.1', 8080]))).toBe('s1');
    host.close();
  });

  it('lets pods of several nodes of the machine reach each other, also after one has gone', async () => {
    const bridges = [test.bridge(), test.bridge(), test.bridge()];
    const networks = bridges.map((bridge) => test.network(bridge));
    // The first has pods before the others come.
    const pods = [];
    for (const network of networks) pods.push(await network.attach(pod()));
    await Promise.all(pods.map((one, index) => test.serve(one, namedServer(`n${index}`, 8080))));
    const all = asking(...pods.map(({ ip }): [string, number] => [ip, 8080]));
    for (const one of pods) expect(await test.run(one, all)).toBe('n0\nn1\nn2');
    await networks[1]!.close();
    await bridges[1]!.close();
    expect(await test.run(pods[0], asking([pods[2]!.ip, 8080]))).toBe('n2');
    expect(await test.run(pods[2], asking([pods[0]!.ip, 8080]))).toBe('n0');
  });

  it('says which pods of other nodes are not reached because they are in another range', async () => {
    const bridges = [test.bridge(), test.bridge(), test.bridge({ podRange: narrowRange })];
    for (const bridge of bridges) await bridge.open();
    expect([bridges[0]!.strangers, bridges[1]!.strangers]).toEqual([[], []]);
    const forwards = (await readFile('/proc/sys/net/ipv4/ip_forward', 'utf8')).trim() === '1';
    const others = bridges.slice(0, 2).map(({ subnet }) => subnet.text);
    expect([...bridges[2]!.strangers].sort()).toEqual(forwards ? [] : others.sort());
  });

  it('leads pods to further ranges of services, those that run already, too', async () => {
    const bridge = test.bridge();
    const network = test.network(bridge);
    const early = await network.attach(pod());
    const range = Subnet.parse(narrowRange)!;
    await network.setServiceRanges([range]);
    const late = await network.attach(pod());
    const server = await bridge.sockets.listen(range.address(9), 80);
    server.on('connection', (socket) => socket.end('service'));
    for (const one of [early, late, undefined])
      expect(await test.run(one, asking([range.address(9), 80]))).toBe('service');
    server.close();
    await network.setServiceRanges([]);
    expect(await test.run(early, asking([range.address(9), 80]))).not.toBe('service');
  });

  it('answers a pod again, gives the node’s network where it is asked for, and takes addresses back late', async () => {
    // Attaching is idempotent, also concurrently; a freed address is not reused at once.
    const network = test.network();
    const one = pod();
    const [first, again] = await Promise.all([network.attach(one), network.attach(one)]);
    expect(again).toBe(first);
    const shared = await network.attach(pod({ hostNetwork: true }));
    expect(shared).toMatchObject({ ip: nodeAddress });
    expect(shared.wrap(['a', 'b'])).toEqual(['a', 'b']);
    await network.detach(one.metadata.uid!);
    await network.detach(one.metadata.uid!);
    expect((await network.attach(pod())).ip).not.toBe(first.ip);
  });

  it('dials servers that wait at the pod’s address or at its loopback address alone', async () => {
    // What port-forward needs; a port without a listener gives the error in Go's words.
    const network = test.network();
    const [open, inner, inner6] = [pod(), pod(), pod()];
    const attached = await Promise.all([open, inner, inner6].map((one) => network.attach(one)));
    await Promise.all([
      test.serve(attached[0], namedServer('open', 8080)),
      test.serve(attached[1], namedServer('inner', 8080, '127.0.0.1')),
      test.serve(attached[2], namedServer('inner6', 8080, '::1')),
    ]);
    expect(await textOf(await network.dial(open.metadata.uid!, 8080))).toBe('open');
    expect(await textOf(await network.dial(inner.metadata.uid!, 8080))).toBe('inner');
    expect(await textOf(await network.dial(inner6.metadata.uid!, 8080))).toBe('inner6');
    await expect(network.dial(inner.metadata.uid!, 81)).rejects.toThrow(
      'dial tcp 127.0.0.1:81: connect: connection refused',
    );
    // Probes and proxies reach what waits at the pod's address, and nothing else.
    expect(await textOf(await network.reach(open.metadata.uid!, 8080))).toBe('open');
    for (const [one, { ip }] of [[inner, attached[1]!] as const, [inner6, attached[2]!] as const])
      await expect(network.reach(one.metadata.uid!, 8080)).rejects.toThrow(
        `dial tcp ${ip}:8080: connect: connection refused`,
      );
  });

  it('leads ports of the machine to the pods that ask for them, for as long as they live', async () => {
    const network = test.network();
    const hostPort = 25_000 + (process.pid % 5_000);
    const server = pod({ containers: [{ name: 'c', ports: [{ containerPort: 8080, hostPort }] }] });
    await test.serve(await network.attach(server), namedServer('hosted', 8080));
    expect(await textOf(connect(hostPort, '127.0.0.1'))).toBe('hosted');
    await network.detach(server.metadata.uid!);
    await expect(textOf(connect(hostPort, '127.0.0.1'))).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });

  it('lets two agents of one machine live side by side', async () => {
    // Names and addresses do not clash, and closing one bridge leaves the others alone.
    const bridges = [1, 2, 3].map(() => test.bridge({ podRange: narrowRange }));
    const [a, b, third] = bridges as [NodeBridge, NodeBridge, NodeBridge];
    await Promise.all([a.open(), b.open()]);
    const parts = [...Subnet.parse(narrowRange)!.parts(0)].map(({ text }) => text);
    expect([a.subnet.text, b.subnet.text].sort()).toEqual(parts.sort());
    await expect(third.open()).rejects.toThrow(
      `nothing of the pod range ${narrowRange} is free: this machine has a route to `,
    );
    const pods = test.network(b);
    const server = pod();
    await test.serve(await pods.attach(server), namedServer('b', 80));
    await a.close();
    expect(await leftOf(a.id)).toEqual([]);
    expect(await textOf(await pods.dial(server.metadata.uid!, 80))).toBe('b');
  });

  it('refuses ranges that cannot be', () => {
    for (const podRange of ['10.219.0.0', '10.219.0.0/30', '127.4.0.0/16', 'fd00::/64', '10.0.0.0/4', ''])
      expect(() => test.bridge({ podRange })).toThrow(
        /^the pod range must be an IPv4 range from \/8 to \/28/,
      );
  });

  it('says when an agent of the same name is at work', async () => {
    const bridge = test.bridge({ identity: 'twice' });
    await bridge.open();
    await expect(test.bridge({ identity: 'twice' }).open()).rejects.toThrow(
      'another agent uses the pod network of this node',
    );
    expect(await leftOf(bridge.id)).not.toEqual([]);
  });

  it('is removed when its agent is killed, and whoever comes next waits for that', async () => {
    // Proves that the guard cleans up, and leaves alone what a new agent of the same name has made.
    const crash = await crashed(test, { withGuard: false });
    const again = test.bridge({ identity: crash.identity });
    await again.open();
    expect(await leftOf(crash.id)).not.toEqual([]);
    await again.close();
    const other = await crashed(test, { withGuard: false });
    await expect.poll(() => leftOf(other.id)).toEqual([]);
    await expect.poll(() => readdir(test.claimFolder)).toEqual([]);
  });

  it('takes away claims that were never finished', async () => {
    // Proves that temporary files of processes that were killed while writing are removed.
    const claim = { pid: 1, start: 'never', boot: '', spaces: '', owns: {} };
    await writeFile(join(test.claimFolder, '0123abcd.json.new'), JSON.stringify(claim));
    await writeFile(join(test.claimFolder, '4567abcd.json.new'), '{');
    await utimes(join(test.claimFolder, '4567abcd.json.new'), 1, 1);
    const bridge = test.bridge();
    await bridge.open();
    expect(await readdir(test.claimFolder)).toEqual([`${bridge.id}.json`]);
  });

  it('removes what a killed agent has left, its own and that of any agent that is gone', async () => {
    // A child process opens a network, attaches pods and is killed; another agent of the machine cleans up.
    const crash = await crashed(test);
    expect(await leftOf(crash.id)).not.toEqual([]);
    expect(await readdir(test.claimFolder)).toEqual([`${crash.id}.json`]);
    const again = test.bridge({ identity: crash.identity });
    await again.open();
    expect((await leftOf(crash.id)).filter((line) => line.includes('p3'))).toEqual([]);
    await again.close();
    const other = await crashed(test);
    await test.bridge().open();
    expect(await leftOf(other.id)).toEqual([]);
  });

  it('leaves nothing when it is closed in the middle of things', async () => {
    // The assertion is in clear(), which fails when something is left.
    const bridge = test.bridge();
    const network = test.network(bridge);
    const attaching = [1, 2, 3].map(() => network.attach(pod()));
    const done = Promise.allSettled(attaching);
    await network.close();
    await bridge.close();
    await done;
    expect(await leftOf(bridge.id)).toEqual([]);
    await expect(network.attach(pod())).rejects.toThrow('the pod network is closed');
  });

  it('leaves the services to pods alone where the machine goes another way', async () => {
    // An address range that the machine already has a route to is refused.
    const first = test.bridge({ serviceRange });
    const second = test.bridge({ serviceRange });
    await first.open();
    await second.open();
    expect(first.hostRouteProblem).toBeUndefined();
    expect(second.hostRouteProblem).toBe(`this machine has a route to ${serviceRange} (${first.link})`);
  });
});

/** The program of an agent that has two pods, as one file for all tests. */
const agentProgram = (): Promise<string> => {
  built ??= build({
    stdin: {
      contents: `
        import { NodeBridge } from './node-bridge.ts';
        import { NetnsNetwork } from './netns-network.ts';
        import { Spawner } from '../process/spawner.ts';
        const [identity, claimFolder, serviceRange] = process.argv.slice(1);
        const spawner = new Spawner();
        const bridge = new NodeBridge({ identity, claimFolder, serviceRange, spawner });
        const network = new NetnsNetwork({ bridge, address: '127.0.0.1', spawner, onError: console.error });
        (async () => {
          for (const uid of ['a', 'b']) await network.attach({ metadata: { uid } });
          console.log(bridge.id);
        })();
        setInterval(() => undefined, 1000);`,
      resolveDir: import.meta.dirname,
    },
    ...{ bundle: true, platform: 'node', format: 'cjs', write: false, logLevel: 'error' },
  }).then(({ outputFiles }) => outputFiles![0]!.text);
  return built;
};
let built: Promise<string> | undefined;

/** An agent that was killed while it had two pods, by default together with its guard. */
async function crashed(
  { claimFolder, crashed: list }: TestNetwork,
  { withGuard = true } = {},
): Promise<{ id: string; identity: string }> {
  const identity = `crash ${performance.now()}`;
  const args = ['-e', await agentProgram(), identity, claimFolder, serviceRange];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const id = line.toString().trim();
  const claim = JSON.parse(await readFile(join(claimFolder, `${id}.json`), 'utf8'));
  if (withGuard) process.kill(claim.guard.pid, 'SIGKILL');
  child.kill('SIGKILL');
  await once(child, 'exit');
  list.push(id);
  return { id, identity };
}
