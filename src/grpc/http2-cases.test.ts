/**
 * Proves that our client of HTTP/2 does what the specification demands of a client, case by case, against a peer that sends
 * any frames it likes. Names begin with the section of RFC 9113, or of RFC 7541 for the compression of headers.
 */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Connection } from './connection.ts';
import { encodeHeaders } from './header-block.ts';

const waitMs = 60_000;
const [DATA, HEADERS, PRIORITY, RESET, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION] = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
];
const [END, END_HEADERS, PADDED, HAS_PRIORITY] = [1, 4, 8, 32];
const [NONE, PROTOCOL, FLOW, SIZE, COMPRESSION, CALM] = [0, 1, 3, 6, 9, 11];

interface SeenFrame {
  readonly type: number;
  readonly flags: number;
  readonly id: number;
  readonly payload: Buffer;
}

const frame = (type: number, flags: number, id: number, payload: Buffer | string = ''): Buffer => {
  const bytes = Buffer.from(payload as string, 'hex');
  const content = typeof payload === 'string' ? bytes : payload;
  const head = Buffer.alloc(9);
  head.writeUIntBE(content.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(id, 5);
  return Buffer.concat([head, content]);
};

const headers = (id: number, fields: Record<string, string>, flags = END_HEADERS): Buffer =>
  frame(HEADERS, flags, id, encodeHeaders(fields));
const begin = { ':status': '200', 'content-type': 'application/grpc' };
const message = Buffer.from('000000000161', 'hex');
const trailers = (id: number): Buffer => headers(id, { 'grpc-status': '0' }, END | END_HEADERS);
const answer = (id: number): Buffer =>
  Buffer.concat([headers(id, begin), frame(DATA, 0, id, message), trailers(id)]);

/** A server that reads frames and sends what a test hands to it. */
class Peer {
  readonly seen: SeenFrame[] = [];
  #rest: Buffer = Buffer.alloc(0);
  #waiting: (() => void)[] = [];

  constructor(readonly socket: Socket) {
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => this.#take(chunk));
    socket.on('close', () => this.#wake());
  }

  #take(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    if (this.#rest.subarray(0, 3).toString() === 'PRI') {
      if (this.#rest.length < 24) return;
      this.#rest = this.#rest.subarray(24);
    }
    while (this.#rest.length >= 9) {
      const end = 9 + this.#rest.readUIntBE(0, 3);
      if (this.#rest.length < end) break;
      const [type = 0, flags = 0] = this.#rest.subarray(3, 5);
      this.seen.push({ type, flags, id: this.#rest.readUInt32BE(5), payload: this.#rest.subarray(9, end) });
      this.#rest = this.#rest.subarray(end);
    }
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  /** Resolves with the first frame that was sent of this kind; undefined: the connection has ended without one. */
  async frame(type: number, id: number): Promise<SeenFrame | undefined> {
    for (;;) {
      const found = this.seen.find((one) => one.type === type && one.id === id);
      if (found || this.socket.closed) return found;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }
}

const open: (() => void)[] = [];
afterEach(() => {
  for (const close of open.splice(0).reverse()) close();
});

/** A connection whose peer has sent these settings. */
async function connected(settings = frame(SETTINGS, 0, 0)): Promise<{ connection: Connection; peer: Peer }> {
  const server: Server = createServer();
  server.listen(0, '127.0.0.1');
  open.push(() => server.close());
  await once(server, 'listening');
  const accepted = once(server, 'connection') as Promise<[Socket]>;
  const opening = Connection.open(
    `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    { ownHttp2: true },
    waitMs,
  );
  opening.catch(() => undefined);
  const [socket] = await accepted;
  const peer = new Peer(socket);
  open.push(() => socket.destroy());
  socket.write(settings);
  const connection = await opening;
  open.push(() => connection.close(new Error('done') as never));
  return { connection, peer };
}

/** A call on a connection of its own, which its peer has seen. */
async function called(settings?: Buffer) {
  const { connection, peer } = await connected(settings);
  const call = connection.unary('/Call', Buffer.from('ask'), waitMs);
  call.catch(() => undefined);
  await peer.frame(DATA, 1);
  return { connection, peer, call };
}

const reasonIn = (seen: SeenFrame | undefined, at: number): number | undefined =>
  seen?.payload.readUInt32BE(at);

const status = encodeHeaders({ ':status': '200' });
const field = (name: string, value: string): Buffer => encodeHeaders({ [name]: value });

describe('the connection ends, and the peer is told why', () => {
  it.each<[string, number, Buffer[]]>([
    ['4.2 a frame larger than allowed', SIZE, [frame(DATA, 0, 1, Buffer.alloc(16_385))]],
    ['5.1 headers on a stream that was never opened', PROTOCOL, [headers(3, begin)]],
    ['5.1 data on a stream that was never opened', PROTOCOL, [frame(DATA, 0, 5, '00')]],
    ['5.1 a reset of a stream that was never opened', PROTOCOL, [frame(RESET, 0, 7, '00000000')]],
    ['5.1 a window of a stream that was never opened', PROTOCOL, [frame(WINDOW, 0, 7, '00000001')]],
    ['5.1.1 a stream of the server that was not announced', PROTOCOL, [headers(2, begin)]],
    ['5.5 an unknown frame among headers', PROTOCOL, [headers(1, begin, 0), frame(99, 0, 1)]],
    ['6.1 data for the connection', PROTOCOL, [frame(DATA, 0, 0, '00')]],
    ['6.1 data shorter than its padding', PROTOCOL, [headers(1, begin), frame(DATA, PADDED, 1, '05')]],
    ['6.1 padded data without its length', PROTOCOL, [headers(1, begin), frame(DATA, PADDED, 1)]],
    ['6.2 headers for the connection', PROTOCOL, [headers(0, begin)]],
    ['6.2 headers shorter than their padding', PROTOCOL, [frame(HEADERS, END_HEADERS | PADDED, 1, 'ff88')]],
    ['6.2 headers shorter than their priority', PROTOCOL, [frame(HEADERS, 4 | HAS_PRIORITY, 1, '88')]],
    ['6.3 a priority of the connection', PROTOCOL, [frame(PRIORITY, 0, 0, '0000000000')]],
    ['6.4 a reset of the connection', PROTOCOL, [frame(RESET, 0, 0, '00000000')]],
    ['6.4 a reset that is too short', SIZE, [frame(RESET, 0, 1, '000000')]],
    ['6.4 a reset that is too long', SIZE, [frame(RESET, 0, 1, '0000000000')]],
    ['6.5 settings of a stream', PROTOCOL, [frame(SETTINGS, 0, 1)]],
    ['6.5 an acknowledgement with settings', SIZE, [frame(SETTINGS, 1, 0, '000300000001')]],
    ['6.5 settings with a part of one', SIZE, [frame(SETTINGS, 0, 0, '0003000000')]],
    ['6.5.2 a wish to push', PROTOCOL, [frame(SETTINGS, 0, 0, '000200000001')]],
    ['6.5.2 a push setting that is none', PROTOCOL, [frame(SETTINGS, 0, 0, '000200000002')]],
    ['6.5.2 a window of more than 31 bits', FLOW, [frame(SETTINGS, 0, 0, '000480000000')]],
    ['6.5.2 frames smaller than the least', PROTOCOL, [frame(SETTINGS, 0, 0, '000500003fff')]],
    ['6.5.2 frames larger than the most', PROTOCOL, [frame(SETTINGS, 0, 0, '000501000000')]],
    ['6.6 a push, which was not allowed', PROTOCOL, [frame(PUSH, END_HEADERS, 1, '0000000288')]],
    ['6.7 a ping of a stream', PROTOCOL, [frame(PING, 0, 1, '0000000000000000')]],
    ['6.7 a ping that is too short', SIZE, [frame(PING, 0, 0, '00000000000000')]],
    ['6.7 a ping that is too long', SIZE, [frame(PING, 0, 0, '000000000000000000')]],
    ['6.8 a farewell of a stream', PROTOCOL, [frame(GOAWAY, 0, 1, '0000000000000000')]],
    ['6.8 a farewell that is too short', SIZE, [frame(GOAWAY, 0, 0, '00000000000000')]],
    ['6.9 a window that is too short', SIZE, [frame(WINDOW, 0, 0, '000001')]],
    ['6.9 a window of the connection that grows by nothing', PROTOCOL, [frame(WINDOW, 0, 0, '00000000')]],
    ['6.9.1 a window of the connection beyond 31 bits', FLOW, [frame(WINDOW, 0, 0, '7fffffff')]],
    [
      '6.9.2 a first window that brings one of a stream beyond 31 bits',
      FLOW,
      [frame(WINDOW, 0, 1, '7fff0000'), frame(SETTINGS, 0, 0, '00047fffffff')],
    ],
    ['6.10 headers that go on after their end', PROTOCOL, [headers(1, begin), frame(CONTINUATION, 4, 1)]],
    [
      '6.10 headers that go on in another stream',
      PROTOCOL,
      [headers(1, begin, 0), frame(CONTINUATION, 4, 3)],
    ],
    ['6.10 another frame among headers', PROTOCOL, [headers(1, begin, 0), frame(PING, 0, 0, '00'.repeat(8))]],
    ['6.10 headers that go on for the connection', PROTOCOL, [frame(CONTINUATION, 4, 0)]],
    [
      '10.5.1 headers that go on without end, in empty frames',
      CALM,
      [headers(1, begin, 0), ...Array<Buffer>(100).fill(frame(CONTINUATION, 0, 1))],
    ],
    [
      '10.5.1 headers that are too long',
      CALM,
      [headers(1, begin, 0), ...Array<Buffer>(20).fill(frame(CONTINUATION, 0, 1, Buffer.alloc(16_000)))],
    ],
    ['HPACK 2.3.3 a place that is not in the table', COMPRESSION, [frame(HEADERS, 4, 1, 'c6')]],
    ['HPACK 6.1 the place 0', COMPRESSION, [frame(HEADERS, 4, 1, '80')]],
    ['HPACK 5.1 a number that never ends', COMPRESSION, [frame(HEADERS, 4, 1, `ff${'ff'.repeat(20)}`)]],
    ['HPACK 5.1 a number that is cut off', COMPRESSION, [frame(HEADERS, 4, 1, 'ff80')]],
    ['HPACK 5.2 a text that is cut off', COMPRESSION, [frame(HEADERS, 4, 1, '000561')]],
    ['HPACK 5.2 padding of more than seven bits', COMPRESSION, [frame(HEADERS, 4, 1, '000161821fff')]],
    ['HPACK 5.2 padding that is not all ones', COMPRESSION, [frame(HEADERS, 4, 1, '0001618118')]],
    ['HPACK 5.2 the end mark inside a text', COMPRESSION, [frame(HEADERS, 4, 1, '00016184ffffffff')]],
    ['HPACK 6.3 a table larger than allowed', COMPRESSION, [frame(HEADERS, 4, 1, '3fe21f')]],
    ['HPACK 4.2 a size of the table behind a header', COMPRESSION, [frame(HEADERS, 4, 1, '8820')]],
    ['HPACK 4.2 more sizes of the table than make sense', COMPRESSION, [frame(HEADERS, 4, 1, '20202088')]],
  ])('%s', async (_what, reason, frames) => {
    const { connection, peer, call } = await called();
    peer.socket.write(Buffer.concat(frames));
    await expect(call).rejects.toMatchObject({ code: 14, unsent: false });
    expect(connection.failure?.message).toMatch(/^Protocol error: /);
    expect(reasonIn(await peer.frame(GOAWAY, 0), 4)).toBe(reason);
    await expect(connection.unary('/Late', Buffer.alloc(0), waitMs)).rejects.toMatchObject({ unsent: true });
  });

  it.each([
    ['3.4 a first frame that is not settings', frame(PING, 0, 0, '00'.repeat(8))],
    ['3.4 a first frame that acknowledges settings', frame(SETTINGS, 1, 0)],
    ['3.4 another protocol', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')],
  ])('%s', async (_what, bytes) => {
    await expect(connected(bytes)).rejects.toThrow(/^Protocol error: /);
  });

  it('6.7 a peer that pings without end and reads nothing', async () => {
    const { peer, call } = await called();
    peer.socket.pause();
    const pings = Buffer.concat(Array<Buffer>(50_000).fill(frame(PING, 0, 0, '00'.repeat(8))));
    const flood = (): void => {
      while (!peer.socket.destroyed && peer.socket.write(pings));
      if (!peer.socket.destroyed) peer.socket.once('drain', flood);
    };
    flood();
    await expect(call).rejects.toThrow('it asks without reading the answers');
  });
});

describe('the call fails, and the connection goes on', () => {
  it.each<[string, Buffer[]]>([
    ['6.9 a window that grows by nothing', [frame(WINDOW, 0, 1, '00000000')]],
    ['6.9.1 a window beyond 31 bits', [frame(WINDOW, 0, 1, '7fffffff')]],
    ['8.1 data before headers', [frame(DATA, 0, 1, message)]],
    ['8.1 trailers that do not end the answer', [headers(1, begin), headers(1, { 'grpc-status': '0' })]],
    ['8.1 a second status', [headers(1, begin), headers(1, begin, END | END_HEADERS)]],
    ['8.1 an end before the answer', [headers(1, { ':status': '100' }, END | END_HEADERS)]],
    [
      '8.1.1 fewer bytes than announced',
      [headers(1, { ...begin, 'content-length': '7' }), frame(DATA, END, 1, message)],
    ],
    [
      '8.1.1 more bytes than announced',
      [headers(1, { ...begin, 'content-length': '5' }), frame(DATA, END, 1, message)],
    ],
    ['8.1.1 a length that is no number', [headers(1, { ...begin, 'content-length': 'x' })]],
    ['8.2 a capital in a name', [headers(1, { ...begin, 'X-Name': 'a' })]],
    ['8.2.1 a blank in a name', [headers(1, { ...begin, 'a b': 'a' })]],
    ['8.2.1 an empty name', [frame(HEADERS, 4, 1, Buffer.concat([status, field('', 'a')]))]],
    ['8.2.1 a line end in a value', [headers(1, { ...begin, a: 'b\r\nc: d' })]],
    ['8.2.1 a NUL in a value', [headers(1, { ...begin, a: 'b\0' })]],
    ['8.2.1 a blank before a value', [headers(1, { ...begin, a: ' b' })]],
    ['8.2.1 a tab behind a value', [headers(1, { ...begin, a: 'b\t' })]],
    ['8.2.2 a header of the connection', [headers(1, { ...begin, connection: 'close' })]],
    ['8.2.2 a transfer encoding', [headers(1, { ...begin, 'transfer-encoding': 'chunked' })]],
    ['8.2.2 transfer of another kind than trailers', [headers(1, { ...begin, te: 'gzip' })]],
    ['8.3 a pseudo-header of requests', [headers(1, { ...begin, ':path': '/' })]],
    ['8.3 a pseudo-header that is none', [headers(1, { ...begin, ':other': '1' })]],
    ['8.3 a status behind other headers', [headers(1, { a: 'b', ':status': '200' })]],
    ['8.3 a status twice', [frame(HEADERS, 4, 1, Buffer.concat([status, status]))]],
    ['8.3 a status in trailers', [headers(1, begin), headers(1, { ':status': '200' }, END | END_HEADERS)]],
    ['8.3.2 no status', [headers(1, { 'content-type': 'application/grpc' })]],
    ['8.3.2 a status that is no number', [headers(1, { ':status': 'ok' })]],
    ['8.6 a switch of protocols', [headers(1, { ':status': '101' })]],
  ])('%s', async (_what, frames) => {
    const { connection, peer, call } = await called();
    peer.socket.write(Buffer.concat(frames));
    await expect(call).rejects.toThrow(/^Protocol error: /);
    expect(reasonIn(await peer.frame(RESET, 1), 0)).toBe(PROTOCOL);
    const next = connection.unary('/Next', Buffer.alloc(0), waitMs);
    await peer.frame(HEADERS, 3);
    peer.socket.write(answer(3));
    expect(String(await next)).toBe('a');
  });

  it('7 a reset, with or without a reason that is known', async () => {
    for (const reason of [0, 2, 8, 0xfeed]) {
      const { peer, call } = await called();
      const payload = Buffer.alloc(4);
      payload.writeUInt32BE(reason);
      peer.socket.write(frame(RESET, 0, 1, payload));
      await expect(call).rejects.toThrow(`the call was reset (${reason})`);
    }
  });
});

describe('these are taken', () => {
  it.each<[string, Buffer[]]>([
    [
      '4.1 unknown frames, of the connection and of streams',
      [frame(99, 255, 0, 'ab'), frame(99, 255, 1, 'ab'), answer(1)],
    ],
    [
      '4.1 flags that mean nothing',
      [headers(1, begin, END_HEADERS | 0xc2), frame(DATA, 0xf6, 1, message), trailers(1)],
    ],
    [
      '4.1 the reserved bit of a stream',
      [headers(2 ** 31 + 1, begin), frame(DATA, 0, 1, message), trailers(1)],
    ],
    [
      '5.3 priorities, also of streams that were never opened',
      [frame(PRIORITY, 0, 9, '0000000000'), answer(1)],
    ],
    [
      '6.1 padding',
      [headers(1, begin), frame(DATA, PADDED, 1, `03${message.toString('hex')}000000`), trailers(1)],
    ],
    [
      '6.2 padding and priority of headers',
      [
        frame(HEADERS, 4 | PADDED | HAS_PRIORITY, 1, '02000000000f880000'),
        frame(DATA, 0, 1, message),
        trailers(1),
      ],
    ],
    [
      '6.5.2 settings that are unknown',
      [frame(SETTINGS, 0, 0, '00990000000100080000000100010000ffff'), answer(1)],
    ],
    [
      '6.10 headers in many frames, also of no bytes',
      [
        headers(1, begin, 0),
        frame(CONTINUATION, 0, 1),
        frame(CONTINUATION, 4, 1),
        frame(DATA, 0, 1, message),
        trailers(1),
      ],
    ],
    [
      '8.1 informational answers before the answer',
      [headers(1, { ':status': '100' }), headers(1, { ':status': '103', link: 'a' }), answer(1)],
    ],
    [
      '8.1 an empty frame of data at the end',
      [headers(1, { ...begin, 'grpc-status': '0' }), frame(DATA, 0, 1, message), frame(DATA, END, 1)],
    ],
    [
      '8.1.1 as many bytes as announced',
      [headers(1, { ...begin, 'content-length': '6' }), frame(DATA, 0, 1, message), trailers(1)],
    ],
    [
      '8.2.3 a header twice',
      [
        frame(HEADERS, 4, 1, Buffer.concat([status, field('a', 'b'), field('a', 'c')])),
        frame(DATA, 0, 1, message),
        trailers(1),
      ],
    ],
  ])('%s', async (_what, frames) => {
    const { peer, call, connection } = await called();
    peer.socket.write(Buffer.concat(frames));
    expect(String(await call)).toBe('a');
    expect(connection.failure).toBeUndefined();
  });

  it('5.1 frames of a stream that this side has reset, whose headers still count for the table', async () => {
    const { connection, peer } = await connected();
    const leaving = new AbortController();
    const call = connection.unary('/Call', Buffer.alloc(0), waitMs, leaving.signal);
    await peer.frame(HEADERS, 1);
    leaving.abort();
    await expect(call).rejects.toMatchObject({ code: 1 });
    await peer.frame(RESET, 1);
    const next = connection.unary('/Next', Buffer.alloc(0), waitMs);
    await peer.frame(HEADERS, 3);
    // The first answer puts `a: b` into the table; the second refers to it, and would not be understood without.
    peer.socket.write(frame(HEADERS, 4, 1, Buffer.concat([status, Buffer.from('4001610162', 'hex')])));
    peer.socket.write(frame(DATA, END, 1, message));
    peer.socket.write(frame(RESET, 0, 1, '00000008'));
    peer.socket.write(frame(WINDOW, 0, 1, '00000001'));
    peer.socket.write(frame(HEADERS, 4, 3, Buffer.concat([status, Buffer.from('be', 'hex')])));
    peer.socket.write(Buffer.concat([frame(DATA, 0, 3, message), trailers(3)]));
    expect(String(await next)).toBe('a');
  });

  it('bytes that come one at a time', async () => {
    const { peer, call } = await called();
    for (const byte of answer(1)) peer.socket.write(Buffer.from([byte]));
    expect(String(await call)).toBe('a');
  });
});

describe('this side', () => {
  it('3.4 begins with the preface and its settings, and forbids pushes', async () => {
    const { peer } = await connected();
    const { type, flags, payload } = (await peer.frame(SETTINGS, 0))!;
    expect(peer.seen[0]).toMatchObject({ type, flags: 0 });
    expect([flags, payload.toString('hex')]).toEqual([0, '000200000000000401000000']);
  });

  it('6.5.3 acknowledges settings, and 6.7 answers pings with the same bytes', async () => {
    const { peer } = await connected();
    peer.socket.write(frame(PING, 0, 0, '0102030405060708'));
    peer.socket.write(frame(PING, 1, 0, '1112131415161718'));
    const pong = (await peer.frame(PING, 0))!;
    expect([pong.flags, pong.payload.toString('hex')]).toEqual([1, '0102030405060708']);
    expect(peer.seen.filter(({ type, flags }) => type === SETTINGS && flags === 1)).toHaveLength(1);
    expect(peer.seen.filter(({ type }) => type === PING)).toHaveLength(1);
  });

  it('5.1.1 uses odd streams, each once, in order; 5.1.2 no more at a time than allowed', async () => {
    const { connection, peer } = await connected(frame(SETTINGS, 0, 0, '000300000002'));
    const calls = ['/1', '/2', '/3'].map((path) => connection.unary(path, Buffer.alloc(0), waitMs));
    await peer.frame(DATA, 3);
    peer.socket.write(frame(PING, 0, 0, '00'.repeat(8)));
    await peer.frame(PING, 0);
    const ids = (): number[] => peer.seen.filter(({ type }) => type === HEADERS).map(({ id }) => id);
    expect(ids()).toEqual([1, 3]);
    peer.socket.write(answer(1));
    await peer.frame(DATA, 5);
    expect(ids()).toEqual([1, 3, 5]);
    peer.socket.write(Buffer.concat([answer(3), answer(5)]));
    expect((await Promise.all(calls)).map(String)).toEqual(['a', 'a', 'a']);
  });

  it('6.9 sends no more than the windows allow, also when they shrink below nothing, and 4.2 in frames of the allowed size', async () => {
    const { connection, peer } = await connected(frame(SETTINGS, 0, 0, '000400000064'));
    const call = connection.unary('/Call', Buffer.alloc(20_000), waitMs);
    const sent = (): number[] =>
      peer.seen.filter(({ type, id }) => type === DATA && id === 1).map(({ payload }) => payload.length);
    await peer.frame(DATA, 1);
    expect(sent()).toEqual([100]);
    // From 100 to 40: 60 less than nothing are left. 50 more are not enough, 30 more leave 20.
    peer.socket.write(frame(SETTINGS, 0, 0, '000400000028'));
    peer.socket.write(frame(WINDOW, 0, 1, '00000032'));
    peer.socket.write(frame(PING, 0, 0, '00'.repeat(8)));
    await peer.frame(PING, 0);
    expect(sent()).toEqual([100]);
    peer.socket.write(frame(WINDOW, 0, 1, '0000001e'));
    await expect.poll(sent).toEqual([100, 20]);
    peer.socket.write(frame(WINDOW, 0, 1, '00100000'));
    await expect.poll(sent).toEqual([100, 20, 16_384, 20_005 - 100 - 20 - 16_384]);
    peer.socket.write(answer(1));
    expect(String(await call)).toBe('a');
  });

  it('6.9.1 opens its windows again for what it has received, padding included', async () => {
    const { peer, call } = await called();
    const padded = Buffer.concat([Buffer.from([200]), Buffer.alloc(16_000), Buffer.alloc(200)]);
    peer.socket.write(headers(1, begin));
    const large = Buffer.alloc(5);
    large.writeUInt32BE(16_000 * 600 - 5, 1);
    const first = Buffer.concat([Buffer.from([200]), large, Buffer.alloc(16_000 - 5), Buffer.alloc(200)]);
    peer.socket.write(frame(DATA, PADDED, 1, first));
    for (let i = 1; i < 600; i++) peer.socket.write(frame(DATA, PADDED, 1, padded));
    peer.socket.write(trailers(1));
    expect(await call).toHaveLength(16_000 * 600 - 5);
    const opened = (id: number): number =>
      peer.seen
        .filter(({ type, id: of }) => type === WINDOW && of === id)
        .reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0);
    await peer.frame(WINDOW, 1);
    expect(opened(1)).toBe(Math.ceil((8 * 1024 * 1024) / 16_201) * 16_201);
    expect(opened(0)).toBe(16 * 1024 * 1024 - 65_535 + opened(1));
  });

  it('6.10 sends long headers in several frames', async () => {
    const { connection, peer } = await connected();
    const call = connection.unary(`/${'x'.repeat(40_000)}`, Buffer.alloc(0), waitMs);
    await peer.frame(DATA, 1);
    const sent = peer.seen.filter(({ id }) => id === 1);
    expect(sent.map(({ type }) => type)).toEqual([HEADERS, CONTINUATION, CONTINUATION, DATA]);
    expect(sent.slice(0, 3).map(({ flags }) => flags & END_HEADERS)).toEqual([0, 0, END_HEADERS]);
    expect(sent.every(({ payload }) => payload.length <= 16_384)).toBe(true);
    peer.socket.write(answer(1));
    expect(String(await call)).toBe('a');
  });

  it('6.8 makes no new call after a farewell, ends those that the peer has not begun, and awaits the others', async () => {
    const { connection, peer } = await connected();
    const calls = ['/1', '/2'].map((path) => connection.unary(path, Buffer.alloc(0), waitMs));
    await peer.frame(DATA, 3);
    // First the warning that Go's servers send, then the last stream, and then more than that, which does not count.
    for (const last of ['7fffffff', '00000001', '00000003'])
      peer.socket.write(frame(GOAWAY, 0, 0, `${last}00000000`));
    await expect(calls[1]).rejects.toMatchObject({ unsent: true });
    await expect(connection.unary('/3', Buffer.alloc(0), waitMs)).rejects.toMatchObject({ unsent: true });
    peer.socket.write(answer(1));
    expect(String(await calls[0])).toBe('a');
    await once(peer.socket, 'end');
  });

  it('8.1 resets a stream that was answered before all was sent, so that the peer can forget it', async () => {
    const { connection, peer } = await connected();
    let ended: (error: unknown) => void = () => undefined;
    const end = new Promise((resolve) => {
      ended = resolve;
    });
    const stream = connection.stream('/Watch', { message: () => undefined, end: ended });
    stream.write(Buffer.from('ask'));
    await peer.frame(DATA, 1);
    peer.socket.write(answer(1));
    expect(await end).toBeUndefined();
    expect(reasonIn(await peer.frame(RESET, 1), 0)).toBe(NONE);
  });
});
