/** Port-forward over SPDY, bare and inside a WebSocket: pairs of streams, their ends, and cleanup. */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { server, text, until } from '../dial/upgrade-server.fixture.ts';
import { dialled, dialTunnel, echo, refused, serve, target } from '../session/port-forward.fixture.ts';
import { WebSocketBytes } from '../websocket/websocket-bytes.ts';
import { SpdyConnection } from './spdy-connection.ts';
import type { SpdyStream } from './spdy-stream.ts';

type Client = () => Promise<SpdyConnection>;
const clients: [string, Client][] = [
  ['SPDY', async () => (await server!.spdy(['portforward.k8s.io'])).connection],
  [
    'SPDY in a WebSocket',
    async () => new SpdyConnection(new WebSocketBytes(await dialTunnel()), { role: 'client' }),
  ],
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

describe.each(clients)('port-forward over %s', (_name, client) => {
  it('forwards connections, each on its own', async () => {
    // Proves that pairs of streams may interleave, that bytes pass both ways, and how a connection ends.
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
    // Proves that the error stream ends, which kubectl before 1.32 waits for.
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
    // Proves the error text, the ends of both streams, and that the connection continues.
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
    // Proves that kubectl continues: the data stream is reset, the error stream ends empty.
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
    // Proves that a reset of the data stream, and the end of the connection, close the target.
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
    // Proves the error text, and that the pair still works.
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
    // Proves that kubectl gets an error, and that targets are closed.
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
    // Proves that nothing is lost, and that the slowest stream bounds the memory.
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
    // Proves that nothing of a connection is left when it has ended.
    const port = await target(echo);
    await serve();
    const { connection } = await server!.spdy(['portforward.k8s.io']);
    // More streams than the concurrent limit.
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
    // Proves the timeout of 30 s: a text on the error stream if there is one, otherwise a reset data stream.
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
});
