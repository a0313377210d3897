import { createHash, randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { get } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { services } from '../../client/resources.ts';
import { markDoor } from '../../streams/dial/machine-doors.ts';
import { asking, namedServer, note, pod, problem, serviceRange, useNetwork } from './netns.fixture.ts';
import { ask, askUdp, ownAddress, until, useServices } from './service-proxy.fixture.ts';

/** A fixed sequence in place of random numbers. */
const inTurn = (): (() => number) => {
  let turn = 0;
  return () => (turn++ % 3) / 3;
};

/** A port range per process, because test processes run in parallel on one machine. */
const base = 20_000 + (process.pid % 500) * 10;
const nodePort = 30_000 + (process.pid % 500) * 5;
const isRoot = process.getuid?.() === 0;

const canBindLoopback = process.platform === 'linux' && ownAddress !== undefined;

describe.skipIf(!canBindLoopback)('services on the loopback range, without privileges', () => {
  const test = useServices('127.9.8.0/24');

  it('answer at their cluster IP by any of those who are ready, and refuse when nobody is', async () => {
    // Connections are spread over three targets at random; without a target, the system refuses them at once.
    const proxy = await test.proxy({ random: inTurn() });
    expect(proxy.describe()).toBe('cluster IPs (127.9.8.0/24) answer on this machine');
    const ip = await test.service('web', [{ port: base }]);
    await test.answers('web', await test.named('a', 'b', 'c'));
    expect([await ask(ip, base), await ask(ip, base), await ask(ip, base)]).toEqual(['a', 'b', 'c']);
    await test.answers('web', []);
    expect(await ask(ip, base)).toBe('ECONNREFUSED');
    await test.answers('web', await test.named('d'));
    expect(await ask(ip, base)).toBe('d');
    await test.client.delete(services, 'default', 'web');
    await until(async () => (await ask(ip, base)) === 'ECONNREFUSED');
  });

  it('tell ports apart by name', async () => {
    await test.proxy();
    const ip = await test.service('two', [
      { name: 'x', port: base, targetPort: 1 },
      { name: 'y', port: base + 1, targetPort: 2 },
    ]);
    const [[, x]] = (await test.named('x')) as [[string, number]];
    await test.answers('two', [[ownAddress!, x]], {}, { name: 'x' });
    expect([await ask(ip, base), await ask(ip, base + 1)]).toEqual(['x', 'ECONNREFUSED']);
  });

  it('keep a client with one target for as long as they want it', async () => {
    // Every connection restarts the timeout; another target is chosen after it, or when the target is gone.
    let now = 0;
    await test.proxy({ random: inTurn(), now: () => now });
    const ip = await test.service('sticky', [{ port: base, nodePort }], {
      type: 'NodePort',
      sessionAffinity: 'ClientIP',
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 100 } },
    });
    const targets = await test.named('a', 'b', 'c');
    await test.answers('sticky', targets);
    const seen: string[] = [];
    for (const seconds of [0, 99, 198]) {
      now = seconds * 1000;
      seen.push(await ask(ip, base));
    }
    seen.push(await ask('127.0.0.1', nodePort));
    now += 100_000;
    seen.push(await ask(ip, base));
    await test.answers('sticky', [targets[0]!, targets[2]!]);
    seen.push(await ask(ip, base), await ask(ip, base));
    expect(seen).toEqual(['a', 'a', 'a', 'a', 'b', 'c', 'c']);
  });

  it('carry 50 MB both ways at the pace of the slower side, ends included', async () => {
    // The target answers only after the client's end of stream: a half-closed connection stays open.
    await test.proxy();
    const ip = await test.service('much', [{ port: base }]);
    const port = await test.serve(async (socket) => {
      const chunks: Buffer[] = [];
      for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
        chunks.push(chunk as Buffer);
        if (chunks.length === 10) await new Promise((resolve) => setTimeout(resolve, 200));
      }
      socket.end(Buffer.concat(chunks));
    });
    await test.answers('much', [[ownAddress!, port]]);
    const block = randomBytes(1024 * 1024);
    const [sent, received] = [createHash('sha256'), createHash('sha256')];
    const client = connect({ host: ip, port: base, allowHalfOpen: true });
    let held = false;
    for (let count = 0; count < 50; count++) {
      sent.update(block);
      if (client.write(block)) continue;
      held = true;
      await once(client, 'drain');
    }
    client.end();
    for await (const chunk of client) received.update(chunk as Buffer);
    expect(received.digest('hex')).toBe(sent.digest('hex'));
    expect(held).toBe(true);
  });

  it('pass on a cut as a cut, not as an end', async () => {
    await test.proxy();
    const ip = await test.service('cut', [{ port: base }]);
    const accepted: Socket[] = [];
    const port = await test.serve((socket) => {
      accepted.push(socket);
      socket.write('x');
    });
    await test.answers('cut', [[ownAddress!, port]]);
    const client = connect({ host: ip, port: base });
    await once(client, 'data');
    accepted[0]!.resetAndDestroy();
    const [error] = (await once(client, 'error')) as [NodeJS.ErrnoException];
    expect(error.code).toBe('ECONNRESET');
    // And in the other direction.
    const second = connect({ host: ip, port: base });
    await once(second, 'data');
    const gone = new Promise((resolve) => accepted[1]!.once('close', resolve));
    second.resetAndDestroy();
    await gone;
  });

  it('try another target when one is dead, and reset when all are', async () => {
    await test.proxy({ random: () => 0 });
    const ip = await test.service('dead', [{ port: base }]);
    const closed = createServer().listen(0, ownAddress);
    await once(closed, 'listening');
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    await test.answers('dead', [[ownAddress!, port], ...(await test.named('alive'))]);
    expect(await ask(ip, base)).toBe('alive');
    await test.answers('dead', [[ownAddress!, port]]);
    expect(await ask(ip, base)).toBe('ECONNRESET');
  });

  it('leave connections alone when targets go, and end them with the proxy', async () => {
    const proxy = await test.proxy();
    const ip = await test.service('long', [{ port: base }]);
    const port = await test.serve((socket) => socket.pipe(socket));
    await test.answers('long', [[ownAddress!, port]]);
    const client = connect({ host: ip, port: base });
    client.write('a');
    await once(client, 'data');
    await test.answers('long', []);
    client.write('b');
    expect(String((await once(client, 'data'))[0])).toBe('b');
    const failed = once(client, 'error');
    await proxy.close();
    expect(((await failed) as [NodeJS.ErrnoException])[0].code).toBe('ECONNRESET');
  });

  it('answer at node ports on the node’s address and on loopback, and at external IPs of this machine', async () => {
    await test.proxy();
    const ip = await test.service('node', [{ port: base }], {
      type: 'NodePort',
      externalIPs: [ownAddress!, '198.51.100.77'],
    });
    const { spec } = await test.client.get(services, 'default', 'node');
    const { nodePort: given } = spec!.ports![0]!;
    await test.answers('node', await test.named('n'));
    for (const [host, port] of [
      [ip, base],
      [ownAddress!, base],
      [ownAddress!, given!],
      ['127.0.0.1', given!],
    ] as const)
      expect(await ask(host, port)).toBe('n');
  });

  it('use only targets of this node where their policy says so', async () => {
    await test.proxy();
    const ip = await test.service('local', [{ port: base }], { internalTrafficPolicy: 'Local' });
    const targets = await test.named('l');
    await test.answers('local', targets, { nodeName: 'n2' });
    expect(await ask(ip, base)).toBe('ECONNREFUSED');
    await test.answers('local', targets, { nodeName: 'n1' });
    expect(await ask(ip, base)).toBe('l');
  });

  it('find pods of the machine’s network at its address, never at its loopback address', async () => {
    await test.proxy();
    const ip = await test.service('inner', [{ port: base }]);
    const inner = await test.serve((socket) => socket.end('inner'), '127.0.0.1');
    const open = await test.serve((socket) => socket.end('open'), ownAddress!);
    const targetRef = { kind: 'Pod', namespace: 'default', name: 'p', uid: 'u' };
    await test.answers('inner', [[ownAddress!, open]], { nodeName: 'n1', targetRef });
    expect(await ask(ip, base)).toBe('open');
    await test.answers('inner', [[ownAddress!, inner]], { nodeName: 'n1', targetRef });
    expect(await ask(ip, base)).toMatch(/^ECONN/);
  });

  it.skipIf(!isRoot)('include the API server', async () => {
    // Its endpoints may be on loopback, which is refused for endpoints that users write.
    await test.proxy();
    const { spec } = await test.client.get(services, 'default', 'kubernetes');
    const headers = { host: new URL(test.url).host };
    const [answer] = await once(
      get({ host: spec!.clusterIP, port: 443, path: '/version', headers }),
      'response',
    );
    expect(answer.statusCode).toBe(200);
    answer.resume();
  });

  it('lead to no door of this machine, except that of the API at its cluster IP', async () => {
    // Proves that users cannot reach a door through endpoints that they write, at any entrance.
    await test.proxy();
    const port = await test.serve((socket) => socket.end('in'));
    const ip = await test.service('door', [{ port: base, nodePort }], { type: 'NodePort' });
    await test.answers('door', [[ownAddress!, port]]);
    expect(await ask(ip, base)).toBe('in');
    const unmark = await markDoor(port);
    try {
      expect(await ask(ip, base)).toBe('ECONNRESET');
      expect(await ask('127.0.0.1', nodePort)).toBe('ECONNRESET');
    } finally {
      unmark();
    }
    expect(await ask('127.0.0.1', nodePort)).toBe('in');
  });

  it.skipIf(!isRoot)('lead to the door of another API server at no time', async () => {
    await test.proxy({ apiDoor: { port: 1, isSecure: true } });
    const { spec } = await test.client.get(services, 'default', 'kubernetes');
    const asked = once(get({ host: spec!.clusterIP, port: 443, path: '/version' }), 'response');
    await expect(asked).rejects.toThrow(/ECONNRESET|hang up/);
  });

  it('carry datagrams, each client with its own way back', async () => {
    await test.proxy({ random: inTurn() });
    const ip = await test.service('echo', [{ port: base, protocol: 'UDP' }]);
    const echo = createSocket('udp4');
    echo.on('message', (message, { port, address }) => echo.send(`${message}!`, port, address));
    echo.bind(0, ownAddress);
    await once(echo, 'listening');
    await test.answers('echo', [[ownAddress!, echo.address().port]], {}, { protocol: 'UDP' });
    const answers = await Promise.all(['a', 'b', 'c'].map((text) => askUdp(ip, base, text)));
    expect(answers).toEqual(['a!', 'b!', 'c!']);
    echo.close();
  });

  it('say when a node port is taken, and take it when it is free again', async () => {
    const other = createServer().listen(nodePort + 1, '0.0.0.0');
    await once(other, 'listening');
    const unserved: string[] = [];
    await test.proxy({ onUnserved: ({ metadata: { name } }) => unserved.push(name!) });
    await test.service('taken', [{ port: base, nodePort: nodePort + 1 }], { type: 'NodePort' });
    await test.answers('taken', await test.named('t'));
    await until(() => test.errors.length > 0);
    expect(test.errors.splice(0).map(({ message }) => message)).toEqual([
      `service default/taken:/TCP cannot answer at ${ownAddress}:${nodePort + 1}/TCP: the port is taken by another process`,
    ]);
    expect(unserved).toEqual(['taken']);
    await new Promise((resolve) => other.close(resolve));
    await until(async () => (await ask('127.0.0.1', nodePort + 1)) === 't');
  });

  it('say so when cluster IPs cannot be had', async () => {
    // A range that is neither on loopback nor on a bridge.
    const proxy = await test.proxy({ serviceRange: '10.0.0.0/24' });
    expect(proxy.describe()).toBe(
      "cluster IPs (10.0.0.0/24) do not answer, which takes the rights of root on Linux; those of a range such as 127.9.0.0/24 would without them; node ports, variables and the API's proxy work",
    );
  });
});

describe.skipIf(problem !== undefined)(`services of a network of namespaces${note}`, () => {
  const test = useServices(serviceRange);
  const networks = useNetwork();

  it('answer on the machine and in pods, whoever else listens on their ports', async () => {
    // Three pods serve one port; the machine has a server on that port at all its addresses; pods reach the API.
    const bridge = networks.bridge();
    const network = networks.network(bridge);
    const others = createServer((socket) => socket.end('other')).listen(0, '0.0.0.0');
    await once(others, 'listening');
    const { port } = others.address() as AddressInfo;
    const pods = await Promise.all([1, 2, 3].map(() => network.attach(pod())));
    await Promise.all(pods.map((one, index) => networks.serve(one, namedServer(`s${index}`, port))));
    const proxy = await test.proxy({ bridge, sharedNetwork: false, random: inTurn() });
    expect(proxy.describe()).toBe(`cluster IPs (${serviceRange}) answer on this machine and in its pods`);
    const ip = await test.service('web', [{ port, nodePort: nodePort + 2 }], { type: 'NodePort' });
    await test.answers(
      'web',
      pods.map((one) => [one.ip, port]),
    );
    expect([await ask(ip, port), await ask(ip, port), await ask(ip, port)]).toEqual(['s0', 's1', 's2']);
    const node = bridge.gateway;
    const inside = await networks.run(pods[0], asking([ip, port], [ip, port], [node, port], [ip, 1]));
    expect(inside.split('\n')).toEqual(['s0', 's1', 'other', 'ECONNREFUSED']);
    const { spec } = await test.client.get(services, 'default', 'kubernetes');
    const url = new URL(test.url).host;
    const version = await networks.run(
      pods[1],
      `new Promise((resolve) => {
        const target = { host: '${spec!.clusterIP}', port: 443, path: '/version', headers: { host: '${url}' } };
        require('node:http').get(target, (answer) => { console.log(answer.statusCode); resolve(answer.destroy()); });
      })`,
    );
    expect(version).toBe('200');
    others.close();
  });
});
