import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { serveSession } from '../serving/session-server.ts';
import type { SessionHandler, SessionWish, TerminalSize } from '../session/session.ts';
import { openRemoteCommand } from '../spdy/remote-command-client.ts';
import { SpdyConnection } from '../spdy/spdy-connection.ts';
import type { SpdyStream } from '../spdy/spdy-stream.ts';
import { translatedProtocol, translateSession } from './websocket-translation.ts';
import { acceptWebSocket } from './websocket-upgrade.ts';

const MiB = 1024 * 1024;
const allStreams: SessionWish = { stdin: true, stdout: true, stderr: true, tty: false };

type Upgrade = (socket: Socket, head: Buffer, request: import('node:http').IncomingMessage) => void;

async function listen(onUpgrade: Upgrade, onRequest?: RequestListener): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer(onRequest ?? ((_request, response) => response.end()));
  server.on('connection', (socket) => sockets.add(socket.on('error', () => {})));
  server.on('upgrade', (request, socket, head) => onUpgrade(socket as Socket, head, request));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

const dial = (port: number) => async (): Promise<Duplex> => {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
};

const request = { method: 'POST', path: '/exec/default/web/main?output=1', headers: [] };

/** A client's WebSocket to an API server that translates for the kubelet at this port. */
async function clientOf(kubeletPort: number, wish: SessionWish): Promise<Client> {
  const port = await listen((socket, head, incoming) => {
    const accepted = acceptWebSocket(incoming, socket, head, translatedProtocol)!;
    void translateSession(accepted, () => openRemoteCommand(dial(kubeletPort), request), wish);
  });
  const client = new Client(new WebSocket(`ws://127.0.0.1:${port}/`, translatedProtocol));
  await once(client.socket, 'open');
  return client;
}

class Client {
  readonly socket: WebSocket;
  readonly messages: Buffer[] = [];
  readonly closed: Promise<number>;

  constructor(socket: WebSocket) {
    this.socket = socket;
    socket.on('message', (message: Buffer) => this.messages.push(message));
    this.closed = new Promise((resolve) => socket.once('close', resolve));
    onTestFinished(() => socket.terminate());
  }

  channel(number: number): Buffer {
    return Buffer.concat(
      this.messages.filter(([first]) => first === number).map((message) => message.subarray(1)),
    );
  }

  get status(): unknown {
    return JSON.parse(this.channel(3).toString());
  }
}

/** A kubelet with this package's code, over SPDY. */
const kubelet = (handler: SessionHandler, wish: SessionWish, kind: 'exec' | 'attach' = 'exec') =>
  listen((socket, head, incoming) => void serveSession(incoming, socket, head, { kind, wish, handler }));

/** A scripted kubelet: called with the streams by type, once all are open. */
function handmade(
  protocol: string,
  count: number,
  act: (streams: Record<string, SpdyStream>, connection: SpdyConnection) => void,
) {
  return listen((socket, head) => {
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ${protocol}\r\n\r\n`,
    );
    const streams: Record<string, SpdyStream> = {};
    const connection = new SpdyConnection(socket, {
      role: 'server',
      head,
      onStream: (stream) => {
        stream.accept();
        streams[stream.headers['streamtype']!] = stream;
        if (Object.keys(streams).length === count) act(streams, connection);
      },
    });
  });
}

describe('a translated session', () => {
  it('carries output, input and its end, and a success', async () => {
    // Proves each channel's stream, the first empty message, the close signal, and close code 1000.
    const port = await kubelet(async ({ stdin, stdout, stderr }) => {
      stderr!.write('to stderr');
      let read = '';
      for await (const chunk of stdin!) read += chunk;
      stdout!.write(`read ${read}`);
      return { kind: 'success' };
    }, allStreams);
    const client = await clientOf(port, allStreams);
    client.socket.send(Buffer.from('\0some '));
    client.socket.send(Buffer.from('\0input'));
    client.socket.send(Buffer.from([255, 0]));
    expect(await client.closed).toBe(1000);
    expect(client.messages[0]).toEqual(Buffer.from([1]));
    expect(client.channel(1).toString()).toBe('read some input');
    expect(client.channel(2).toString()).toBe('to stderr');
    expect(client.status).toEqual({ metadata: {}, status: 'Success' });
  });

  it('tells exit codes in the words of an API server', async () => {
    // Proves the status made from the kubelet's status.
    const port = await kubelet(async () => ({ kind: 'exit', code: 7 }), allStreams);
    const client = await clientOf(port, allStreams);
    expect(await client.closed).toBe(1000);
    expect(client.status).toEqual({
      metadata: {},
      status: 'Failure',
      message: 'command terminated with non-zero exit code: command terminated with exit code 7',
      reason: 'NonZeroExitCode',
      details: { causes: [{ reason: 'ExitCode', message: '7' }] },
    });
  });

  it("tells failures with the kubelet's text, prefix and all", async () => {
    // Proves that the prefix appears twice, as with Kubernetes.
    const port = await kubelet(async () => ({ kind: 'failure', message: 'no such program' }), allStreams);
    const client = await clientOf(port, allStreams);
    expect(await client.closed).toBe(1000);
    const text = 'Internal error occurred: error executing command in container: no such program';
    expect(client.status).toEqual({
      metadata: {},
      status: 'Failure',
      message: `Internal error occurred: ${text}`,
      reason: 'InternalError',
      details: { causes: [{ message: text }] },
      code: 500,
    });
  });

  it('tells of a kubelet that refuses, or cannot be reached', async () => {
    // Proves that failures after the WebSocket was accepted become statuses.
    const refusing = await listen((socket) =>
      socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 20\r\n\r\npod does not exist\r\n'),
    );
    const first = await clientOf(refusing, allStreams);
    expect(await first.closed).toBe(1000);
    expect(first.status).toMatchObject({
      message: 'Internal error occurred: unable to upgrade connection: pod does not exist',
      details: { causes: [{ message: 'unable to upgrade connection: pod does not exist' }] },
    });
    const second = await clientOf(1, allStreams);
    expect(await second.closed).toBe(1000);
    expect(second.status).toMatchObject({ reason: 'InternalError', message: /ECONNREFUSED/ as never });
  });

  it('passes sizes of the terminal on, and has no stderr then', async () => {
    // Proves that channel 4 becomes JSON objects on the resize stream, however it was split.
    const tty = { ...allStreams, tty: true };
    const seen: TerminalSize[] = [];
    const sized = await kubelet(async (session) => {
      await new Promise<void>((resolve) =>
        session.onResize((size) => {
          seen.push(size);
          if (size.width === 80) resolve();
        }),
      );
      return { kind: 'success' };
    }, tty);
    const client = await clientOf(sized, tty);
    client.socket.send(Buffer.from('\x04{"Width":100,"Hei'));
    client.socket.send(Buffer.from('\x04ght":30}{"Width":0,"Height":0}\n{"width":80,"height":24}'));
    expect(await client.closed).toBe(1000);
    // Sizes replaced by newer ones before the stream was open may be skipped.
    expect(seen.at(-1)).toEqual({ width: 80, height: 24 });
    for (const { width, height } of seen.slice(0, -1)) expect([width, height]).toEqual([100, 30]);
    expect(client.channel(2)).toHaveLength(0);
  });

  it('carries much, in both directions at once', async () => {
    // Proves that back-pressure passes through the translation and nothing is lost.
    const wish = { ...allStreams, stderr: false };
    const port = await kubelet(async ({ stdin, stdout }) => {
      await pipeline(stdin!, stdout!, { end: false });
      return { kind: 'success' };
    }, wish);
    const client = await clientOf(port, wish);
    const bytes = randomBytes(8 * MiB);
    for (let at = 0; at < bytes.length; at += MiB)
      client.socket.send(Buffer.concat([Buffer.from([0]), bytes.subarray(at, at + MiB)]));
    client.socket.send(Buffer.from([255, 0]));
    expect(await client.closed).toBe(1000);
    const sum = (data: Buffer) => createHash('sha256').update(data).digest('hex');
    expect(sum(client.channel(1))).toBe(sum(bytes));
    expect(client.status).toMatchObject({ status: 'Success' });
  });

  it('does not hold back a client whose command reads no input', async () => {
    // Proves that the session ends although megabytes of input are unread.
    const wish = { ...allStreams, stderr: false };
    const port = await kubelet(async ({ stdout }) => {
      stdout!.write('done');
      return { kind: 'success' };
    }, wish);
    const client = await clientOf(port, wish);
    for (let i = 0; i < 16; i++) client.socket.send(Buffer.alloc(MiB));
    expect(await client.closed).toBe(1000);
    expect(client.channel(1).toString()).toBe('done');
    expect(client.status).toMatchObject({ status: 'Success' });
  });

  it('ends at the kubelet when the client leaves', async () => {
    // Proves that the command is aborted when the client has gone.
    let told: () => void;
    const gone = new Promise<void>((resolve) => (told = resolve));
    const port = await kubelet(async (session) => {
      session.stdout!.write('running');
      await once(session.gone, 'abort');
      told();
      return { kind: 'success' };
    }, allStreams);
    const client = await clientOf(port, allStreams);
    while (client.channel(1).length === 0) await once(client.socket, 'message');
    client.socket.terminate();
    await gone;
  });
});

describe('the client of a kubelet', () => {
  const status = '{"metadata":{},"status":"Success"}';

  it('reads all of a kubelet that resets its streams and closes right after the status', async () => {
    // Proves that data received before the connection ended counts: real kubelets end it like that.
    const output = randomBytes(3 * MiB);
    const port = await handmade('v4.channel.k8s.io', 4, ({ error, stdout, stderr, stdin }, connection) => {
      stdout!.write(output, () =>
        error!.write(status, () => {
          for (const stream of [error!, stdout!, stderr!, stdin!]) stream.reset();
          connection.close();
        }),
      );
    });
    const client = await clientOf(port, allStreams);
    expect(await client.closed).toBe(1000);
    expect(client.channel(1).equals(output)).toBe(true);
    expect(client.status).toEqual({ metadata: {}, status: 'Success' });
  });

  it('opens the streams in order, waiting for each', async () => {
    // Proves which streams are opened for each request and version: with a terminal a resize stream and no
    // stderr, before v3 no resize stream.
    const cases: [string, SessionWish, string[]][] = [
      ['v4.channel.k8s.io', allStreams, ['error', 'stdin', 'stdout', 'stderr']],
      ['v4.channel.k8s.io', { ...allStreams, tty: true }, ['error', 'stdin', 'stdout', 'resize']],
      ['v2.channel.k8s.io', { ...allStreams, tty: true }, ['error', 'stdin', 'stdout']],
      ['', { ...allStreams, stdin: false }, ['error', 'stdout', 'stderr']],
    ];
    for (const [protocol, wish, wanted] of cases) {
      const port = await handmade(protocol, wanted.length, (streams, connection) => {
        expect(Object.keys(streams)).toEqual(wanted);
        if (protocol === 'v4.channel.k8s.io') streams['error']!.write(status);
        for (const stream of Object.values(streams)) stream.end();
        setImmediate(() => connection.close());
      });
      const client = await clientOf(port, wish);
      expect(await client.closed).toBe(1000);
      expect(client.status).toMatchObject({ status: 'Success' });
    }
  });

  it.each([
    ['v4.channel.k8s.io', '', 'the connection to the node ended before the session did'],
    ['v4.channel.k8s.io', 'not JSON', 'error stream protocol error: not a status: "not JSON"'],
    ['v4.channel.k8s.io', 'null', 'error stream protocol error: unknown error'],
    ['v4.channel.k8s.io', '{"status":"Failure","message":"TEXT"}', 'TEXT'],
    [
      'v4.channel.k8s.io',
      '{"status":"Failure","reason":"NonZeroExitCode"}',
      'error stream protocol error: details must be set',
    ],
    [
      'v4.channel.k8s.io',
      '{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[null,{"reason":"x"}]}}',
      'error stream protocol error: no ExitCode cause given',
    ],
    [
      'v4.channel.k8s.io',
      '{"status":"Failure","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"300"}]}}',
      'error stream protocol error: invalid exit code value "300"',
    ],
    ['v2.channel.k8s.io', 'it broke', 'error executing remote command: it broke'],
  ])('takes for a failure on %s: %s', async (protocol, text, message) => {
    // Proves how the error stream is parsed, and that a missing status is a failure.
    const wish = { ...allStreams, stdin: false, stderr: false };
    const port = await handmade(protocol, 2, (streams) => {
      streams['error']!.end(text);
      streams['stdout']!.end();
    });
    const client = await clientOf(port, wish);
    expect(await client.closed).toBe(1000);
    expect(client.status).toMatchObject({
      reason: 'InternalError',
      message: `Internal error occurred: ${message}`,
      details: { causes: [{ message }] },
    });
  });

  it('tells that a stream was refused', async () => {
    // Proves that a kubelet that refuses the session ends it.
    const port = await listen((socket, head) => {
      socket.write('HTTP/1.1 101 Yes\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n');
      new SpdyConnection(socket, { role: 'server', head });
    });
    const client = await clientOf(port, allStreams);
    expect(await client.closed).toBe(1000);
    expect(client.status).toMatchObject({ message: 'Internal error occurred: Stream reset' });
  });
});
