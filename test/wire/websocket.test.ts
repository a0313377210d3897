/** Watches over WebSockets. Wire contract, section 8.8. */
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { type Json, useCluster } from '../support/http.ts';
import { configMap, configMaps, created, currentVersion } from './objects.ts';

const client = useCluster();

interface Opened {
  readonly socket: WebSocket;
  /** The text of the next frame. */
  next(): Promise<string>;
  readonly closed: Promise<number>;
}

/** Opens a socket and collects its frames. */
async function open(query = '', protocols: string[] = [], path = configMaps): Promise<Opened> {
  const socket = new WebSocket(`${client.url.replace('http', 'ws')}${path}?watch=true${query}`, protocols);
  const frames: string[] = [];
  const waiting: ((frame: string) => void)[] = [];
  socket.on('message', (data, binary) => {
    expect(binary).toBe(false);
    const frame = String(data);
    const waiter = waiting.shift();
    if (waiter) waiter(frame);
    else frames.push(frame);
  });
  const closed = new Promise<number>((resolve) => socket.on('close', resolve));
  await new Promise<void>((resolve, reject) => socket.on('open', resolve).on('error', reject));
  return {
    socket,
    closed,
    next: () =>
      frames.length ? Promise.resolve(frames.shift()!) : new Promise((resolve) => waiting.push(resolve)),
  };
}

/** The code and body of a refused handshake. */
function refusal(path: string, headers: Record<string, string> = {}): Promise<{ code: number; body: Json }> {
  return new Promise((resolve, reject) => {
    const handshake = {
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': 'dGhlIHNhbXBsZSBub25jZQ==',
    };
    request(`${client.url}${path}`, { headers: { ...handshake, ...headers } })
      .on('response', async (response) => {
        let text = '';
        for await (const chunk of response) text += chunk;
        resolve({ code: response.statusCode!, body: JSON.parse(text) });
      })
      .on('upgrade', (_, socket) => {
        socket.destroy();
        reject(new Error('the connection was upgraded'));
      })
      .on('error', reject)
      .end();
  });
}

describe('a watch over a WebSocket', () => {
  it('has the form that a parameter asks for, since pages cannot set headers', async () => {
    const from = await currentVersion(client);
    const table = encodeURIComponent('application/json;as=Table;v=v1;g=meta.k8s.io');
    const { socket, next } = await open(`&resourceVersion=${from}&accept=${table}`);
    await created(client, configMaps, configMap('as-a-row'));
    expect(JSON.parse(await next())).toMatchObject({
      type: 'ADDED',
      object: { kind: 'Table', rows: [{ object: { metadata: { name: 'as-a-row' } } }] },
    });
    socket.close();
    expect(await refusal(`${configMaps}?watch=true&accept=text/plain`)).toMatchObject({ code: 406 });
  });

  it('sends each event as a text frame, like a line', async () => {
    const watch = await open(`&resourceVersion=${await currentVersion(client)}`);
    const object = await created(client, configMaps, configMap('framed'));
    expect(await watch.next()).toBe(`${JSON.stringify({ type: 'ADDED', object })}\n`);
    await client.delete(`${configMaps}/framed`);
    expect(JSON.parse(await watch.next()).type).toBe('DELETED');
    watch.socket.close();
    await watch.closed;
  });

  it('ends with a close frame', async () => {
    const watch = await open('&timeoutSeconds=1');
    expect(await watch.closed).toBe(1000);
  });

  it('ignores what the client says', async () => {
    const watch = await open(`&resourceVersion=${await currentVersion(client)}`);
    watch.socket.send('hello');
    await created(client, configMaps, configMap('unmoved'));
    expect(JSON.parse(await watch.next()).object.metadata.name).toBe('unmoved');
    watch.socket.close();
    await watch.closed;
  });

  it('needs no Origin, and works under /watch/', async () => {
    const watch = await open('', [], '/api/v1/watch/namespaces/default/configmaps');
    expect(JSON.parse(await watch.next()).type).toBe('ADDED');
    watch.socket.close();
    await watch.closed;
  });

  it('echoes a protocol, the first of several, and never a token', async () => {
    const token = 'base64url.bearer.authorization.k8s.io.dG9rZW4';
    for (const [offered, echoed] of [
      [['v4.channel.k8s.io'], 'v4.channel.k8s.io'],
      [['a.example', 'b.example'], 'a.example'],
      [[token, 'binary.k8s.io'], 'binary.k8s.io'],
      [[], ''],
    ] as [string[], string][]) {
      const watch = await open('', offered);
      expect(watch.socket.protocol).toBe(echoed);
      watch.socket.close();
      await watch.closed;
    }
  });

  it('takes the Connection header as a list, in any case', async () => {
    await expect(
      refusal(`${configMaps}?watch=true`, { Connection: 'keep-alive, UPGRADE', Upgrade: 'WebSocket' }),
    ).rejects.toThrow('the connection was upgraded');
  });

  it('is refused with a Status when it cannot be', async () => {
    const selector = await refusal(`${configMaps}?watch=true&labelSelector=%3D`);
    expect(selector).toMatchObject({ code: 400, body: { kind: 'Status', reason: 'BadRequest' } });
    const version = await refusal(`${configMaps}?watch=true&resourceVersion=abc`);
    expect(version).toMatchObject({ code: 422, body: { kind: 'Status', reason: 'Invalid' } });
  });
});

it('pings of a client that does not read are not answered beyond a bound', async () => {
  // Proves that such a client cannot fill the memory: all answers were kept.
  const pings = 200_000;
  const { hostname, port } = new URL(client.url);
  const socket = connect(Number(port), hostname);
  socket.write(
    `GET ${configMaps}?watch=true HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  );
  const [head] = (await once(socket, 'data')) as [Buffer];
  expect(head.toString('latin1')).toMatch(/^HTTP\/1.1 101 /);
  socket.pause();
  const ping = Buffer.concat([Buffer.from('89fd00000000', 'hex'), Buffer.alloc(125)]);
  const some = Buffer.concat(Array.from({ length: 1_000 }, () => ping));
  for (let sent = 0; sent < pings; sent += 1_000) await new Promise((resolve) => socket.write(some, resolve));
  let bytes = 0;
  let lastMs = Date.now();
  socket.on('data', (chunk) => {
    bytes += chunk.length;
    lastMs = Date.now();
  });
  socket.resume();
  while (Date.now() - lastMs < 1_000) await new Promise((resolve) => setTimeout(resolve, 50));
  socket.destroy();
  // What the system keeps for a connection is some megabytes.
  expect(bytes).toBeLessThan((pings * 127) / 2);
  expect(bytes).toBeGreaterThan(0);
});
