/**
 * Proves what holds when a user says nothing: what runs is not cleaned away, a start that is refused leaves nothing behind,
 * services are open to this machine alone, and a Node that is too old is told so first of all.
 */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { transform } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { machineAddress } from '../../src/node/machine/machine-address.ts';
import { Child, command, userFolders } from '../support/child.ts';
import { expectSentence, inMemory, stop, useCommand } from '../support/command.ts';
import { freePorts } from '../support/free-ports.ts';
import { Client } from '../support/http.ts';
import { isRelease } from '../support/tier.ts';

const { children, refused, run } = useCommand();
/** Of this machine, and not loopback; such a machine may have none. */
const address = machineAddress();
const isAlone = address.startsWith('127.');

async function codeAt(host: string, port: number | string): Promise<number | string> {
  return fetch(`http://${host}:${port}/`, { signal: AbortSignal.timeout(60_000) }).then(
    ({ status }) => status,
    (error: { cause: { code: string } }) => error.cause.code,
  );
}

describe('a running cluster', () => {
  let data: string;
  let server: Child;

  beforeAll(async () => {
    data = await children.folder();
    server = new Child(['serve', '--port', '0', '--secure-port', '0', '--data-dir', data], data);
    await server.ready();
  });

  it('is not cleaned away', async () => {
    expectSentence(
      await run('cleanup', '--data-dir', data, '--docker-socket', 'off', '--cri-socket', 'off'),
      new RegExp(`${data} is in use by process ${server.pid}, whose containers these are: stop it first`),
    );
  });

  it('warns about a token that nodes elsewhere cannot use', async () => {
    await expect.poll(() => server.stdout).toMatch(/kubeconfig/);
    const { code, stdout, stderr } = await run('token', 'create', '--data-dir', data);
    expect(code, stderr).toBe(0);
    expect(stdout).toMatch(/^wherry node --server https:\/\/127\.0\.0\.1:\d+ --token \S+ --ca-hash \S+\n$/);
    expect(stderr).toMatch(
      /^wherry: https:\/\/127\.0\.0\.1:\d+ is reached from this machine alone; .* --secure-host [^\n]+\n$/,
    );
    await stop(server);
    const left = await run('cleanup', '--data-dir', data);
    expect(left).toMatchObject({ code: 0, stdout: `${data} has no containers\n` });
  });

  it.skipIf(isAlone)('does not warn about one that they can', async () => {
    const args = ['--port', '0', '--secure-host', address, '--secure-port', '0', '--data-dir', data];
    const open = new Child(['serve', ...args], data);
    await open.ready();
    await expect.poll(() => open.stdout).toMatch(/kubeconfig/);
    expect(await run('token', 'create', '--data-dir', data)).toMatchObject({ code: 0, stderr: '' });
    await stop(open);
  });
});

describe('a port that is taken', () => {
  const holders: Server[] = [];
  const held = async (host: string): Promise<string> => {
    const holder = createServer().listen(0, host);
    holders.push(holder);
    await once(holder, 'listening');
    return String((holder.address() as AddressInfo).port);
  };
  afterAll(() => {
    for (const holder of holders) holder.close();
  });

  /** With `npm test` the first and the last port that a start takes, and that of a node. */
  const usual: [host: string, words: string[]][] = [
    ['127.0.0.1', ['up', '--port', 'TAKEN']],
    [address, ['up', '--port', '0', '--kubelet-port', 'TAKEN']],
    [address, ['node', '--server', 'http://127.0.0.1:9', '--kubelet-port', 'TAKEN']],
  ];
  const others: typeof usual = [
    ['127.0.0.1', ['up', '-d', '--port', 'TAKEN']],
    ['127.0.0.1', ['serve', '--port', 'TAKEN']],
    ['127.0.0.1', ['up', '--port', '0', '--secure-port', 'TAKEN']],
    ['127.0.0.1', ['up', '--port', '0', '--ingress-port', 'TAKEN']],
    ['127.0.0.1', ['up', '--port', '0', '--ingress-port', '0', '--ingress-tls-port', 'TAKEN']],
  ];
  it.each([...usual, ...(isRelease ? others : [])])('leaves nothing behind: %s %j', async (host, words) => {
    const port = await held(host);
    const flag = words[words.indexOf('TAKEN') - 1];
    const folder = await children.folder();
    const child = new Child(
      words.map((word) => (word === 'TAKEN' ? port : word)),
      folder,
    );
    const { code } = await child.exited;
    expectSentence(
      { code, signal: null, stdout: child.stdout, stderr: child.stderr },
      new RegExp(
        `port ${port} on ${host} is taken by another process; wherry ${words[0]} ${flag} 0 takes a free one\n$`,
      ),
    );
    expect(readdirSync(folder)).toEqual([]);
    expect(existsSync(path.join(userFolders(folder)['XDG_DATA_HOME']!, 'wherry'))).toBe(false);
  });

  it('leaves a folder from before clusters had names as it was, which a start in the background names', async () => {
    const port = await held('127.0.0.1');
    const folder = path.join(await children.folder(), 'site');
    mkdirSync(path.join(folder, '.wherry'), { recursive: true });
    const child = new Child(['up', '-d', '--port', port], folder);
    expect(await child.exited).toMatchObject({ code: 1 });
    expect(child.stdout).toMatch(/^Using the data folder .*\/site\/\.wherry, as the cluster site\n$/);
    expect(child.stderr).toMatch(/is taken by another process; wherry up --port 0 takes a free one\n$/);
    expect(readdirSync(path.join(folder, '.wherry'))).toEqual([]);
  });
});

describe.skipIf(isAlone)('what is open to other machines', () => {
  const backend = createServer((socket) => socket.end('HTTP/1.1 204 No Content\r\n\r\n'));
  const parts = ['--secure-port', 'off', '--pod-network', 'host', '--ingress-port', '0'];

  beforeAll(async () => {
    backend.listen(0, address);
    await once(backend, 'listening');
  });
  afterAll(() => void backend.close());

  /** A cluster with a service; resolves with the ports of its ingress and of that service on the node. */
  async function opened(...args: string[]) {
    const child = new Child(['up', ...inMemory, ...parts, ...args], await children.folder());
    const client = new Client(await child.ready());
    const [nodePort] = await freePorts(1);
    const range = ['/api/v1/namespaces/default/services', '/api/v1/namespaces/default/endpoints'] as const;
    const port = { port: 80, nodePort: 30_000 + (nodePort! % 2_700) };
    const service = { metadata: { name: 'web' }, spec: { type: 'NodePort', ports: [port] } };
    const made = await client.post(range[0], service);
    const { port: target } = backend.address() as AddressInfo;
    const subsets = [{ addresses: [{ ip: address }], ports: [{ port: target }] }];
    await client.post(range[1], { metadata: { name: 'web' }, subsets });
    await expect.poll(() => child.stdout).toMatch(/ingress at/);
    const ingress = /ingress at http:\/\/(\S+):(\d+)/.exec(child.stdout)!;
    return {
      child,
      ingress: { shown: ingress[1]!, port: ingress[2]! },
      nodePort: made.body.spec.ports[0].nodePort,
    };
  }

  it('is nothing, unless a flag says so', async () => {
    const [shy, bold] = await Promise.all([
      opened(),
      opened('--ingress-host', '0.0.0.0', '--node-port-host', address),
    ]);
    await expect.poll(() => codeAt('127.0.0.1', shy.nodePort)).toBe(204);
    await expect.poll(() => codeAt('127.0.0.1', bold.nodePort)).toBe(204);
    expect([shy.ingress.shown, bold.ingress.shown]).toEqual(['127.0.0.1', address]);
    expect({
      shy: [await codeAt('127.0.0.1', shy.ingress.port), await codeAt(address, shy.ingress.port)],
      shyNodePort: await codeAt(address, shy.nodePort),
      bold: [await codeAt('127.0.0.1', bold.ingress.port), await codeAt(address, bold.ingress.port)],
      boldNodePort: await codeAt(address, bold.nodePort),
    }).toEqual({
      shy: [404, 'ECONNREFUSED'],
      shyNodePort: 'ECONNREFUSED',
      bold: [404, 404],
      boldNodePort: 204,
    });
    await Promise.all([stop(shy.child), stop(bold.child)]);
  });

  it('is an address of this machine', async () => {
    const said = await refused('up', ...inMemory, '--node-port-host', '192.0.2.77');
    expectSentence(said, /192\.0\.2\.77 is not an address of this machine, where node ports could listen/);
    const wrong = await refused('up', ...inMemory, '--ingress-port', '0', '--ingress-host', 'anywhere');
    expectSentence(wrong, /--ingress-host must be an IP address, not "anywhere"/);
    expectSentence(
      await refused('up', ...inMemory, '--ingress-host', '::1'),
      /--ingress-host needs --ingress-port/,
    );
  });
});

describe('a Node that is too old', () => {
  const programs = ['cli.cjs', 'envtest-apiserver.cjs', 'envtest-etcd.cjs'].map((name) =>
    path.join(command, '..', name),
  );

  it.each(programs)('is told so by %s, first of all', async (program) => {
    const folder = await children.folder();
    const disguise = path.join(folder, 'disguise.cjs');
    writeFileSync(disguise, `Object.defineProperty(process.versions, 'node', { value: '20.18.3' });`);
    const args = ['--require', disguise, program, 'up', '--prot'];
    const failed = await promisify(execFile)(process.execPath, args, { cwd: folder }).catch((error) => error);
    expect(failed).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'wherry: this is Node 20.18.3, and Wherry needs 20.19 or newer (https://nodejs.org)\n',
    });
  });

  it.each(programs)('can read what %s says', async (program) => {
    // Nothing is left to translate for a Node that knows ES2015 alone.
    const text = readFileSync(program, 'utf8');
    const translated = async (target: string) => (await transform(text, { target })).code;
    expect(await translated('es2015')).toBe(await translated('esnext'));
  });
});
