import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { Duplex, PassThrough, Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { KubeConfig, PortForward } from '@kubernetes/client-node';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { type PortForwardServing, servePortForward } from './portforwardserver.ts';
import { SpdyConnection } from './spdyconnection.ts';
import type { SpdyStream } from './spdystream.ts';
import { spdyRequest, text, UpgradeServer, until, webSocketRequest } from './upgradeserver.case.ts';
import { WebSocketBytes } from './websocketbytes.ts';

const tunnelName = 'SPDY/3.1+portforward.k8s.io';
const refused = 'dial tcp 127.0.0.1:1: connect: connection refused';

let server: UpgradeServer | undefined;
const targets: Server[] = [];
const accepted = new Set<Socket>();
/** The forwarder's side of its connections to targets. */
const dialled = new Set<Socket>();
afterEach(async () => {
  vi.useRealTimers();
  await server?.close();
  server = undefined;
  for (const socket of [...accepted, ...dialled]) socket.destroy();
  for (const target of targets.splice(0)) target.close();
});

/** A TCP server in the pod; port 1 refuses. */
async function target(serve: (socket: Socket) => void): Promise<number> {
  const listener = createServer({ allowHalfOpen: true }, (socket) => {
    accepted.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => accepted.delete(socket));
    serve(socket);
  });
  targets.push(listener);
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return (listener.address() as AddressInfo).port;
}

async function dial(port: number): Promise<Socket> {
  if (port === 1) throw new Error(refused);
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  dialled.add(socket);
  socket.once('close', () => dialled.delete(socket));
  await once(socket, 'connect');
  return socket;
}

async function serve(serving: Partial<PortForwardServing> = {}): Promise<UpgradeServer> {
  server = await new UpgradeServer((request, socket, head) =>
    servePortForward(request, socket, head, { ports: [], dial, podText: 'pod web, uid 7', ...serving }),
  ).listen();
  return server;
}

/** A SPDY client inside a WebSocket. `ws` knows neither to ask for the subprotocol nor to be given it. */
async function tunnel(): Promise<SpdyConnection> {
  const webSocket = new WebSocket(server!.url(), { headers: { 'Sec-WebSocket-Protocol': tunnelName } });
  webSocket.on('upgrade', ({ headers }) => {
    expect(headers['sec-websocket-protocol']).toBe(tunnelName);
    delete headers['sec-websocket-protocol'];
  });
  await once(webSocket, 'open');
  return new SpdyConnection(new WebSocketBytes(webSocket), { role: 'client' });
}

type Client = () => Promise<SpdyConnection>;
const clients: [string, Client][] = [
  ['SPDY', async () => (await server!.spdy(['portforward.k8s.io'])).connection],
  ['SPDY in a WebSocket', tunnel],
];

let requests = 0;
async function open(
  connection: SpdyConnection,
  port: number,
): Promise<{ error: SpdyStream; data: SpdyStream }> {
  const requestID = `${requests++}`;
  const error = await connection.openStream({ streamType: 'error', port: `${port}`, requestID });
  error.end();
  return { error, data: await connection.openStream({ streamType: 'data', port: `${port}`, requestID }) };
}

const echo = (socket: Socket) => void socket.pipe(socket);

describe.each(clients)('port-forward over %s', (_name, client) => {
  it('forwards connections, each on its own', async () => {
    // Proves that pairs of streams may interleave, that bytes go both ways, and how a connection ends.
    const port = await target(echo);
    await serve();
    const connection = await client();
    const streamOf = (streamType: string, requestID: string) =>
      connection.openStream({ streamType, port: `${port}`, requestID });
    const errors = [await streamOf('error', 'a'), await streamOf('error', 'b')];
    const datas = [await streamOf('data', 'a'), await streamOf('data', 'b')];
    datas[0]!.end('first');
    datas[1]!.end('second');
    expect(await Promise.all(datas.map(text))).toEqual(['first', 'second']);
    expect(await Promise.all(errors.map(text))).toEqual(['', '']);
    connection.close();
    await server!.over();
  });

  it('passes on the end of each direction alone', async () => {
    // Proves half close both ways: a target that answers after the end of its input, and one that ends first.
    const answers = await target((socket) => {
      let got = '';
      socket.on('data', (chunk) => (got += chunk)).on('end', () => socket.end(`got ${got}`));
    });
    let late = '';
    const endsFirst = await target((socket) => {
      socket.end('bye');
      socket.on('data', (chunk) => (late += chunk));
    });
    await serve();
    const connection = await client();
    const first = await open(connection, answers);
    first.data.end('question');
    expect(await text(first.data)).toBe('got question');
    expect(await text(first.error)).toBe('');
    const second = await open(connection, endsFirst);
    expect(await text(second.data)).toBe('bye');
    second.data.end('still here');
    expect(await text(second.error)).toBe('');
    expect(late).toBe('still here');
    connection.close();
    await server!.over();
  });

  it('ends the error stream of a target that has ended, though the client has not', async () => {
    // Proves that kubectl before 1.32, which waits for that, is not left waiting.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const port = await target((socket) => socket.end('bye'));
    await serve();
    const connection = await client();
    const { data, error } = await open(connection, port);
    expect(await text(data)).toBe('bye');
    vi.advanceTimersByTime(1_000);
    expect(await text(error)).toBe('');
    data.reset();
    await until(() => expect(dialled.size).toBe(0));
    connection.close();
    await server!.over();
  });

  it('tells of a failed dial', async () => {
    // Proves the text, the ends of both streams, and that the connection lives on.
    const port = await target(echo);
    await serve();
    const connection = await client();
    const { data, error } = await open(connection, 1);
    data.write('anything');
    expect(await text(error)).toBe(`error forwarding port 1 to pod web, uid 7: ${refused}`);
    expect(await text(data)).toBe('');
    const good = await open(connection, port);
    good.data.end('x');
    expect(await text(good.data)).toBe('x');
    connection.close();
    await server!.over();
  });

  it('says nothing of a connection that broke later', async () => {
    // Proves that kubectl is not made to give up: the data stream is reset, the error stream ends empty.
    const port = await target((socket) => socket.once('data', () => socket.resetAndDestroy()));
    await serve();
    const connection = await client();
    const { data, error } = await open(connection, port);
    const reset = once(data, 'reset');
    data.write('x');
    data.resume();
    expect(await text(error)).toBe('');
    await reset;
    connection.close();
    await server!.over();
  });

  it('destroys the target when the client resets', async () => {
    // Proves that a reset of the data stream, and the end of the connection, free the target.
    const port = await target((socket) => void socket.write('hello'));
    await serve();
    const connection = await client();
    const first = await open(connection, port);
    const second = await open(connection, port);
    await Promise.all([once(first.data, 'data'), once(second.data, 'data')]);
    expect(dialled.size).toBe(2);
    first.data.reset();
    await until(() => expect(dialled.size).toBe(1));
    connection.destroy();
    await until(() => expect(dialled.size).toBe(0));
    await server!.over();
    await until(() => expect(server!.sockets.size).toBe(0));
  });

  it('refuses streams without a port or a type', async () => {
    // Proves that such streams are reset without a reply.
    await serve();
    const connection = await client();
    for (const headers of [
      { streamType: 'error', requestID: '0' },
      { streamType: 'error', port: '0', requestID: '0' },
      { streamType: 'error', port: '65536', requestID: '0' },
      { streamType: 'error', port: '8e1', requestID: '0' },
      { streamType: 'stdout', port: '80', requestID: '0' },
      { port: '80', requestID: '0' },
    ] as Record<string, string>[])
      await expect(connection.openStream(headers)).rejects.toThrow('Stream reset');
    connection.close();
    await server!.over();
  });

  it('pairs the streams of clients that number nothing', async () => {
    // Proves the rule for 1.0: a data stream belongs to the error stream opened before it.
    const port = await target(echo);
    await serve();
    const connection = await client();
    await connection.openStream({ streamType: 'error', port: `${port}` });
    const data = await connection.openStream({ streamType: 'data', port: `${port}` });
    data.end('hello');
    expect(await text(data)).toBe('hello');
    connection.close();
    await server!.over();
  });

  it('complains of a stream that is there already', async () => {
    // Proves the text, and that the pair still works.
    const port = await target(echo);
    await serve();
    const connection = await client();
    const headers = { streamType: 'error', port: `${port}`, requestID: '5' };
    const error = await connection.openStream(headers);
    const twice = await connection.openStream(headers);
    const data = await connection.openStream({ ...headers, streamType: 'data' });
    data.end('x');
    expect(await text(data)).toBe('x');
    expect(await text(error)).toBe('error processing stream for request 5: error stream already assigned');
    expect(await text(twice)).toBe('');
    connection.close();
    await server!.over();
  });

  it('closes when the pod ends', async () => {
    // Proves that kubectl learns of it, and that targets are freed.
    const ended = new AbortController();
    const port = await target(echo);
    await serve({ ended: ended.signal });
    const connection = await client();
    const { data } = await open(connection, port);
    data.write('x');
    await once(data, 'data');
    ended.abort();
    await connection.closed;
    await server!.over();
    await until(() => expect(dialled.size).toBe(0));
  });

  it('carries much, both ways, to slow readers', async () => {
    // Proves that nothing is lost, and that memory is bounded by the slowest.
    const port = await target(echo);
    await serve();
    const connection = await client();
    const { data, error } = await open(connection, port);
    const piece = randomBytes(1024 * 1024);
    const [sent, got] = [createHash('sha256'), createHash('sha256')];
    Readable.from(
      (function* () {
        for (let i = 0; i < 8; i++) {
          sent.update(piece);
          yield piece;
        }
      })(),
    ).pipe(data);
    let bytes = 0;
    for await (const chunk of data) {
      if (bytes < 1_000_000) await sleep(1);
      bytes += chunk.length;
      got.update(chunk);
    }
    expect(bytes).toBe(8 * piece.length);
    expect(got.digest('hex')).toBe(sent.digest('hex'));
    expect(await text(error)).toBe('');
    connection.close();
    await server!.over();
  });
});

describe('port-forward over SPDY', () => {
  it('serves hundreds of connections, eight at a time', async () => {
    // Proves that nothing of a connection is left when it is over.
    const port = await target(echo);
    await serve();
    const { connection } = await server!.spdy(['portforward.k8s.io']);
    // More streams than may be open at once.
    let left = 520;
    const worker = async () => {
      while (left-- > 0) {
        const { data, error } = await open(connection, port);
        data.end('ping');
        expect(await text(data)).toBe('ping');
        expect(await text(error)).toBe('');
      }
    };
    await Promise.all(Array.from({ length: 8 }, worker));
    await until(() => expect(dialled.size).toBe(0));
    connection.close();
    await server!.over();
  });

  it('forgets pairs that stay incomplete', async () => {
    // Proves the limit of 30 s: a text on the error stream if there is one, a reset data stream otherwise.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    await serve();
    const { connection } = await server!.spdy(['portforward.k8s.io']);
    const error = await connection.openStream({ streamType: 'error', port: '80', requestID: '1' });
    const data = await connection.openStream({ streamType: 'data', port: '80', requestID: '2' });
    const reset = once(data, 'reset');
    vi.advanceTimersByTime(30_000);
    vi.useRealTimers();
    expect(await text(error)).toBe('timed out waiting for the streams of request 1');
    await reset;
    connection.close();
    await server!.over();
  });

  it('speaks only portforward.k8s.io', async () => {
    // Proves the negotiation, with and without the header.
    await serve();
    expect(await server!.answer(spdyRequest(['v4.channel.k8s.io']))).toMatch(
      /^HTTP\/1.1 403 [\s\S]*X-Accepted-Stream-Protocol-Versions: portforward.k8s.io\r\n/,
    );
    const { head, connection } = await server!.spdy([]);
    expect(head).toContain('X-Stream-Protocol-Version: portforward.k8s.io');
    connection.close();
    expect(
      await server!.answer(webSocketRequest('Sec-WebSocket-Protocol: SPDY/3.1+v4.channel.k8s.io')),
    ).toMatch(/^HTTP\/1.1 403 [\s\S]*Content-Length: 0\r\n\r\n$/);
  });
});

describe('tunnel', () => {
  const dialTunnel = async () => {
    const webSocket = new WebSocket(server!.url(), { headers: { 'Sec-WebSocket-Protocol': tunnelName } });
    webSocket.on('upgrade', ({ headers }) => delete headers['sec-websocket-protocol']);
    await once(webSocket, 'open');
    return webSocket;
  };

  it('knows no message boundaries', async () => {
    // Proves that a SPDY frame may come in messages of one byte.
    await serve();
    const webSocket = await dialTunnel();
    const got: Buffer[] = [];
    webSocket.on('message', (data: Buffer, binary) => {
      expect(binary).toBe(true);
      got.push(data);
    });
    const ping = Buffer.from('800300060000000400000001', 'hex');
    for (const byte of ping) webSocket.send(Buffer.from([byte]));
    await until(() => expect(Buffer.concat(got)).toEqual(ping));
    webSocket.close();
    await server!.over();
  });

  it('is closed with 1000', async () => {
    // Proves the close code, when the client says it is leaving and when the pod ends.
    const ended = new AbortController();
    await serve({ ended: ended.signal });
    const leaving = await dialTunnel();
    const left = once(leaving, 'close');
    leaving.send(Buffer.from('80030007000000080000000000000000', 'hex'));
    expect((await left)[0]).toBe(1000);
    const cut = await dialTunnel();
    const closed = once(cut, 'close');
    ended.abort();
    expect((await closed)[0]).toBe(1000);
    await server!.over();
  });

  it('ends on a text message', async () => {
    // Proves that text is an error.
    await serve();
    const webSocket = await dialTunnel();
    webSocket.send('text');
    await once(webSocket, 'close');
    await server!.over();
    await until(() => expect(server!.sockets.size).toBe(0));
  });
});

describe('port-forward over channels', () => {
  const channels = async (protocols: string[]) => {
    const webSocket = new WebSocket(server!.url(), protocols);
    const messages: Buffer[] = [];
    webSocket.on('message', (data: Buffer) => messages.push(data));
    const closed = once(webSocket, 'close').then(([code]) => code as number);
    await once(webSocket, 'open');
    return { webSocket, messages, closed };
  };

  it('begins with the vector', async () => {
    // Proves the first messages for port 8080, and the refusal of v5.
    await serve({ ports: [8080], dial: () => new Promise(() => undefined) });
    const { webSocket, messages } = await channels(['v5.channel.k8s.io', 'v4.channel.k8s.io']);
    await until(() => expect(messages.map((data) => data.toString('hex'))).toEqual(['00901f', '01901f']));
    expect(webSocket.protocol).toBe('v4.channel.k8s.io');
    webSocket.terminate();
    await server!.over();
  });

  it.each(['v4.channel.k8s.io', 'v4.base64.channel.k8s.io', ''])(
    'forwards several ports: %j',
    async (protocol) => {
      // Proves that each port has its two channels, ends alone, and that the last end closes with 1000.
      const ends = (greeting: string) => (socket: Socket) =>
        socket.once('data', (data) => socket.end(`${greeting} ${data}`));
      const ports = [await target(ends('a')), 1, await target(ends('b'))];
      await serve({ ports });
      const { webSocket, messages, closed } = await channels(protocol ? [protocol] : []);
      const base64 = protocol.includes('base64');
      const send = (channel: number, data: string) =>
        webSocket.send(
          base64
            ? `${channel}${Buffer.from(data).toString('base64')}`
            : Buffer.from([channel, ...Buffer.from(data)]),
        );
      const on = (channel: number) =>
        Buffer.concat(
          messages
            .filter((data) => data[0] === (base64 ? 0x30 + channel : channel))
            .map((data) => (base64 ? Buffer.from(data.toString('latin1', 1), 'base64') : data.subarray(1))),
        ).toString('latin1', 2);
      send(0, 'one');
      send(9, 'to nobody');
      send(1, 'to nobody');
      await until(() => expect(on(0)).toBe('a one'));
      send(4, 'two');
      expect(await closed).toBe(1000);
      expect([0, 1, 2, 3, 4, 5].map(on)).toEqual([
        'a one',
        '',
        '',
        `error forwarding port 1 to pod web, uid 7: ${refused}`,
        'b two',
        '',
      ]);
      await server!.over();
    },
  );

  it('requires ports, and not too many', async () => {
    // Proves the refusals, and that v5 alone is one.
    await serve();
    expect(await server!.answer(webSocketRequest())).toMatch(
      /^HTTP\/1.1 400 [\s\S]*\r\n\r\nquery parameter "port" is required$/,
    );
    await server!.close();
    await serve({ ports: Array.from({ length: 129 }, () => 80) });
    expect(await server!.answer(webSocketRequest())).toMatch(/^HTTP\/1.1 400 /);
    await server!.close();
    await serve({ ports: [80] });
    expect(await server!.answer(webSocketRequest('Sec-WebSocket-Protocol: v5.channel.k8s.io'))).toMatch(
      /^HTTP\/1.1 403 /,
    );
  });

  it('stops a client while one target is slow, and loses nothing', async () => {
    // Proves back-pressure in: little more is read, though the other target always has room, and all arrives at last.
    const got = [0, 0];
    let go!: () => void;
    const released = new Promise<void>((resolve) => (go = resolve));
    const taking = (index: number, ready: Promise<unknown>) =>
      new Duplex({
        highWaterMark: 1024,
        read: () => undefined,
        write: (chunk: Buffer, _encoding, done) => {
          got[index]! += chunk.length;
          void ready.then(() => setImmediate(done));
        },
      });
    const duplexes = [taking(0, released), taking(1, Promise.resolve())];
    await serve({ ports: [80, 81], dial: async (port) => duplexes[port - 80]! });
    const { webSocket } = await channels(['v4.channel.k8s.io']);
    const total = 2 * 1024 * 1024;
    // Small messages in turn, so that whatever is read holds some for each.
    for (let i = 0; i < total; i += 1024) {
      webSocket.send(Buffer.alloc(1025));
      webSocket.send(Buffer.alloc(1025, 2));
    }
    const [socket] = server!.sockets;
    let before = -1;
    while (before !== socket!.bytesRead) {
      before = socket!.bytesRead;
      await sleep(200);
    }
    expect(before).toBeLessThan(total / 2);
    go();
    await until(() => expect(got).toEqual([total, total]));
    webSocket.close();
    await server!.over();
    expect(duplexes.map(({ destroyed }) => destroyed)).toEqual([true, true]);
  });

  it('is closed with 1000 when the pod ends, or it is idle', async () => {
    // Proves both ends, and that targets are freed.
    const ended = new AbortController();
    const ports = [await target(() => undefined)];
    await serve({ ports, ended: ended.signal });
    const first = await channels(['v4.channel.k8s.io']);
    await until(() => expect(dialled.size).toBe(1));
    ended.abort();
    expect(await first.closed).toBe(1000);
    await server!.close();
    await serve({ ports, idleMs: 100 });
    const second = await channels(['v4.channel.k8s.io']);
    expect(await second.closed).toBe(1000);
    await until(() => expect(dialled.size).toBe(0));
  });

  it('survives hostile messages', async () => {
    // Proves that nothing a client sends crashes the server or leaves anything behind.
    const ports = [await target(echo)];
    await serve({ ports });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('v4.channel.k8s.io', 'v4.base64.channel.k8s.io'),
        fc.array(fc.oneof(fc.uint8Array({ maxLength: 300 }), fc.string()), { maxLength: 20 }),
        async (protocol, messages) => {
          const { webSocket, closed } = await channels([protocol]);
          for (const message of messages) webSocket.send(message);
          webSocket.terminate();
          await closed;
        },
      ),
      { numRuns: 100 },
    );
    await server!.over();
    await until(() => expect([server!.sockets.size, dialled.size]).toEqual([0, 0]));
  });

  it('serves client-node', async () => {
    // Proves that the real client is served, though it lists v5 first.
    const port = await target((socket) => socket.once('data', (data) => socket.end(`hello ${data}`)));
    await serve({ ports: [port] });
    const kubeConfig = new KubeConfig();
    kubeConfig.loadFromClusterAndUser(
      { name: 'c', server: server!.url('').replace('ws:', 'http:'), skipTLSVerify: true },
      { name: 'u' },
    );
    const [input, output, errors] = [new PassThrough(), new PassThrough(), new PassThrough()];
    let out = '';
    let err = '';
    output.on('data', (chunk) => (out += chunk));
    errors.on('data', (chunk) => (err += chunk));
    const socket = (await new PortForward(kubeConfig).portForward(
      'ns',
      'pod',
      [port],
      output,
      errors,
      input,
    )) as WebSocket;
    const closed = once(socket, 'close');
    input.write('world');
    expect((await closed)[0]).toBe(1000);
    expect([out, err]).toEqual(['hello world', '']);
    await server!.over();
  });
});
