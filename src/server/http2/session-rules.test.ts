/**
 * Proves that the server side of HTTP/2 does what the specification demands of a server, case by case, with a client that
 * sends any frames it likes. Names begin with the section of RFC 9113, or of RFC 7541 for the compression of headers.
 */
import { describe, expect, it } from 'vitest';
import { encodeHeaders } from '../../grpc/header-block.ts';
import { Flag, Frame, Reason } from '../../http2/frame-rules.ts';
import { frame, get, headers, post, served, setting } from './raw-client.fixture.ts';

const {
  data,
  headers: HEADERS,
  priority,
  reset,
  settings,
  pushPromise,
  ping,
  goAway,
  windowUpdate,
  continuation,
} = Frame;
const { ack, endStream, endHeaders, padded } = Flag;
const hasPriority = Flag.priority;
const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const openPost = (id: number, more: Record<string, string> = {}): Buffer =>
  headers(id, { ...post, ...more }, endHeaders);
const block = (hex: string, id = 1): Buffer => frame(HEADERS, endStream | endHeaders, id, hex);
const two = encodeHeaders(get);

describe('the connection ends, and the client is told why', () => {
  it.each<[string, number, Buffer[]]>([
    ['3.4 a preface that is another', Reason.protocol, [Buffer.from('GET / HTTP/1.1\r\nHost: x\r\n\r\n')]],
    ['3.4 a preface with one wrong byte', Reason.protocol, [Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\rX')]],
    ['3.4 no settings behind the preface', Reason.protocol, [preface, frame(ping, 0, 0, '0000000000000000')]],
    ['3.4 headers before settings', Reason.protocol, [preface, headers(1)]],
    ['3.4 an acknowledgement instead of settings', Reason.protocol, [preface, frame(settings, ack, 0)]],
  ])('%s', async (_, reason, frames) => {
    const client = await (await served()).connected(false);
    client.send(...frames);
    expect(await client.reason(0)).toBe(reason);
    await client.until(() => false);
  });

  it.each<[string, number, Buffer[]]>([
    [
      '4.2 a frame larger than allowed',
      Reason.frameSize,
      [openPost(1), frame(data, 0, 1, Buffer.alloc(262_145))],
    ],
    ['4.2 a large frame for the connection', Reason.frameSize, [frame(ping, 0, 0, Buffer.alloc(262_145))]],
    ['4.3 a block that cannot be decoded', Reason.compression, [block('bf')]],
    [
      '4.3 another frame among headers',
      Reason.protocol,
      [headers(1, get, endStream), frame(ping, 0, 0, '0000000000000000')],
    ],
    [
      '4.3 headers of another stream among headers',
      Reason.protocol,
      [headers(1, get, endStream), headers(3)],
    ],
    [
      '4.3 a continuation of another stream',
      Reason.protocol,
      [headers(1, get, endStream), frame(continuation, endHeaders, 3)],
    ],
    ['4.3 data among headers', Reason.protocol, [headers(1, post, 0), frame(data, endStream, 1, '00')]],
    ['5.1 data on an idle stream', Reason.protocol, [frame(data, endStream, 1, '00')]],
    ['5.1 a reset of an idle stream', Reason.protocol, [frame(reset, 0, 1, '00000008')]],
    ['5.1 a window of an idle stream', Reason.protocol, [frame(windowUpdate, 0, 1, '00000001')]],
    ['5.1 a continuation on an idle stream', Reason.protocol, [frame(continuation, endHeaders, 1, two)]],
    ['5.1.1 an even stream', Reason.protocol, [headers(2)]],
    ['5.1.1 a stream below another', Reason.protocol, [headers(5), headers(3)]],
    ['5.5 an unknown frame among headers', Reason.protocol, [headers(1, get, endStream), frame(99, 0, 0)]],
    ['6.1 data for the connection', Reason.protocol, [frame(data, 0, 0, '00')]],
    ['6.1 data shorter than its padding', Reason.protocol, [openPost(1), frame(data, padded, 1, '05')]],
    ['6.1 data as long as its padding', Reason.protocol, [openPost(1), frame(data, padded, 1, '0200')]],
    ['6.1 padded data without its length', Reason.protocol, [openPost(1), frame(data, padded, 1)]],
    ['6.2 headers for the connection', Reason.protocol, [headers(0)]],
    [
      '6.2 headers shorter than their padding',
      Reason.protocol,
      [frame(HEADERS, endHeaders | endStream | padded, 1, 'ff82')],
    ],
    [
      '6.2 headers shorter than their priority',
      Reason.protocol,
      [frame(HEADERS, endHeaders | hasPriority, 1, '00')],
    ],
    ['6.3 a priority for the connection', Reason.protocol, [frame(priority, 0, 0, '0000000000')]],
    ['6.3 a priority that is too short', Reason.frameSize, [frame(priority, 0, 1, '00000000')]],
    ['6.4 a reset for the connection', Reason.protocol, [frame(reset, 0, 0, '00000008')]],
    ['6.4 a reset that is too short', Reason.frameSize, [openPost(1), frame(reset, 0, 1, '000008')]],
    ['6.4 a reset that is too long', Reason.frameSize, [openPost(1), frame(reset, 0, 1, '0000000800')]],
    ['6.5 settings for a stream', Reason.protocol, [frame(settings, 0, 1)]],
    ['6.5 an acknowledgement with content', Reason.frameSize, [frame(settings, ack, 0, setting(3, 1))]],
    ['6.5 settings that end in the middle', Reason.frameSize, [frame(settings, 0, 0, '000300')]],
    ['6.5.2 a push setting of 2', Reason.protocol, [frame(settings, 0, 0, setting(2, 2))]],
    ['6.5.2 a window that is too large', Reason.flowControl, [frame(settings, 0, 0, setting(4, 2 ** 31))]],
    ['6.5.2 frames that are too small', Reason.protocol, [frame(settings, 0, 0, setting(5, 16_383))]],
    ['6.5.2 frames that are too large', Reason.protocol, [frame(settings, 0, 0, setting(5, 2 ** 24))]],
    ['6.6 a push', Reason.protocol, [frame(pushPromise, endHeaders, 1, '00000002')]],
    [
      '6.6 a push on an open stream',
      Reason.protocol,
      [openPost(1), frame(pushPromise, endHeaders, 1, '00000002')],
    ],
    ['6.7 a ping for a stream', Reason.protocol, [frame(ping, 0, 1, '0000000000000000')]],
    ['6.7 a ping that is too short', Reason.frameSize, [frame(ping, 0, 0, '00')]],
    ['6.7 a ping that is too long', Reason.frameSize, [frame(ping, 0, 0, '000000000000000000')]],
    ['6.8 a farewell for a stream', Reason.protocol, [openPost(1), frame(goAway, 0, 1, '0000000000000000')]],
    ['6.8 a farewell that is too short', Reason.frameSize, [frame(goAway, 0, 0, '00000000')]],
    ['6.9 a window that grows by nothing', Reason.protocol, [frame(windowUpdate, 0, 0, '00000000')]],
    ['6.9 a window update that is too short', Reason.frameSize, [frame(windowUpdate, 0, 0, '000001')]],
    ['6.9 a window update that is too long', Reason.frameSize, [frame(windowUpdate, 0, 0, '0000000001')]],
    ['6.9.1 a window beyond its maximum', Reason.flowControl, [frame(windowUpdate, 0, 0, '7fffffff')]],
    [
      '6.9.2 settings that make a window of a stream too large',
      Reason.flowControl,
      [openPost(1), frame(windowUpdate, 0, 1, '7fff0000'), frame(settings, 0, 0, setting(4, 0x7fffffff))],
    ],
    [
      '6.10 a continuation without headers',
      Reason.protocol,
      [headers(1), frame(continuation, endHeaders, 1, two)],
    ],
    [
      '6.10 a continuation for the connection',
      Reason.protocol,
      [headers(1, get, endStream), frame(continuation, endHeaders, 0)],
    ],
    [
      '6.10 a continuation behind the last',
      Reason.protocol,
      [openPost(1), frame(continuation, endHeaders, 1)],
    ],
    ['7541 2.3.3 an index beyond the table', Reason.compression, [block('8287bf')]],
    ['7541 6.1 the index 0', Reason.compression, [block('80')]],
    ['7541 4.2 a table larger than allowed', Reason.compression, [block('3fe21f82')]],
    ['7541 4.2 a table that changes at the end of a block', Reason.compression, [block('828720')]],
    ['7541 4.2 a table that changes three times', Reason.compression, [block('20212282')]],
    ['7541 5.1 a number that is too large', Reason.compression, [block('ffffffffffff7f')]],
    ['7541 5.1 a number of zeros without end', Reason.compression, [block(`ff${'80'.repeat(40)}00`)]],
    ['7541 5.2 a text that is cut off', Reason.compression, [block('00057800')]],
    ['7541 5.2 a padding of zeros', Reason.compression, [block('8287840081180178')]],
    [
      '7541 5.2 a padding longer than seven bits',
      Reason.compression,
      [block('0085f2b24a84ff8649509fffffff')],
    ],
    ['7541 5.2 the end mark', Reason.compression, [block('8287840084ffffffff0178')]],
  ])('%s', async (_, reason, frames) => {
    const client = await (await served()).connected();
    client.send(...frames);
    expect(await client.reason(0)).toBe(reason);
    await client.until(() => false);
  });

  it('5.1 headers on a stream that has ended', async () => {
    const client = await (await served()).connected();
    client.send(headers(1));
    await client.answer(1);
    client.send(headers(1));
    expect(await client.reason(0)).toBe(Reason.streamClosed);
  });

  it('6.9 more data than the window of the connection', async () => {
    // Streams whose bodies nobody reads, and that are reset by their client, use up the window of the connection alone.
    const client = await (await served(() => undefined)).connected();
    client.send(openPost(1));
    for (let i = 0; i < 17; i++) client.send(frame(data, 0, 1, Buffer.alloc(16_384)));
    expect(await client.reason(1)).toBe(Reason.flowControl);
  });
});
