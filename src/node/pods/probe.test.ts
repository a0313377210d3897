/** Proves what probes send, and how they judge the answers. */
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Container, Pod } from '../../api/generated/types.ts';
import { markDoor } from '../../streams/dial/machine-doors.ts';
import { ScriptedContainer } from '../runtime/scripted-runtime.fixture.ts';
import { ask, type ProbeTarget, portOf } from './probe.ts';

let server: Server;
let port = 0;
let seen: IncomingMessage[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    seen.push(request);
    const { pathname } = new URL(request.url!, 'http://x');
    if (pathname === '/slow') return;
    if (pathname === '/hop') response.writeHead(302, { Location: '/ok' }).end();
    else if (pathname === '/loop') response.writeHead(302, { Location: '/loop' }).end();
    else if (pathname === '/away')
      response.writeHead(302, { Location: 'http://example.invalid/' }).end('gone');
    else if (pathname === '/long') response.end('x'.repeat(1_000_000));
    else response.writeHead(pathname === '/bad' ? 503 : 200).end(`body of ${pathname}`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const pod: Pod = { metadata: { name: 'p', uid: 'u' } };
const place = { folder: '', ip: '10.1.2.3' };

const reach = (to: number): Promise<Duplex> =>
  new Promise((resolve, reject) => {
    const socket = connect(to, '127.0.0.1');
    socket.once('error', reject).once('connect', () => resolve(socket));
  });

function target(container: Container = {}): ProbeTarget {
  const spec = { name: 'c', command: ['run'], ...container };
  const launch = {
    pod,
    container: spec,
    place,
    attempt: 0,
    command: [],
    env: {},
    workingDir: undefined,
    mounts: [],
  };
  return { container: spec, running: new ScriptedContainer(launch), podIP: '10.1.2.3', reach };
}

describe('a command', () => {
  it('that succeeds, fails, or takes too long', async () => {
    const run = (...command: string[]) => ask({ exec: { command } }, target(), 50);
    expect(await run('say', 'fine')).toEqual({ outcome: 'success', output: 'fine' });
    expect(await run('fail', 'oh no')).toEqual({ outcome: 'failure', output: 'oh no' });
    expect(await run('hang')).toEqual({
      outcome: 'failure',
      output: 'command timed out: "hang" timed out after 0.05s',
    });
  });
});

describe('HTTP', () => {
  const get = (path: string, more: object = {}, timeoutMs = 60_000) =>
    ask({ httpGet: { path, port, ...more } }, target(), timeoutMs);

  it('is judged by its status', async () => {
    expect(await get('/ok')).toEqual({ outcome: 'success', output: 'body of /ok' });
    expect(await get('/bad')).toEqual({
      outcome: 'failure',
      output: 'HTTP probe failed with statuscode: 503',
    });
    expect(await get('ok?a=b')).toMatchObject({ outcome: 'success' });
    expect((await get('/long')).output).toHaveLength(10 * 1024);
  });

  it('follows redirects on the pod, and no others', async () => {
    expect(await get('/hop')).toEqual({ outcome: 'success', output: 'body of /ok' });
    expect(await get('/away')).toEqual({
      outcome: 'success',
      output: 'Probe terminated redirects, Response body: gone',
    });
    expect(await get('/loop')).toMatchObject({
      outcome: 'failure',
      output: expect.stringMatching(/redirects$/),
    });
  });

  it('does not reach a door of this machine by a host that it names', async () => {
    const unmark = await markDoor(port);
    try {
      for (const host of ['127.0.0.1', 'localhost', '::1'])
        for (const action of [{ httpGet: { path: '/ok', port, host } }, { tcpSocket: { port, host } }])
          expect(await ask(action, target(), 60_000)).toMatchObject({
            outcome: 'failure',
            output: expect.stringMatching(/dial tcp .*: address not allowed$/),
          });
    } finally {
      unmark();
    }
    expect(await get('/ok', { host: '127.0.0.1' })).toMatchObject({ outcome: 'success' });
  });

  it('sends what it is told to', async () => {
    seen = [];
    const httpHeaders = [
      { name: 'Host', value: 'web.example' },
      { name: 'X-Twice', value: '1' },
      { name: 'X-Twice', value: '2' },
    ];
    await get('/ok', { httpHeaders });
    expect(seen[0]!.headers).toMatchObject({
      host: 'web.example',
      'x-twice': '1, 2',
      'user-agent': 'kube-probe/1.36',
    });
    await get('/ok', { host: '127.0.0.1' });
    expect(seen[1]!.headers.host).toBe(`127.0.0.1:${port}`);
  });

  it('that is not answered in time', async () => {
    expect(await get('/slow', {}, 50)).toEqual({
      outcome: 'failure',
      output: `Get "http://10.1.2.3:${port}/slow": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
    });
  });
});

describe('a connection', () => {
  it('is there, or is refused', async () => {
    expect(await ask({ tcpSocket: { port } }, target(), 60_000)).toEqual({ outcome: 'success', output: '' });
    const free = createTcpServer();
    await new Promise<void>((resolve) => free.listen(0, '127.0.0.1', resolve));
    const closed = (free.address() as AddressInfo).port;
    await new Promise((resolve) => free.close(resolve));
    expect(await ask({ tcpSocket: { port: closed } }, target(), 60_000)).toEqual({
      outcome: 'failure',
      output: `dial tcp 10.1.2.3:${closed}: connect: connection refused`,
    });
  });
});

it('ports may have names', () => {
  const container = { ports: [{ name: 'web', containerPort: 8080 }] };
  expect(portOf(container, 'web')).toBe(8080);
  expect(portOf(container, 81)).toBe(81);
  expect(() => portOf(container, 'db')).toThrow("couldn't find port: db");
  expect(() => portOf(container, 70_000)).toThrow('invalid port number: 70000');
});
