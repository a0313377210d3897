/** Proves the bounds of a session: what a client sends costs no more than its bytes, and nobody else's turn. */
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { encodeHeaders } from '../../grpc/header-block.ts';
import { Flag, Frame, Reason } from '../../http2/frame-rules.ts';
import { frame, get, headers, number, post, served, setting } from './raw-client.fixture.ts';

const { endStream, endHeaders, padded, ack } = Flag;
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const ping = frame(Frame.ping, 0, 0, '0000000000000001');
const ids = (count: number): number[] => Array.from({ length: count }, (_, i) => 2 * i + 1);
/** The client reads nothing, and the server has more for it than its machine keeps. */
const answersMuch = async () => {
  const server = await served((request, response) => {
    if (request.url === '/large') response.writeHead(200, []).end(Buffer.alloc(12 * 1024 * 1024));
    else response.writeHead(200, []).end('small');
  });
  const client = await server.connected(frame(Frame.settings, 0, 0, setting(4, 2 ** 31 - 1)));
  client.send(frame(Frame.windowUpdate, 0, 0, number(2 ** 30)));
  client.socket.pause();
  client.send(headers(1, { ...get, ':path': '/large' }));
  await expect.poll(() => server.responses.length).toBe(1);
  return { server, client };
};

describe('a client is told to be calm that', () => {
  it('takes requests back as fast as it can', async () => {
    const client = await (await served(() => undefined)).connected();
    for (const id of ids(600)) client.send(headers(id), frame(Frame.reset, 0, id, number(Reason.cancel)));
    expect(await client.reason(0)).toBe(Reason.calm);
  });

  it('makes the server reset its streams', async () => {
    const client = await (await served(() => undefined)).connected();
    for (const id of ids(600)) client.send(headers(id), frame(Frame.windowUpdate, 0, id, number(0)));
    expect(await client.reason(0)).toBe(Reason.calm);
  });

  it('opens more streams than it may, again and again', async () => {
    const client = await (await served(() => undefined)).connected();
    for (const id of ids(700)) client.send(headers(id));
    expect(await client.reason(0)).toBe(Reason.calm);
  });

  it('goes on with headers in ever more frames', async () => {
    const client = await (await served()).connected();
    client.send(headers(1, get, endStream), ...ids(130).map(() => frame(Frame.continuation, 0, 1)));
    expect(await client.reason(0)).toBe(Reason.calm);
  });

  it('goes on with headers of ever more bytes', async () => {
    const client = await (await served()).connected();
    client.send(headers(1, get, endStream));
    for (let i = 0; i < 5; i++) client.send(frame(Frame.continuation, 0, 1, Buffer.alloc(250_000, 0x82)));
    expect(await client.reason(0)).toBe(Reason.calm);
  });

  it('sends more settings in a frame than there are', async () => {
    const client = await (await served()).connected(
      frame(Frame.settings, 0, 0, Buffer.concat(ids(65).map(() => setting(4, 1)))),
    );
    expect(await client.reason(0)).toBe(Reason.calm);
  });

  it.each<[string, (id: number) => Buffer]>([
    ['pings', () => ping],
    ['sends settings', () => frame(Frame.settings, 0, 0)],
    ['asks for heads', (id) => headers(id, { ...get, ':method': 'HEAD' })],
  ])('%s without reading the answers', async (_, asked) => {
    const { server, client } = await answersMuch();
    for (let id = 3; !server.responses[0]!.destroyed; await turn())
      client.send(...ids(40).map(() => asked((id += 2))));
    client.socket.resume();
    expect(await client.reason(0)).toBe(Reason.calm);
  });

  it('holds more unfinished headers than an address may', async () => {
    const server = await served();
    // Half of 64 MB for one address.
    const clients = await Promise.all(ids(36).map(() => server.connected()));
    for (const client of clients) {
      client.send(headers(1, get, endStream));
      for (let i = 0; i < 4; i++) client.send(frame(Frame.continuation, 0, 1, Buffer.alloc(250_000, 0x82)));
    }
    const [reason] = await Promise.all([Promise.race(clients.map((client) => client.reason(0)))]);
    expect(reason).toBe(Reason.calm);
    const neighbour = await server.connected();
    expect((await neighbour.send(headers(1)).answer(1)).status).toBe('200');
  });
});

describe('one request alone is refused', () => {
  it('whose headers are larger than allowed when they are decoded', async () => {
    const client = await (await served()).connected();
    const large = encodeHeaders({ a: 'x'.repeat(4_000) });
    large[0] = 0x40;
    const bomb = Buffer.concat([Buffer.from('828784', 'hex'), large, Buffer.alloc(10_000, 0xbe)]);
    client.send(frame(Frame.headers, endStream | endHeaders, 1, bomb));
    expect(await client.reason(1)).toBe(Reason.calm);
    expect((await client.send(headers(3)).answer(3)).status).toBe('200');
  });

  it('with more headers than allowed', async () => {
    const client = await (await served()).connected();
    const many = Object.fromEntries(ids(2_001).map((id) => [`x${id}`, 'y']));
    client.send(headers(1, { ...get, ...many }), headers(3));
    expect(await client.reason(1)).toBe(Reason.calm);
    expect((await client.answer(3)).status).toBe('200');
  });
});

describe('a turn of the event loop', () => {
  it('begins some requests alone of hundreds that come in one packet, those with few first', async () => {
    const begun: string[] = [];
    const server = await served(({ url }, response) => {
      begun.push(url);
      response.writeHead(200, []).end();
    });
    const [greedy, modest] = [await server.connected(), await server.connected()];
    await Promise.all([greedy.frame(Frame.settings, 0, ack), modest.frame(Frame.settings, 0, ack)]);
    greedy.send(...ids(90).map((id) => headers(id, { ...get, ':path': '/greedy' })));
    modest.send(headers(1, { ...get, ':path': '/modest' }));
    await Promise.all([modest.answer(1), greedy.answer(179)]);
    expect(begun.length).toBe(91);
    // Both were there in the first turn, which began 24 requests at most.
    expect(begun.indexOf('/modest')).toBeLessThan(60);
  });

  it.each<[string, Buffer]>([
    ['empty data', frame(Frame.data, 0, 1)],
    ['padding', frame(Frame.data, padded, 1, Buffer.from('0100', 'hex'))],
    ['priorities', frame(Frame.priority, 0, 1, '0000000000')],
    ['windows that grow by a byte', frame(Frame.windowUpdate, 0, 1, number(1))],
    ['pings', ping],
    ['settings', frame(Frame.settings, 0, 0, setting(4, 70_000))],
    ['frames of unknown types', frame(77, 0, 0)],
  ])('takes some of thousands of small frames: %s', async (_, small) => {
    const server = await served((request, response) => {
      if (request.method === 'GET') response.writeHead(200, []).end('seen');
    });
    const [flood, neighbour] = [await server.connected(), await server.connected()];
    flood.send(headers(1, post, endHeaders));
    await expect.poll(() => server.requests.length).toBe(1);
    let isOver = false;
    const many = Buffer.concat(ids(20_000).map(() => small));
    flood.send(many, headers(3));
    void flood.answer(3).then(() => {
      isOver = true;
    });
    expect((await neighbour.send(headers(1)).answer(1)).text).toBe('seen');
    expect(isOver).toBe(false);
    expect((await flood.answer(3)).text).toBe('seen');
  });
});

describe('a connection', () => {
  it('that does not begin in time is cut', async () => {
    const server = await served(undefined, 50);
    const [silent, slow] = [await server.connected(false), await server.connected(false)];
    slow.send(Buffer.from('PRI * HTTP/2.0\r\n'));
    await Promise.all([silent.until(() => false), slow.until(() => false)]);
    expect([silent.socket.closed, slow.socket.closed]).toEqual([true, true]);
  });

  it('that closes ends all its requests, a few in a turn', async () => {
    const server = await served(() => undefined);
    const client = await server.connected();
    client.send(...ids(60).map((id) => headers(id)));
    await expect.poll(() => server.responses.length).toBe(60);
    let closed = 0;
    const inTurns = new Set<number>();
    for (const response of server.responses)
      response.on('close', () => {
        closed++;
        inTurns.add(turns);
      });
    let turns = 0;
    const count = (): void => {
      turns++;
      if (closed < 60) setImmediate(count);
    };
    count();
    client.socket.destroy();
    await expect.poll(() => closed).toBe(60);
    expect(inTurns.size).toBeGreaterThan(3);
    expect(server.responses.every(({ destroyed }) => destroyed)).toBe(true);
  });

  it('whose client opens no window holds what its streams have, and others are served', async () => {
    const server = await served((_request, response) =>
      response.writeHead(200, []).end(Buffer.alloc(50_000)),
    );
    const shut = await server.connected(frame(Frame.settings, 0, 0, setting(4, 0)));
    shut.send(...ids(100).map((id) => headers(id)));
    await expect.poll(() => server.responses.length).toBe(100);
    expect(server.responses.every(({ writableLength }) => writableLength === 50_000)).toBe(true);
    const neighbour = await server.connected();
    expect((await neighbour.send(headers(1)).answer(1)).text.length).toBe(50_000);
    shut.send(
      frame(Frame.settings, 0, 0, setting(4, 50_000)),
      frame(Frame.windowUpdate, 0, 0, number(5_000_000)),
    );
    for (const id of ids(100)) expect((await shut.answer(id)).text.length).toBe(50_000);
  });

  it('lets a body that nobody reads wait, in little more memory than it has bytes', async () => {
    const server = await served(() => undefined);
    const client = await server.connected();
    client.send(headers(1, post, endHeaders), ...ids(5_000).map(() => frame(Frame.data, 0, 1, '61')), ping);
    await client.frame(Frame.ping, 0, ack);
    const chunks: Buffer[] = [];
    server.requests[0]!.on('data', (chunk: Buffer) => void chunks.push(chunk));
    await expect.poll(() => Buffer.concat(chunks).length).toBe(5_000);
    expect(chunks.length).toBeLessThan(10);
    expect(String(Buffer.concat(chunks))).toBe('a'.repeat(5_000));
  });

  it('serves on when its client has read more than may wait', async () => {
    const part = Buffer.alloc(60_000);
    const server = await served((_request, response) => response.writeHead(200, []).end(part));
    const client = await server.connected(frame(Frame.settings, 0, 0, setting(4, 2 ** 31 - 1)));
    client.send(frame(Frame.windowUpdate, 0, 0, number(2 ** 30)));
    // 18 MB, where 16 may wait.
    for (const id of ids(300)) await client.send(headers(id)).frame(Frame.data, id, endStream);
    expect(server.responses.length).toBe(300);
    expect(server.responses.every(({ writableFinished }) => writableFinished)).toBe(true);
  });

  it('tells who reads a body late that its client has left', async () => {
    const server = await served(() => undefined);
    const client = await server.connected();
    client.send(headers(1, post, endHeaders), frame(Frame.data, 0, 1, '61'));
    await expect.poll(() => server.requests.length).toBe(1);
    client.send(frame(Frame.reset, 0, 1, number(Reason.cancel)), ping);
    await client.frame(Frame.ping, 0, ack);
    const heard: string[] = [];
    for (const event of ['data', 'end', 'close']) server.requests[0]!.on(event, () => void heard.push(event));
    await expect.poll(() => heard).toEqual(['close']);
  });
});

it('does not wait for more of a frame that came in two parts', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const client = await (await served()).connected();
  await client.frame(Frame.settings, 0, ack);
  client.send(ping.subarray(0, 12));
  for (let i = 0; i < 20; i++) await turn();
  await client.send(ping.subarray(12)).frame(Frame.ping, 0, ack);
  vi.advanceTimersByTime(31_000);
  expect((await client.send(headers(1)).answer(1)).status).toBe('200');
  expect(client.seen.some(({ type }) => type === Frame.goAway)).toBe(false);
});
