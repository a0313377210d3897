/** Pods that only the agent of their node can reach, proxied through port-forward. Streaming contract, 5.3. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import type { Reply } from '../../../test/support/http.ts';
import { dialTcp } from '../../streams/dial/dialing.ts';
import { servePortForward } from '../../streams/serving/port-forward-server.ts';
import { Proxied, useProxied } from './proxying.fixture.ts';

const api = useProxied();
const ns = '/api/v1/namespaces/ns';
let count = 0;

const failure = ({ body }: Reply): string => `${body.code} ${body.reason ?? '-'} ${body.message}`;

/** A node whose agent forwards ports of this machine, and a pod on it. */
async function podOnAgent(on: Proxied = api, features = ['PodPortsThroughKubelet']) {
  const name = `pod-${++count}`;
  const nodeName = `node-${count}`;
  const paths: string[] = [];
  const agent = createServer();
  agent.on('upgrade', (request, socket, head) => {
    paths.push(`${request.method} ${request.url}`);
    void servePortForward(request, socket, head, {
      dial: (port) => dialTcp(['127.0.0.1'], port),
      podText: `pod ${name}, uid x`,
      ports: [],
    });
  });
  on.agents.servers.set(nodeName, agent);
  await on.seed('nodes', '', {
    metadata: { name: nodeName },
    status: { addresses: [{ type: 'InternalIP', address: '127.0.0.1' }], declaredFeatures: features },
  });
  await on.pod(name, '127.0.0.1', { nodeName });
  const { body } = await on.get(`${ns}/pods/${name}`);
  return { name, nodeName, paths, uid: body.metadata.uid as string };
}

describe('pods behind an agent', () => {
  it('are reached through it, though they are on loopback', async () => {
    // Proves the path through the agent, with one connection for consecutive requests.
    const port = await api.listen('127.0.0.1', (request, response) => response.end(`pod ${request.url}`));
    const { name, paths, uid } = await podOnAgent();
    for (let i = 0; i < 5; i++)
      expect((await api.get(`${ns}/pods/${name}:${port}/proxy/x?${i}`)).text).toBe(`pod /x?${i}`);
    expect((await api.get(`/api/v1/proxy/namespaces/ns/pods/${name}:${port}/y`)).text).toBe('pod /y');
    expect(paths).toEqual([`POST /portForward/ns/${name}/${uid}?at=address`]);
  });

  it('are reached as endpoints of services too', async () => {
    // Proves that the connection does not depend on how the pod was chosen.
    const port = await api.listen('127.0.0.1', (request, response) => response.end(`pod ${request.url}`));
    const { name } = await podOnAgent();
    const targetRef = { kind: 'Pod', namespace: 'ns', name };
    await api.seed('services', 'ns', { metadata: { name }, spec: { ports: [{ port: 80 }] } });
    await api.seed('endpoints', 'ns', {
      metadata: { name },
      subsets: [{ addresses: [{ ip: '127.0.0.1', targetRef }], ports: [{ port }] }],
    });
    expect((await api.get(`${ns}/services/${name}:80/proxy/x`)).text).toBe('pod /x');
  });

  it('are refused on a node that does not say so', async () => {
    // Proves that the address policy holds for pods that are dialled directly.
    const port = await api.listen('127.0.0.1', (_request, response) => response.end('never'));
    const { name } = await podOnAgent(api, ['SomethingElse']);
    expect(failure(await api.get(`${ns}/pods/${name}:${port}/proxy/`))).toBe(
      '400 BadRequest address not allowed',
    );
  });

  it('that have no address yet are refused', async () => {
    // Proves that a pod that does not run is not dialled.
    const { nodeName } = await podOnAgent();
    await api.pod('early', undefined, { nodeName });
    expect(failure(await api.get(`${ns}/pods/early:80/proxy/`))).toBe(
      '503 ServiceUnavailable no address available for pod "early"',
    );
  });

  it('carry bodies, many requests at a time', async () => {
    // Proves that concurrent requests do not mix and do not wait for each other.
    const port = await api.listen('127.0.0.1', (request, response) => request.pipe(response));
    const { name } = await podOnAgent();
    const bodies = Array.from({ length: 12 }, () => randomBytes(200_000));
    const replies = await Promise.all(
      bodies.map((body) => api.post(`${ns}/pods/${name}:${port}/proxy/`, body)),
    );
    for (const [i, reply] of replies.entries()) expect(reply.bytes.equals(bodies[i]!)).toBe(true);
  });

  it('carry WebSockets', async () => {
    // Proves the tunnel through the agent.
    const server = createServer();
    new WebSocketServer({ server }).on('connection', (socket) => {
      socket.on('message', (data) => socket.send(`echo ${data}`));
    });
    const port = await api.listen('127.0.0.1', server);
    const { name } = await podOnAgent();
    const client = new WebSocket(`${api.url.replace('http', 'ws')}${ns}/pods/${name}:${port}/proxy/ws`);
    await once(client, 'open');
    client.send('hello');
    expect(String((await once(client, 'message'))[0])).toBe('echo hello');
    client.close(1000);
    await once(client, 'close');
  });

  it('that refuse the connection are a 503', async () => {
    // Proves that a connection refused at the agent is reported like any other.
    const { name } = await podOnAgent();
    expect(failure(await api.get(`${ns}/pods/${name}:1/proxy/`))).toBe(
      '503 ServiceUnavailable error trying to reach service: dial tcp 127.0.0.1:1: connect: connection refused',
    );
    const client = new WebSocket(`${api.url.replace('http', 'ws')}${ns}/pods/${name}:1/proxy/ws`);
    const [error] = await once(client, 'error');
    expect(String(error)).toContain('500');
  });

  it('of an agent that cannot be reached, or refuses, are a 503', async () => {
    // Proves that failures of the connection to the agent are reported.
    const { name, nodeName } = await podOnAgent();
    const refusing = createServer((_request, response) =>
      response.writeHead(404).end('pod does not exist\n'),
    );
    api.agents.servers.set(nodeName, refusing);
    expect(failure(await api.get(`${ns}/pods/${name}:1/proxy/`))).toBe(
      '503 ServiceUnavailable error trying to reach service: unable to upgrade connection: pod does not exist',
    );
    api.agents.servers.delete(nodeName);
    expect(failure(await api.get(`${ns}/pods/${name}:1/proxy/`))).toBe(
      '503 ServiceUnavailable error trying to reach service: dial tcp 127.0.0.1:10250: connect: connection refused',
    );
  });

  it('are found again when their agent has moved', async () => {
    // Proves that a cached dialer follows changes of the node object.
    const port = await api.listen('127.0.0.1', (_request, response) => response.end('here'));
    const { name, nodeName } = await podOnAgent();
    const asked = () => api.agents.asked.at(-1)!.port;
    expect((await api.get(`${ns}/pods/${name}:${port}/proxy/`)).text).toBe('here');
    expect(asked()).toBe(10_250);
    for (const line of api.agents.open) line.destroy();
    const moved = { status: { daemonEndpoints: { kubeletEndpoint: { Port: 10_999 } } } };
    expect((await api.patch(`/api/v1/nodes/${nodeName}/status`, moved)).status).toBe(200);
    expect((await api.get(`${ns}/pods/${name}:${port}/proxy/`)).text).toBe('here');
    expect(asked()).toBe(10_999);
  });

  it('are let go of when the server closes', async () => {
    // Proves that no connection to an agent is left behind.
    const own = new Proxied();
    await own.start();
    const port = await own.listen('127.0.0.1', (_request, response) => response.end('here'));
    const { name } = await podOnAgent(own);
    expect((await own.get(`${ns}/pods/${name}:${port}/proxy/`)).text).toBe('here');
    expect(own.agents.open.size).toBe(1);
    const [line] = own.agents.open;
    const closed = once(line!, 'close');
    await own.stop();
    await closed;
    own.closeAll();
    expect(own.agents.open.size).toBe(0);
    expect(own.failures).toEqual([]);
  });

  it('meet no failure of the server', () => {
    // Proves that every refusal above was intended: no internal error was reported.
    expect(api.failures).toEqual([]);
  });
});
