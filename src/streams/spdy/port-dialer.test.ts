import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { dialTcp } from '../dial/dialing.ts';
import { PortDialer } from './port-dialer.ts';
import { closed, readAll, socketPair } from './spdy.fixture.ts';
import { SpdyConnection } from './spdy-connection.ts';
import { forwardStreams } from './spdy-port-forward.ts';
import type { SpdyStream } from './spdy-stream.ts';

const MiB = 1024 * 1024;

/** A TCP server in the pod. */
async function target(onConnection: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket.on('error', () => {}));
    onConnection(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

/** A dialer to a kubelet that serves port-forward with this package's code. */
function dialerToPod(idleMs?: number) {
  const opened: Socket[] = [];
  const open = async () => {
    const [server, client] = await socketPair();
    opened.push(client);
    const dial = (port: number): Promise<Duplex> =>
      new Promise((resolve, reject) => {
        const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
        socket.once('connect', () => resolve(socket));
        socket.once('error', () =>
          reject(new Error(`dial tcp 127.0.0.1:${port}: connect: connection refused`)),
        );
      });
    void forwardStreams(server, Buffer.alloc(0), { podText: 'pod web, uid 1', idleMs: 60_000, dial });
    return { socket: client, head: Buffer.alloc(0) };
  };
  const dialer = new PortDialer({ open, ...(idleMs === undefined ? {} : { idleMs }) });
  onTestFinished(() => dialer.close());
  return { dialer, opened };
}

/** A dialer to a scripted kubelet, which gets the streams. */
function dialerTo(onStream: (stream: SpdyStream) => void) {
  const connections: SpdyConnection[] = [];
  const open = async () => {
    const [server, client] = await socketPair();
    connections.push(new SpdyConnection(server, { role: 'server', onStream }));
    return { socket: client, head: Buffer.alloc(0) };
  };
  const dialer = new PortDialer({ open });
  onTestFinished(() => dialer.close());
  return { dialer, connections };
}

describe('a port dialer', () => {
  it('carries bytes both ways, and half closes', async () => {
    // Proves half close: the target sees the end of input and still answers.
    const port = await target(async (socket) => socket.end(`got ${(await readAll(socket)).toString()}`));
    const { dialer } = dialerToPod();
    const connection = await dialer.dial(port);
    connection.end('question');
    expect((await readAll(connection)).toString()).toBe('got question');
  });

  it('uses one connection for dials that follow each other, and more for those at the same time', async () => {
    // Proves that connections are reused, and that dials never wait for each other's readers.
    const port = await target((socket) => socket.pipe(socket));
    const { dialer, opened } = dialerToPod();
    for (let i = 0; i < 5; i++) {
      const connection = await dialer.dial(port);
      connection.end(`${i}`);
      expect((await readAll(connection)).toString()).toBe(`${i}`);
      await closed(connection);
    }
    expect(opened).toHaveLength(1);
    const big = await target((socket) => socket.end(Buffer.alloc(8 * MiB)));
    const stalled = await dialer.dial(big);
    const other = await dialer.dial(port);
    other.end('not held up');
    expect((await readAll(other)).toString()).toBe('not held up');
    expect(opened).toHaveLength(2);
    expect((await readAll(stalled)).length).toBe(8 * MiB);
  });

  it('shares connections when there are very many dials', async () => {
    // Proves that the number of connections is bounded, and that all dials work.
    const port = await target((socket) => socket.pipe(socket));
    const { dialer, opened } = dialerToPod();
    const connections = await Promise.all(Array.from({ length: 50 }, () => dialer.dial(port)));
    expect(opened).toHaveLength(32);
    const answers = connections.map((connection, i) => {
      connection.end(`${i}`);
      return readAll(connection);
    });
    expect((await Promise.all(answers)).map(String)).toEqual(connections.map((_, i) => `${i}`));
  });

  it('carries much, in both directions at once', async () => {
    // Proves that back-pressure goes through and nothing is lost.
    const port = await target((socket) => socket.pipe(socket));
    const { dialer } = dialerToPod();
    const connection = await dialer.dial(port);
    const bytes = randomBytes(12 * MiB);
    connection.end(bytes);
    const sum = (data: Buffer) => createHash('sha256').update(data).digest('hex');
    expect(sum(await readAll(connection))).toBe(sum(bytes));
  });

  it('tells why a port cannot be reached', async () => {
    // Proves that the text of the error stream becomes the error, with a kubelet that accepts before it dials.
    const { dialer } = dialerToPod();
    const gone = await target(() => {});
    const text =
      /^error forwarding port 1 to pod web, uid 1: dial tcp 127\.0\.0\.1:1: connect: connection refused$/;
    const attempt = (async () => readAll(await dialer.dial(1)))();
    await expect(attempt).rejects.toThrow(text);
    await (await dialer.dial(gone)).destroy();
  });

  it('rejects when the kubelet knows before it accepts', async () => {
    // Proves that a failure known in time rejects the dial.
    const { dialer } = dialerTo((stream) => {
      stream.accept();
      if (stream.headers['streamtype'] === 'error') stream.end('no such port');
      else stream.reset();
    });
    await expect(dialer.dial(80)).rejects.toThrow('no such port');
  });

  it('names the streams as kubectl does', async () => {
    // Proves the headers, that request ids count up, and that the error stream is ended at once.
    const streams: SpdyStream[] = [];
    const { dialer } = dialerTo((stream) => {
      stream.accept();
      streams.push(stream);
      stream.resume().on('end', () => stream.end());
    });
    for (const port of [80, 443]) {
      const connection = await dialer.dial(port);
      connection.end();
      await readAll(connection);
      await closed(connection);
    }
    expect(streams.map(({ headers }) => ({ ...headers }))).toEqual([
      { streamtype: 'error', port: '80', requestid: '0' },
      { streamtype: 'data', port: '80', requestid: '0' },
      { streamtype: 'error', port: '443', requestid: '1' },
      { streamtype: 'data', port: '443', requestid: '1' },
    ]);
    expect(streams[0]!.readableEnded).toBe(true);
  });

  it('makes a cut an error and a proper end none', async () => {
    // Proves that an answer that was cut off fails.
    const { dialer, connections } = dialerTo((stream) => {
      stream.accept();
      if (stream.headers['streamtype'] === 'data') stream.write('half an ans');
    });
    const connection = await dialer.dial(80);
    await once(connection, 'readable');
    connections[0]!.destroy();
    await expect(readAll(connection)).rejects.toThrow('ECONNRESET');
  });

  it('opens a new connection when the one it kept is gone', async () => {
    // Proves that the dialer opens a new connection when the kubelet has closed the old one.
    const port = await target((socket) => socket.pipe(socket));
    const { dialer, opened } = dialerToPod();
    for (let i = 0; i < 3; i++) {
      const connection = await dialer.dial(port);
      connection.end('x');
      await readAll(connection);
      await closed(connection);
      opened[i]!.destroy();
    }
    expect(opened).toHaveLength(3);
  });

  it('tells that the kubelet cannot be reached, and tries again next time', async () => {
    // Proves that a failed upgrade fails only that dial.
    const port = await target((socket) => socket.end('here'));
    let fails = true;
    const open = async () => {
      if (fails) throw new Error('dial tcp 10.0.0.1:10250: connect: connection refused');
      const [server, client] = await socketPair();
      const dial = (port: number) => dialTcp(['127.0.0.1'], port);
      void forwardStreams(server, Buffer.alloc(0), { podText: '', idleMs: 60_000, dial });
      return { socket: client, head: Buffer.alloc(0) };
    };
    const dialer = new PortDialer({ open });
    onTestFinished(() => dialer.close());
    await expect(dialer.dial(port)).rejects.toThrow('dial tcp 10.0.0.1:10250');
    fails = false;
    expect((await readAll(await dialer.dial(port))).toString()).toBe('here');
  });

  it('closes what is idle, and everything when it is closed', async () => {
    // Proves that idle connections are closed.
    const port = await target((socket) => socket.pipe(socket));
    const { dialer, opened } = dialerToPod(50);
    const connection = await dialer.dial(port);
    connection.end();
    await readAll(connection);
    await vi.waitUntil(() => opened[0]!.destroyed, { timeout: 60_000 });
    const inUse = await dialer.dial(port);
    expect(opened).toHaveLength(2);
    const failed = readAll(inUse).catch((error: Error) => error.message);
    dialer.close();
    expect(await failed).toBe('read ECONNRESET');
    await vi.waitUntil(() => opened[1]!.destroyed, { timeout: 60_000 });
    await expect(dialer.dial(port)).rejects.toThrow('the dialer is closed');
  });
});
