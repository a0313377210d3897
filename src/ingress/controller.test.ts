/** The ingress controller with a real cluster: traffic, statuses and events follow the API. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Agent, createServer } from 'node:http';
import { describe, expect, it, vi } from 'vitest';
import WebSocket, { WebSocketServer } from 'ws';
import type { IngressV1 } from '../api/generated/types.ts';
import { endpoints } from '../client/endpoints.fixture.ts';
import { events, ingressClasses, ingresses, type Resource, services } from '../client/resources.ts';
import {
  address,
  answered,
  ask,
  expose,
  listening,
  namespace,
  route,
  serve,
  subsetsOf,
  until,
  useIngress,
} from './ingress.fixture.ts';

const stage = useIngress();
const port = () => stage.controller.port;

/** A backend that answers with its name. */
const named = (name: string): Promise<number> => serve((_request, response) => response.end(name));

describe('traffic', () => {
  it('goes to the service of the rule, by number and by name, in both versions', async () => {
    // Proves the path from an ingress through service and endpoints to a backend, as objects are created and deleted.
    const { client } = stage;
    expect(await ask(port(), 'new.com')).toMatchObject({ status: 404, text: 'default backend - 404' });
    await expose(client, 'new', await named('new'));
    const v1: Resource<IngressV1> = { apiVersion: 'networking.k8s.io/v1', resource: 'ingresses' };
    const service = { name: 'new', port: { name: 'web' } };
    await client.create(v1, namespace, {
      metadata: { name: 'new' },
      spec: {
        rules: [
          { host: 'new.com', http: { paths: [{ path: '/a', pathType: 'Exact', backend: { service } }] } },
        ],
      },
    });
    expect((await answered(port(), 'new.com', 200, '/a')).text).toBe('new');
    expect((await ask(port(), 'NEW.com.:8080', { path: '/a?b' })).text).toBe('new');
    expect((await ask(port(), 'new.com', { path: '/a/b' })).status).toBe(404);
    await route(client, 'old', '*.old.com', { backend: undefined });
    expect((await answered(port(), 'a.old.com', 503)).text).toBe('service "old" has no endpoints');
    await expose(client, 'old', await named('old'));
    expect((await answered(port(), 'a.old.com', 200)).text).toBe('old');
    await client.delete(ingresses, namespace, 'old');
    await answered(port(), 'a.old.com', 404);
    expect(stage.dialled[0]).toMatchObject({ ip: '10.9.8.7', pod: { namespace, name: 'pod' } });
    expect(stage.failures).toEqual([]);
  });

  it('is spread over ready endpoints, and passes by one that is gone', async () => {
    // Proves the rotation, and that a refused connection is retried at another endpoint.
    const { client } = stage;
    const closed = await new Promise<number>((resolve) => {
      const server = createServer().listen(0, '127.0.0.1', () => {
        const { port: free } = server.address() as { port: number };
        server.close(() => resolve(free));
      });
    });
    const [a, b] = [await named('a'), await named('b')];
    await expose(client, 'many', a, b, closed);
    await route(client, 'many', 'many.com');
    await answered(port(), 'many.com', 200);
    // Each endpoint is in a slice of its own, and slices are seen one after the other.
    for (const name of ['a', 'b'])
      await until(
        () => ask(port(), 'many.com'),
        (reply) => reply.text === name,
      );
    const seen: string[] = [];
    for (let i = 0; i < 6; i++) seen.push((await ask(port(), 'many.com')).text);
    expect(seen.filter((text) => text === 'a').length + seen.filter((text) => text === 'b').length).toBe(6);
    expect(new Set(seen).size).toBe(2);
    await client.patch(endpoints, namespace, 'many', { subsets: subsetsOf([closed]) });
    const { text } = await answered(port(), 'many.com', 503);
    expect(text).toBe('service "many" cannot be reached');
    await client.patch(endpoints, namespace, 'many', { subsets: [] });
    await until(
      () => ask(port(), 'many.com'),
      (reply) => reply.text === 'service "many" has no endpoints',
    );
    await client.delete(services, namespace, 'many');
    expect(stage.failures).toEqual([]);
  });

  it('shows backends where it comes from, and nothing that a client made up about that', async () => {
    // Proves the forwarding headers, also when a client lists them in Connection.
    const { client } = stage;
    const echo = await serve(({ headers, url }, response) => response.end(JSON.stringify({ headers, url })));
    await expose(client, 'echo', echo);
    await route(client, 'echo', 'echo.com');
    await answered(port(), 'echo.com', 200);
    const reply = await ask(port(), 'echo.com:81', {
      path: '/a%2Fb/../c?d=%20e',
      headers: {
        Authorization: 'Bearer mine',
        Connection: 'close, X-Forwarded-Proto, X-Mine, X-Real-Ip',
        'X-Mine': '1',
        'X-Forwarded-For': '6.6.6.6',
        'X-Forwarded-Proto': 'https',
        'X-Forwarded-Host': 'evil.com',
        X_Forwarded_Host: 'evil.com',
        'X-Real-IP': '6.6.6.6',
        Forwarded: 'for=6.6.6.6',
      },
    });
    const { headers, url } = JSON.parse(reply.text);
    expect(url).toBe('/a%2Fb/../c?d=%20e');
    expect(headers).toMatchObject({
      host: 'echo.com:81',
      authorization: 'Bearer mine',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-host': 'echo.com:81',
      'x-forwarded-port': String(port()),
      'x-forwarded-proto': 'http',
      'x-real-ip': '127.0.0.1',
    });
    for (const name of ['x-mine', 'forwarded', 'x_forwarded_host']) expect(headers).not.toHaveProperty(name);
  });

  it('of any size streams both ways, over connections that are kept', async () => {
    // Proves that bodies are streamed, and that keep-alive works for clients.
    const { client } = stage;
    const mirror = await serve((request, response) => request.pipe(response));
    await expose(client, 'mirror', mirror);
    await route(client, 'mirror', 'mirror.com');
    await answered(port(), 'mirror.com', 200);
    const body = randomBytes(8 * 1024 * 1024);
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const local = new Set<number | undefined>();
    agent.on('free', (socket) => local.add(socket.localPort));
    for (let i = 0; i < 2; i++) {
      const options = { agent, method: 'POST', headers: { 'Content-Length': String(body.length) }, body };
      const { bytes } = await ask(port(), 'mirror.com', options);
      expect(bytes.equals(body)).toBe(true);
    }
    expect(local.size).toBe(1);
    agent.destroy();
  });

  it('may become a WebSocket', async () => {
    // Proves upgrades, and the answer when no backend accepts them.
    const { client } = stage;
    const server = createServer((_request, response) => response.writeHead(426).end());
    new WebSocketServer({ server }).on('connection', (socket, { url, headers }) =>
      socket.send(`${headers.authorization} ${url}`),
    );
    await expose(client, 'socket', await listening(server));
    await route(client, 'socket', 'socket.com');
    await answered(port(), 'socket.com', 426);
    const open = (host: string) =>
      new WebSocket(`ws://127.0.0.1:${port()}/x?y`, { headers: { Host: host, Authorization: 'mine' } });
    const socket = open('socket.com');
    expect(String((await once(socket, 'message'))[0])).toBe('mine /x?y');
    socket.terminate();
    for (const [host, status] of [
      ['nobody.com', 404],
      ['many.com', 503],
    ] as const) {
      const refused = open(host).on('error', () => undefined);
      expect((await once(refused, 'unexpected-response'))[1].statusCode).toBe(status);
      refused.terminate();
    }
  });

  it('with an offer of HTTP/2 is plain HTTP', async () => {
    // Proves that clients that offer h2c with every request are served.
    const headers = {
      Connection: 'Upgrade, HTTP2-Settings',
      Upgrade: 'h2c',
      'HTTP2-Settings': 'AAMAAABkAAQAoAAAAAIAAAAA',
    };
    const reply = await ask(port(), 'mirror.com', {
      method: 'POST',
      headers: { ...headers, 'Content-Length': '4' },
      body: 'body',
    });
    expect(reply).toMatchObject({ status: 200, text: 'body' });
  });
});

describe('what people are told', () => {
  const statusOf = (name: string) => async () =>
    (await stage.client.get(ingresses, namespace, name)).status?.loadBalancer?.ingress ?? [];

  it('statuses have the address as long as the ingress is served', async () => {
    // Proves that addresses are written, restored, and removed with the class; those of another controller stay.
    const { client } = stage;
    await route(client, 'classed', 'classed.com');
    await until(statusOf('classed'), ([first]) => first?.ip === address);
    const { metadata } = await client.get(ingresses, namespace, 'classed');
    await client.patch(ingresses, namespace, 'classed', { metadata: { labels: { a: 'b' } } });
    await client.patch(
      ingresses,
      namespace,
      'classed',
      { status: { loadBalancer: null } },
      'merge',
      'status',
    );
    await until(statusOf('classed'), ([first]) => first?.ip === address);
    await client.patch(ingresses, namespace, 'classed', { spec: { ingressClassName: 'nginx' } });
    await until(statusOf('classed'), (list) => list.length === 0);
    await answered(port(), 'classed.com', 404);
    expect(metadata.generation).toBe(1);
  });

  it('ingresses follow the class objects that they name', async () => {
    // Proves that a class of this controller is served as soon as it is there, and left when it goes.
    const { client } = stage;
    await route(client, 'byclass', 'byclass.com', { ingressClassName: 'mine' });
    await answered(port(), 'byclass.com', 404);
    const spec = { controller: 'wherry.dev/ingress' };
    await client.create(ingressClasses, undefined, { metadata: { name: 'mine' }, spec });
    await answered(port(), 'byclass.com', 503);
    await until(statusOf('byclass'), ([first]) => first?.ip === address);
    await client.delete(ingressClasses, undefined, 'mine');
    await answered(port(), 'byclass.com', 404);
    await until(statusOf('byclass'), (list) => list.length === 0);
  });

  it('statuses that another controller has written stay', async () => {
    // Proves that an address of another controller is left alone, and that one from before a restart is removed.
    const { client } = stage;
    await route(client, 'foreign', 'foreign.com', { ingressClassName: 'nginx' });
    const foreign = { status: { loadBalancer: { ingress: [{ ip: address }] } } };
    await client.patch(ingresses, namespace, 'foreign', foreign, 'merge', 'status');
    await route(client, 'later', 'later.com');
    await until(statusOf('later'), ([first]) => first?.ip === address);
    expect(await statusOf('foreign')()).toEqual([{ ip: address }]);
    const second = await stage.open();
    await until(statusOf('foreign'), (list) => list.length === 0);
    await second.close();
  });

  it('a status is written once', async () => {
    // Proves that an address that is already there is not written again, not even by a second controller.
    const { client } = stage;
    await route(client, 'once', 'once.com');
    await until(statusOf('once'), ([first]) => first?.ip === address);
    const patched = vi.spyOn(client, 'patch');
    const second = await stage.open({ tlsPort: undefined });
    await answered(second.port, 'once.com', 503);
    expect(second.tlsPort).toBeUndefined();
    await second.close();
    expect(patched.mock.calls.filter((call) => call[5] === 'status')).toEqual([]);
    patched.mockRestore();
  });

  it('events tell of paths that are taken and of backends that cannot be', async () => {
    // Proves the events about rules that do not work.
    const { client } = stage;
    await client.create(ingresses, namespace, {
      metadata: { name: 'zz-late' },
      spec: {
        backend: { resource: { kind: 'Bucket', name: 'b' } },
        rules: [{ host: 'once.com', http: { paths: [{ backend: { serviceName: 'x', servicePort: 1 } }] } }],
      },
    });
    const told = await until(
      async () =>
        (await client.list(events)).items.filter((event) => event.involvedObject?.name === 'zz-late'),
      (list) => list.length === 2,
    );
    expect(
      told.map(({ type, reason, message, source }) => [type, reason, message, source?.component]).sort(),
    ).toEqual([
      [
        'Warning',
        'PathTaken',
        'once.com/ is served for the older ingress default/once',
        'ingress-controller',
      ],
      [
        'Warning',
        'UnsupportedBackend',
        'the default backend: backends other than services are not supported',
        'ingress-controller',
      ],
    ]);
    const reply = await ask(port(), 'unknown.com');
    expect([reply.status, reply.text]).toEqual([503, 'backends other than services are not supported']);
    await client.delete(ingresses, namespace, 'zz-late');
    expect(stage.failures).toEqual([]);
  });
});
