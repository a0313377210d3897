/**
 * Proves which frames end one stream and which are served, with windows and bodies, and that other streams go on. Names
 * begin with the section of RFC 9113, or of RFC 7541 for the compression of headers.
 */
import { describe, expect, it } from 'vitest';
import { encodeHeaders } from '../../grpc/header-block.ts';
import { Flag, Frame, Reason } from '../../http2/frame-rules.ts';
import { frame, get, headers, number, post, type RawClient, served, setting } from './raw-client.fixture.ts';

const { data, headers: HEADERS, priority, reset, settings, ping, goAway, windowUpdate, continuation } = Frame;
const { ack, endStream, endHeaders, padded } = Flag;
const hasPriority = Flag.priority;
const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const openPost = (id: number, more: Record<string, string> = {}): Buffer =>
  headers(id, { ...post, ...more }, endHeaders);
const block = (hex: string, id = 1): Buffer => frame(HEADERS, endStream | endHeaders, id, hex);
const two = encodeHeaders(get);

describe('a stream is reset, and others go on', () => {
  const closedByUs = async (client: RawClient, id: number, reason: number): Promise<void> => {
    expect(await client.reason(id)).toBe(reason);
    client.send(headers(id + 2));
    expect(await client.answer(id + 2)).toEqual({ status: '200', text: 'GET /' });
  };

  it.each<[string, number, Buffer[]]>([
    [
      '5.1 data behind the end',
      Reason.streamClosed,
      [openPost(1), frame(data, endStream, 1, '00'), frame(data, endStream, 1, '00')],
    ],
    ['5.1 headers behind the end', Reason.streamClosed, [headers(1), headers(1)]],
    [
      '6.9 a window of a stream that grows by nothing',
      Reason.protocol,
      [openPost(1), frame(windowUpdate, 0, 1, '00000000')],
    ],
    [
      '6.9.1 a window of a stream beyond its maximum',
      Reason.flowControl,
      [openPost(1), frame(windowUpdate, 0, 1, '7fffffff')],
    ],
    [
      '8.1 headers in the middle of a body',
      Reason.protocol,
      [openPost(1), headers(1, { a: 'b' }, endHeaders)],
    ],
    ['8.1 trailers with a pseudo-header', Reason.protocol, [openPost(1), headers(1, { ':method': 'GET' })]],
    ['8.1 trailers with capitals', Reason.protocol, [openPost(1), headers(1, { A: 'b' })]],
    [
      '8.1.1 a body shorter than it said',
      Reason.protocol,
      [openPost(1, { 'content-length': '2' }), frame(data, endStream, 1, '00')],
    ],
    [
      '8.1.1 a body longer than it said',
      Reason.protocol,
      [openPost(1, { 'content-length': '1' }), frame(data, 0, 1, '0000')],
    ],
    ['8.1.1 no body where one was said', Reason.protocol, [headers(1, { ...post, 'content-length': '1' })]],
    [
      '8.1.1 a body shorter than it said, with trailers',
      Reason.protocol,
      [openPost(1, { 'content-length': '2' }), headers(1, { a: 'b' })],
    ],
    ['8.1.1 a length that is none', Reason.protocol, [headers(1, { ...get, 'content-length': '-1' })]],
    ['8.2.1 a name with capitals', Reason.protocol, [headers(1, { ...get, Accept: 'b' })]],
    ['8.2.1 a name with a blank', Reason.protocol, [headers(1, { ...get, 'a b': 'c' })]],
    ['8.2.1 an empty name', Reason.protocol, [headers(1, { ...get, '': 'c' })]],
    ['8.2.1 a value with a line end', Reason.protocol, [headers(1, { ...get, a: 'b\nc: d' })]],
    ['8.2.1 a value with NUL', Reason.protocol, [headers(1, { ...get, a: 'b\0' })]],
    ['8.2.1 a value with a blank before it', Reason.protocol, [headers(1, { ...get, a: ' b' })]],
    ['8.2.1 a value with a blank behind it', Reason.protocol, [headers(1, { ...get, a: 'b\t' })]],
    ['8.2.2 connection', Reason.protocol, [headers(1, { ...get, connection: 'close' })]],
    ['8.2.2 keep-alive', Reason.protocol, [headers(1, { ...get, 'keep-alive': '1' })]],
    ['8.2.2 proxy-connection', Reason.protocol, [headers(1, { ...get, 'proxy-connection': 'x' })]],
    ['8.2.2 transfer-encoding', Reason.protocol, [headers(1, { ...get, 'transfer-encoding': 'chunked' })]],
    ['8.2.2 upgrade', Reason.protocol, [headers(1, { ...get, upgrade: 'h2c' })]],
    ['8.2.2 te for more than trailers', Reason.protocol, [headers(1, { ...get, te: 'gzip' })]],
    ['8.3 an unknown pseudo-header', Reason.protocol, [headers(1, { ...get, ':x': 'b' })]],
    ['8.3 the pseudo-header of answers', Reason.protocol, [headers(1, { ...get, ':status': '200' })]],
    [
      '8.3 a pseudo-header behind another',
      Reason.protocol,
      [headers(1, { ':method': 'GET', ':scheme': 'https', a: 'b', ':path': '/' })],
    ],
    ['8.3.1 no method', Reason.protocol, [headers(1, { ':scheme': 'https', ':path': '/' })]],
    ['8.3.1 no scheme', Reason.protocol, [headers(1, { ':method': 'GET', ':path': '/' })]],
    ['8.3.1 no path', Reason.protocol, [headers(1, { ':method': 'GET', ':scheme': 'https' })]],
    ['8.3.1 an empty path', Reason.protocol, [headers(1, { ...get, ':path': '' })]],
    ['8.3.1 a path with a blank', Reason.protocol, [headers(1, { ...get, ':path': '/a b' })]],
    ['8.3.1 a path that is a URL', Reason.protocol, [headers(1, { ...get, ':path': 'http://x/' })]],
    ['8.3.1 all of a server to read', Reason.protocol, [headers(1, { ...get, ':path': '*' })]],
    ['8.3.1 an authority with a user', Reason.protocol, [headers(1, { ...get, ':authority': 'user@x' })]],
    ['8.3.1 an authority and another host', Reason.protocol, [headers(1, { ...get, host: 'y' })]],
    ['8.5 a CONNECT with a path', Reason.protocol, [headers(1, { ...get, ':method': 'CONNECT' })]],
    ['8.3 a method twice', Reason.protocol, [frame(HEADERS, endStream | endHeaders, 1, '82828784')]],
    ['8.3 a scheme twice', Reason.protocol, [frame(HEADERS, endStream | endHeaders, 1, '82878784')]],
    ['8.3 a path twice', Reason.protocol, [frame(HEADERS, endStream | endHeaders, 1, '82878484')]],
    [
      '8.1.1 two lengths',
      Reason.protocol,
      [frame(HEADERS, endStream | endHeaders, 1, '8287840f0d01300f0d0130')],
    ],
  ])('%s', async (_, reason, frames) => {
    const client = await (
      await served((request, response) => {
        if (request.method === 'GET' && request.headers['a'] === undefined)
          response.writeHead(200, []).end('GET /');
      })
    ).connected();
    client.send(...frames);
    await closedByUs(client, 1, reason);
  });

  it('5.1 data on a stream that has ended', async () => {
    const client = await (await served()).connected();
    client.send(headers(1));
    await client.answer(1);
    client.send(frame(data, endStream, 1, '00'));
    await closedByUs(client, 1, Reason.streamClosed);
  });

  it('5.1.2 streams beyond the number that is allowed', async () => {
    const client = await (await served(() => undefined, 60_000, 2)).connected();
    client.send(headers(1), headers(3), headers(5));
    expect(await client.reason(5)).toBe(Reason.refusedStream);
    expect(client.seen.some(({ type }) => type === goAway)).toBe(false);
  });
});

describe('what is allowed is served', () => {
  it.each<[string, Buffer[], string]>([
    [
      '4.1 reserved bits and unknown flags',
      [frame(HEADERS, 0xff & ~padded & ~hasPriority, 0x80000001, two)],
      'GET /',
    ],
    [
      '5.5 a frame of an unknown type',
      [frame(99, 0xff, 0, 'abcd'), frame(99, 0, 1, ''), headers(1)],
      'GET /',
    ],
    ['6.1 data with padding', [openPost(1), frame(data, padded | endStream, 1, '0261620000')], 'ab'],
    [
      '6.1 padding alone',
      [openPost(1), frame(data, padded, 1, '020000'), frame(data, endStream, 1, '61')],
      'a',
    ],
    ['6.1 data of no bytes', [openPost(1), frame(data, 0, 1), frame(data, endStream, 1, '61')], 'a'],
    [
      '6.2 headers with padding',
      [
        frame(
          HEADERS,
          endHeaders | endStream | padded,
          1,
          Buffer.concat([Buffer.from([3]), two, Buffer.alloc(3)]),
        ),
      ],
      'GET /',
    ],
    [
      '6.2 headers with a priority',
      [
        frame(
          HEADERS,
          endHeaders | endStream | hasPriority,
          1,
          Buffer.concat([Buffer.from('8000000310', 'hex'), two]),
        ),
      ],
      'GET /',
    ],
    ['6.3 a priority of any stream', [frame(priority, 0, 7, '0000000010'), headers(1)], 'GET /'],
    [
      '6.5 unknown settings, and many times the same',
      [
        frame(settings, 0, 0, Buffer.concat([setting(99, 1), setting(4, 100_000), setting(4, 200_000)])),
        headers(1),
      ],
      'GET /',
    ],
    [
      '6.10 headers in pieces, some of them empty',
      [
        frame(HEADERS, endStream, 1, two.subarray(0, 5)),
        frame(continuation, 0, 1),
        frame(continuation, endHeaders, 1, two.subarray(5)),
      ],
      'GET /',
    ],
    ['8.1 trailers', [openPost(1), frame(data, 0, 1, '6162'), headers(1, { checksum: 'x' })], 'ab'],
    ['8.2.2 te of trailers', [headers(1, { ...get, te: 'trailers' })], 'GET /'],
    [
      '8.3.1 a host instead of an authority',
      [headers(1, { ':method': 'GET', ':scheme': 'https', ':path': '/', host: 'x' })],
      'GET /',
    ],
    ['8.3.1 a host that is the authority', [headers(1, { ...get, host: 'X' })], 'GET /'],
    [
      '8.3.1 all of a server by OPTIONS',
      [headers(1, { ...get, ':method': 'OPTIONS', ':path': '*' })],
      'OPTIONS *',
    ],
    [
      '8.1.1 a length that is right',
      [openPost(1, { 'content-length': '2' }), frame(data, 0, 1, '61'), frame(data, endStream, 1, '62')],
      'ab',
    ],
    ['7541 6.1 headers of the static table', [block('828784')], 'GET /'],
    ['7541 4.2 a table that shrinks and grows', [block('203fe11f828784')], 'GET /'],
  ])('%s', async (_, frames, text) => {
    const client = await (await served()).connected();
    client.send(...frames);
    expect(await client.answer(1)).toEqual({ status: '200', text });
  });

  it('7541 6.2.1 a header that was added is known to the next stream', async () => {
    const client = await (await served()).connected();
    client.send(block('828744022f78'), block('8287be', 3));
    expect(await client.answer(3)).toEqual({ status: '200', text: 'GET /x' });
  });

  it('7541 4.1 a header larger than the table empties it', async () => {
    const client = await (await served()).connected();
    const large = encodeHeaders({ a: 'x'.repeat(5_000) });
    large[0] = 0x40;
    client.send(
      block('828744022f78'),
      frame(HEADERS, endStream | endHeaders, 3, Buffer.concat([Buffer.from('828784', 'hex'), large])),
    );
    expect((await client.answer(3)).status).toBe('200');
    client.send(block('8287be', 5));
    expect(await client.reason(0)).toBe(Reason.compression);
  });

  it('7541 5.2 texts in the code of Huffman', async () => {
    const server = await served();
    const client = await server.connected();
    client.send(block('828784418cf1e3c2e5f23a6ba0ab90f4ff'));
    expect((await client.answer(1)).status).toBe('200');
    expect(server.requests[0]!.headers.host).toBe('www.example.com');
  });

  it('3.4 the preface and frames byte by byte', async () => {
    const client = await (await served()).connected(false);
    const bytes = Buffer.concat([
      preface,
      frame(settings, 0, 0),
      openPost(1),
      frame(data, endStream, 1, '616263'),
    ]);
    for (const byte of bytes) {
      client.send(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await client.answer(1)).toEqual({ status: '200', text: 'abc' });
  });

  it('6.5.3 settings are acknowledged, and pings answered with what they had', async () => {
    const client = await (await served()).connected();
    client.send(frame(ping, 0, 0, '0102030405060708'), frame(ping, ack, 0, '0000000000000000'));
    expect((await client.frame(settings, 0, ack))?.payload.length).toBe(0);
    expect((await client.frame(ping, 0, ack))?.payload.toString('hex')).toBe('0102030405060708');
  });

  it('6.4 frames that were under way to a stream that we reset are ignored', async () => {
    const server = await served((_request, response) => response.writeHead(200, []).end('early'));
    const client = await server.connected();
    client.send(openPost(1));
    expect(await client.reason(1)).toBe(Reason.none);
    client.send(
      frame(data, 0, 1, '61'),
      headers(1, { a: 'b' }),
      frame(windowUpdate, 0, 1, '00000001'),
      frame(reset, 0, 1, '00000008'),
    );
    client.send(headers(3));
    expect(await client.answer(3)).toEqual({ status: '200', text: 'early' });
  });

  it('6.10 long headers of an answer go on over several frames', async () => {
    const client = await (
      await served((_request, response) => response.writeHead(200, ['x-long', 'y'.repeat(40_000)]).end('z'))
    ).connected();
    client.send(headers(1));
    await client.frame(data, 1);
    const sent = client.seen.filter(({ id }) => id === 1);
    expect(sent.map(({ type }) => type)).toEqual([HEADERS, continuation, continuation, data]);
    expect(sent.slice(0, 3).map(({ flags }) => flags)).toEqual([0, 0, endHeaders]);
    expect(sent.every(({ payload }) => payload.length <= 16_384)).toBe(true);
  });

  it('6.8 a farewell of the client ends the connection when all is answered', async () => {
    const server = await served(() => undefined);
    const client = await server.connected();
    client.send(headers(1), frame(goAway, 0, 0, '0000000000000000'));
    const farewell = await client.frame(goAway, 0);
    expect([farewell?.payload.readUInt32BE(0), farewell?.payload.readUInt32BE(4)]).toEqual([1, Reason.none]);
    await client.until(() => server.responses.length === 1);
    server.responses[0]!.writeHead(200, []).end('last');
    expect((await client.answer(1)).text).toBe('last');
    await client.until(() => false);
  });

  it('6.8 streams behind our farewell are not served, and their headers decoded all the same', async () => {
    const server = await served(() => undefined);
    const client = await server.connected();
    client.send(headers(1));
    await expect.poll(() => server.requests.length).toBe(1);
    server.lane.shut();
    await client.frame(goAway, 0);
    client.send(
      headers(3),
      openPost(5),
      frame(data, endStream, 5, '00'),
      frame(ping, 0, 0, '0000000000000001'),
    );
    await client.frame(ping, 0, ack);
    server.responses[0]!.writeHead(200, []).end('last');
    await client.until(() => false);
    expect(server.requests.length).toBe(1);
    expect(String(client.body(1))).toBe('last');
  });
});

describe('flow control', () => {
  it('6.9.1 sends no more than the window of a stream, then what it grows by, byte by byte', async () => {
    const client = await (
      await served((_request, response) => response.writeHead(200, []).end('abcde'))
    ).connected(frame(settings, 0, 0, setting(4, 1)));
    client.send(headers(1));
    await client.until(() => client.body(1).length === 1);
    for (let more = 2; more <= 5; more++) {
      client.send(frame(windowUpdate, 0, 1, '00000001'));
      await client.until(() => client.body(1).length === more);
    }
    expect((await client.answer(1)).text).toBe('abcde');
  });

  it('6.9.2 a window that settings have made negative has to grow above nothing', async () => {
    const client = await (
      await served((_request, response) => response.writeHead(200, []).end('x'.repeat(10)))
    ).connected(frame(settings, 0, 0, setting(4, 5)));
    client.send(headers(1));
    await client.until(() => client.body(1).length === 5);
    client.send(
      frame(settings, 0, 0, setting(4, 2)),
      frame(windowUpdate, 0, 1, number(3)),
      frame(ping, 0, 0, '0000000000000000'),
    );
    await client.frame(ping, 0, ack);
    expect(client.body(1).length).toBe(5);
    client.send(frame(settings, 0, 0, setting(4, 7)));
    expect((await client.answer(1)).text.length).toBe(10);
  });

  it('6.9.1 streams share the window of the connection', async () => {
    const client = await (
      await served((_request, response) => response.writeHead(200, []).end('x'.repeat(60_000)))
    ).connected(frame(settings, 0, 0, setting(4, 1_000_000)));
    client.send(headers(1), headers(3));
    await client.until(() => client.body(1).length + client.body(3).length === 65_535);
    client.send(frame(windowUpdate, 0, 0, number(100_000)));
    expect((await client.answer(1)).text.length + (await client.answer(3)).text.length).toBe(120_000);
  });

  it('6.9 a client may send as much as handlers read, with padding', async () => {
    const client = await (await served()).connected();
    client.send(openPost(1));
    const part = Buffer.concat([Buffer.from([200]), Buffer.alloc(16_000, 'a'), Buffer.alloc(200)]);
    let sent = 0;
    const room = (): number =>
      262_144 +
      client.seen
        .filter((one) => one.type === windowUpdate && one.id === 1)
        .reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0);
    for (let i = 0; i < 60; i++) {
      await client.until(() => room() - sent >= part.length);
      client.send(frame(data, padded, 1, part));
      sent += part.length;
    }
    client.send(
      frame(data, endStream, 1),
      frame(windowUpdate, 0, 1, number(2_000_000)),
      frame(windowUpdate, 0, 0, number(2_000_000)),
    );
    expect((await client.answer(1)).text.length).toBe(60 * 16_000);
  });
});
