// Proves that our side of HTTP/2, and that of Node which can take its place, work with Node's server, within the limits that
// a peer may set, and that ours survives any bytes.
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import {
  createServer as createHttp2Server,
  type Http2Server,
  type Http2ServerRequest,
  type ServerHttp2Session,
} from 'node:http2';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { decodeHuffman } from '../http2/huffman.ts';
import { Connection } from './connection.ts';
import { encodeHeaders, HeaderDecoder } from './header-block.ts';

const waitMs = 60_000;
const framed = (message: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
};

describe.each([
  ['our own', true],
  ["Node's", false],
])('a connection with %s HTTP/2', (_whose, ownHttp2) => {
  const open: (() => void)[] = [];
  afterEach(() => {
    for (const close of open.splice(0).reverse()) close();
  });

  const listen = async (server: Http2Server | Server): Promise<string> => {
    server.listen(0, '127.0.0.1');
    open.push(() => server.close());
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  const connect = async (server: Http2Server | Server): Promise<Connection> => {
    const connection = await Connection.open(await listen(server), { peer: 'etcd', ownHttp2 }, waitMs);
    open.push(() => connection.close(new Error('done') as never));
    return connection;
  };
  const bodyOf = async (request: Http2ServerRequest): Promise<Buffer> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks);
  };

  it('answers pings, with other frames and alone', async () => {
    const server = createHttp2Server((request, response) => {
      request.resume();
      request.stream.session!.ping(() => {});
      response.addTrailers({ 'grpc-status': '0' });
      response.end(framed(Buffer.from('answer')));
    });
    const sessions: ServerHttp2Session[] = [];
    server.on('session', (session) => sessions.push(session));
    const connection = await connect(server);
    for (let i = 0; i < 3; i++)
      expect((await connection.unary('/Ask', Buffer.alloc(0), waitMs)).toString()).toContain('answer');
    const payload = Buffer.from('12345678');
    const echoed = await new Promise<Buffer>((resolve, reject) => {
      sessions[0]!.ping(payload, (error, _, echo) => (error ? reject(error) : resolve(echo)));
    });
    expect(echoed.equals(payload)).toBe(true);
  });

  it('sends and receives more than windows, frames and streams hold', async () => {
    let running = 0;
    let most = 0;
    const server = createHttp2Server(
      { settings: { maxConcurrentStreams: 7, initialWindowSize: 20_000 } },
      async (request, response) => {
        most = Math.max(most, ++running);
        const body = await bodyOf(request);
        expect(request.headers).toMatchObject({
          ':authority': expect.stringMatching(/^127\.0\.0\.1:\d+$/),
          'content-type': 'application/grpc',
          'grpc-timeout': `${waitMs}m`,
          te: 'trailers',
        });
        running--;
        response.addTrailers({ 'grpc-status': '0', 'grpc-message': '' });
        response.end(body);
      },
    );
    const connection = await connect(server);
    // Bodies of all sizes up to some megabytes; the first one is answered while later ones wait for a stream.
    const sizes = [0, 1, 16_379, 16_380, 70_000, 3_000_000, ...Array.from({ length: 40 }, (_, i) => i * 999)];
    const answers = await Promise.all(
      sizes.map((size, i) => connection.unary('/Echo', Buffer.alloc(size, i + 1), waitMs)),
    );
    expect(answers.map((answer) => answer.length)).toEqual(sizes);
    for (const [i, answer] of answers.entries()) expect(answer.every((byte) => byte === i + 1)).toBe(true);
    expect(most).toBeLessThanOrEqual(7);
    // More than the windows of the whole connection, one call after the other.
    for (let i = 0; i < 4; i++)
      expect((await connection.unary('/Echo', Buffer.alloc(5_000_000), waitMs)).length).toBe(5_000_000);
  });

  it('is made over a unix socket, with metadata; and a call can be given up', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'wherry grpc-'));
    open.push(() => rmSync(folder, { recursive: true, force: true }));
    let tellReset = (): void => undefined;
    const reset = new Promise<void>((resolve) => {
      tellReset = resolve;
    });
    const server = createHttp2Server((request, response) => {
      request.stream.on('error', () => undefined);
      if (request.url === '/Never') request.stream.on('close', () => tellReset());
      if (request.headers['wanted'] === 'yes' && request.url === '/Answer') {
        response.addTrailers({ 'grpc-status': '0' });
        response.end(Buffer.alloc(5));
      }
    });
    const path = join(folder, 's.sock');
    server.listen(path);
    open.push(() => server.close());
    await once(server, 'listening');
    const url = `unix://${encodeURI(path)}`;
    const connection = await Connection.open(url, { metadata: { wanted: 'yes' }, ownHttp2 }, waitMs);
    open.push(() => connection.close(new Error('done') as never));
    expect(await connection.unary('/Answer', Buffer.alloc(1), waitMs)).toHaveLength(0);
    const leaving = new AbortController();
    const call = connection.unary('/Never', Buffer.alloc(1), waitMs, leaving.signal);
    leaving.abort();
    await expect(call).rejects.toMatchObject({ code: 1 });
    await reset;
  });

  it('tells a call that the peer has refused from one whose outcome nobody knows', async () => {
    const server = createHttp2Server();
    const calls: string[] = [];
    server.on('stream', (stream, headers) => {
      stream.on('error', () => undefined);
      calls.push(String(headers[':path']));
      if (headers[':path'] === '/Refused') stream.close(7);
      else if (headers[':path'] === '/Reset') stream.close(2);
      else if (headers[':path'] === '/Error')
        stream.respond(
          { ':status': 200, 'grpc-status': '8', 'grpc-message': 'no %e2%82%ac left' },
          { endStream: true },
        );
      else if (headers[':path'] === '/Proxy') stream.respond({ ':status': 502 }, { endStream: true });
      else stream.session!.destroy();
    });
    const connection = await connect(server);
    const call = (path: string): Promise<unknown> => connection.unary(path, Buffer.alloc(1), waitMs);
    await expect(call('/Refused')).rejects.toMatchObject({ code: 14, unsent: true });
    await expect(call('/Reset')).rejects.toMatchObject({ code: 14, unsent: false });
    await expect(call('/Error')).rejects.toMatchObject({ code: 8, message: 'no € left' });
    await expect(call('/Proxy')).rejects.toMatchObject({
      code: 14,
      message: 'it answered HTTP 502: is it etcd?',
    });
    await expect(call('/Cut')).rejects.toMatchObject({ code: 14, unsent: false });
    await expect(call('/After')).rejects.toMatchObject({ code: 14, unsent: true });
    expect(calls).not.toContain('/After');
  });

  it('repeats elsewhere what came after the last call that the peer has taken', async () => {
    const server = createHttp2Server();
    server.on('stream', (stream) => {
      stream.on('error', () => undefined);
      // The first call is answered although the connection ends; the peer says that it has not seen the others.
      if (stream.id === 1) {
        stream.session!.goaway(0, 1);
        stream.respond({ ':status': 200 }, { waitForTrailers: true });
        stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
        stream.end(framed(Buffer.from('done')));
      }
    });
    const connection = await connect(server);
    const call = (): Promise<Buffer> => connection.unary('/Call', Buffer.alloc(1), waitMs);
    const [first, second] = await Promise.allSettled([call(), call()]);
    expect(first).toMatchObject({ value: Buffer.from('done') });
    expect(second).toMatchObject({ reason: { code: 14, unsent: true } });
    expect(connection.failure?.message).toBe('the member ended the connection');
  });

  it('gives a call up after its time, and goes on with others', async () => {
    const server = createHttp2Server();
    const reset = new Promise<number>((resolve) =>
      server.on('stream', (stream, headers) => {
        if (headers[':path'] === '/Silent') stream.on('close', () => resolve(stream.rstCode));
        else {
          stream.respond({ ':status': 200 }, { waitForTrailers: true });
          stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
          stream.end(framed(Buffer.from('here')));
        }
      }),
    );
    const connection = await connect(server);
    await expect(connection.unary('/Silent', Buffer.alloc(1), 20)).rejects.toMatchObject({ code: 4 });
    expect(await reset).toBe(8);
    expect(String(await connection.unary('/Other', Buffer.alloc(1), waitMs))).toBe('here');
  });

  it('ends with a sentence when the peer speaks nonsense', async () => {
    const settings = Buffer.from('000000040000000000', 'hex');
    const frame = (type: number, flags: number, id: number, payload: Buffer): Buffer => {
      const head = Buffer.from([0, 0, 0, type, flags, 0, 0, 0, id]);
      head.writeUIntBE(payload.length, 0, 3);
      return Buffer.concat([head, payload]);
    };
    const nonsense = [
      Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n'),
      frame(0, 0, 1, Buffer.from('data')),
      Buffer.concat([settings, frame(1, 4, 1, Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]))]),
      Buffer.concat([settings, frame(1, 0, 1, Buffer.alloc(1)), frame(0, 0, 1, Buffer.alloc(1))]),
      Buffer.concat([settings, frame(9, 4, 1, Buffer.alloc(1))]),
      Buffer.concat([settings, frame(0, 8, 1, Buffer.from([200]))]),
      Buffer.concat([settings, frame(5, 4, 1, Buffer.alloc(8))]),
      Buffer.concat([settings, frame(3, 0, 1, Buffer.alloc(2))]),
      Buffer.concat([settings, frame(4, 0, 0, Buffer.from('0004ffffffff', 'hex'))]),
      Buffer.concat([settings, ...Array(2).fill(frame(8, 0, 0, Buffer.from('7fffffff', 'hex')))]),
    ];
    for (const bytes of nonsense) {
      const server = createServer((socket) => {
        socket.on('error', () => undefined);
        socket.once('data', () => socket.write(bytes));
      });
      const url = await listen(server);
      const failed = async (): Promise<never> => {
        const connection = await Connection.open(url, { ownHttp2 }, waitMs);
        await connection.unary('/Call', Buffer.alloc(1), waitMs);
        throw new Error(`this was taken: ${bytes.toString('hex')}`);
      };
      if (ownHttp2) await expect(failed()).rejects.toThrow(/^Protocol error: /);
      else await expect(failed()).rejects.toMatchObject({ code: 14 });
    }
  });
});

describe('headers', () => {
  it('are read as the RFC of HPACK codes them, with a table that grows and is cut', () => {
    // Appendix C.6 of RFC 7541: three answers on one connection, Huffman-coded, with a table of 256 bytes.
    const decoder = new HeaderDecoder();
    const decode = (hex: string): unknown => decoder.decode(Buffer.from(hex, 'hex')).fields;
    const first = {
      ':status': '302',
      'cache-control': 'private',
      date: 'Mon, 21 Oct 2013 20:13:21 GMT',
      location: 'https://www.example.com',
    };
    expect(
      decode(
        '3fe101488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3',
      ),
    ).toEqual(first);
    expect(decode('4883640effc1c0bf')).toEqual({ ...first, ':status': '307' });
    expect(
      decode(
        '88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007',
      ),
    ).toEqual({
      ...first,
      ':status': '200',
      date: 'Mon, 21 Oct 2013 20:13:22 GMT',
      'content-encoding': 'gzip',
      'set-cookie': 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1',
    });
    expect(() => decode('c3')).toThrow(/there is no header/);
  });

  it('come back as they were written, however long', () => {
    const headers = { ':path': '/a', empty: '', long: 'x'.repeat(70_000), edge: 'y'.repeat(127) };
    expect(new HeaderDecoder().decode(encodeHeaders(headers)).fields).toEqual(headers);
  });

  it('are refused when their code is broken', () => {
    expect(String(decodeHuffman(Buffer.from('f1e3c2e5f23a6ba0ab90f4ff', 'hex')))).toBe('www.example.com');
    for (const hex of ['ffffffff', '00', 'f1e3c2e5f23a6ba0ab90f4ffff'])
      expect(() => decodeHuffman(Buffer.from(hex, 'hex'))).toThrow(/a header/);
    for (const hex of ['40', '4003', '0001', '7f', '3fff7f'])
      expect(() => new HeaderDecoder().decode(Buffer.from(hex, 'hex'))).toThrow();
  });

  it('by their places in the table follow the table when it changes', () => {
    const decoder = new HeaderDecoder();
    const decode = (hex: string): unknown => decoder.decode(Buffer.from(hex, 'hex')).fields;
    const pair = 'bebf';
    decode('400161013140016201' + '32');
    expect(decode(pair)).toEqual({ b: '2', a: '1' });
    expect(decode(pair)).toEqual({ b: '2', a: '1' });
    decode('4001630133');
    expect(decode(pair)).toEqual({ c: '3', b: '2' });
    // A smaller table has lost what was in it.
    decode('20');
    expect(() => decode(pair)).toThrow('there is no header 62');
  });
});
