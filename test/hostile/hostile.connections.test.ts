/** Proves that connections may be upgraded, used for many requests, or held open without one. */
import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { start } from '../../src/cluster/index.ts';
import type { Reply } from '../support/http.ts';
import { head, parseReplies, readToEnd, Target, useTarget, webSocketHead } from '../support/target.ts';

const configMaps = '/api/v1/namespaces/default/configmaps';
const target = useTarget();

const post = (...headers: string[]): string => head(`POST ${configMaps}`, ...headers);
const body = '{"metadata":{"name":"smuggled"}}';
const length = `Content-Length: ${body.length}`;

describe('upgrades', () => {
  it.each([
    ['to another protocol', head('GET /healthz', 'Connection: Upgrade', 'Upgrade: TLS/1.3'), 400],
    ['of a path that is no watch', webSocketHead('/healthz'), 400],
    ['of a list', webSocketHead(configMaps), 400],
    ['of an object', webSocketHead(`${configMaps}/a?watch=1`), 400],
    ['of a resource nobody knows', webSocketHead('/api/v1/nopes?watch=1'), 400],
    ['of a POST', post('Connection: Upgrade', 'Upgrade: websocket', length) + body, 400],
    ['with a bad selector', webSocketHead(`${configMaps}?watch=1&labelSelector=((`), 400],
    ['with a bad version', webSocketHead(`${configMaps}?watch=1&resourceVersion=abc`), 422],
    ['with a broken path', webSocketHead('/%zz'), 400],
    [
      'without a key',
      head(
        `GET ${configMaps}?watch=1`,
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
      ),
      400,
    ],
    [
      'of an old version',
      head(
        `GET ${configMaps}?watch=1`,
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 7',
        'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      ),
      [400, 426],
    ],
    [
      'with a protocol that is none',
      webSocketHead(`${configMaps}?watch=1`, 'Sec-WebSocket-Protocol: a,,b'),
      400,
    ],
  ])('%s are refused', async (_what, bytes, code) => {
    await target.refusesBytes(bytes, code);
  });

  it.each([
    ['bytes', '\xff\xff\xff\xff\xff\xff\xff\xff'],
    ['frames without a mask', '\x81\x05hello'],
    ['frames that are too long', '\x82\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00'],
    ['control frames in pieces', '\x09\x80\x00\x00\x00\x00'],
    ['text that is no UTF-8', '\x81\x82\x00\x00\x00\x00\xff\xff'],
    ['HTTP', head('GET /healthz')],
  ])('end when they are followed by %s', async (_what, frames) => {
    const before = await target.version();
    const socket = target.dial();
    socket.write(Buffer.from(webSocketHead(`${configMaps}?watch=1&resourceVersion=0`) + frames, 'latin1'));
    const said = await readToEnd(socket);
    expect(said.toString('latin1')).toMatch(/^HTTP\/1\.1 101 /);
    await target.unharmed(before);
  });

  it('end with code 1009 when a message is too long', async () => {
    const socket = new WebSocket(`${target.url.replace('http', 'ws')}${configMaps}?watch=1`);
    await new Promise((resolve) => socket.once('open', resolve));
    const closed = new Promise<number>((resolve) => socket.once('close', resolve));
    socket.on('error', () => undefined);
    socket.send('x'.repeat(100_000));
    expect(await closed).toBe(1009);
    await target.unharmed(await target.version());
  });

  it('that were refused, or stay silent, do not hold the server up when it closes', async () => {
    const own = new Target();
    own.cluster = await start({ store: 'memory', controllers: false });
    const sockets = [
      head('GET /', 'Connection: Upgrade', 'Upgrade: h2c'),
      webSocketHead(`${configMaps}?watch=1`),
      '\x00\r\n\r\n',
      'GET / HT',
    ].map((bytes) => {
      const socket = own.dial();
      socket.on('error', () => undefined).write(Buffer.from(bytes, 'latin1'));
      return socket;
    });
    // The last is half a header, and gets no answer.
    await Promise.all(
      sockets.slice(0, -1).map((socket) => new Promise((resolve) => socket.once('data', resolve))),
    );
    await own.cluster.close();
    for (const socket of sockets) socket.destroy();
  }, 8_000);
});

describe('pipelining', () => {
  const next = head('GET /healthz', 'Connection: close');

  it('goes on after an error', async () => {
    const bad = [
      `${post('Content-Length: 2')}{{`,
      `${post('Transfer-Encoding: chunked')}1\r\n{\r\n0\r\n\r\n`,
      head(`GET ${configMaps}?limit=abc`),
      head('GET /%zz'),
      head(`GET ${configMaps}/nobody`),
      head('GET /nowhere'),
    ];
    const replies = await target.exchange(bad.join('') + next);
    expect(replies.map(({ status }) => status)).toEqual([400, 400, 400, 400, 404, 404, 200]);
  });

  it('never takes a body that was not read for the next request', async () => {
    const before = await target.version();
    const hidden = `${post(length)}${body}`;
    for (const line of [
      `PATCH ${configMaps}/a`,
      `DELETE ${configMaps}/nobody`,
      `GET ${configMaps}`,
      `OPTIONS ${configMaps}`,
    ]) {
      const replies = await target.exchange(head(line, `Content-Length: ${hidden.length}`) + hidden + next);
      expect(replies.length, line).toBeLessThanOrEqual(2);
    }
    await target.unharmed(before);
  });

  it('lets a request be answered before what follows it is refused', async () => {
    const replies = await target.exchange(`${head(`GET ${configMaps}`)}\x00\x00\x00`);
    expect(replies.map(({ status }) => status)).toEqual([200, 400]);
  });

  it('lets a request be answered before an upgrade behind it is refused', async () => {
    const foreign = webSocketHead(`${configMaps}?watch=1`).replace('Host: localhost', 'Host: evil.example');
    const replies = await target.exchange(head(`GET ${configMaps}`) + foreign);
    expect(replies.map(({ status }) => status)).toEqual([200, 403]);
  });

  it('takes a thousand requests at once', async () => {
    const replies = await target.exchange(head(`GET ${configMaps}`).repeat(1000) + next);
    expect(replies).toHaveLength(1001);
    expect(replies.every(({ status }) => status === 200)).toBe(true);
  });

  it('does not disturb a watch', async () => {
    const socket = target.dial();
    socket.write(`${head(`GET ${configMaps}?watch=1&timeoutSeconds=1&resourceVersion=0`)}\x00\x00\x00`);
    const said = (await readToEnd(socket)).toString('latin1');
    expect(said).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\n0\r\n\r\n(HTTP\/1\.1 400 [\s\S]*)?$/);
  });
});

describe('a slow body', () => {
  const slow = useTarget({ limits: { bodyTimeoutMs: 200 } });

  it('is given up on', async () => {
    for (const start of ['', '{', body]) {
      const bytes = post('Content-Length: 1000') + start;
      await slow.refusesBytes(bytes, [408, 504], /did not complete within the allotted timeout/);
    }
    await slow.refusesBytes(post('Transfer-Encoding: chunked'), [408, 504], /allotted timeout/);
  });

  it('is given up on even if a byte comes now and then', async () => {
    const before = await slow.version();
    const socket = slow.dial();
    socket.on('error', () => undefined).write(post('Content-Length: 1000'));
    const drip = setInterval(() => socket.write(' '), 20);
    const replies = parseReplies(await readToEnd(socket));
    clearInterval(drip);
    expect(replies).toHaveLength(1);
    expect([408, 504]).toContain(replies[0]!.status);
    await slow.unharmed(before);
  });

  it('does not hold up others', async () => {
    const before = await slow.version();
    const waiting = Array.from({ length: 50 }, () => slow.exchange(post('Content-Length: 1000')));
    const quick = await Promise.all(Array.from({ length: 50 }, () => get('/healthz')));
    expect(quick.every(({ status }) => status === 200)).toBe(true);
    for (const replies of await Promise.all(waiting)) expect(replies).toHaveLength(1);
    await slow.unharmed(before);
  });

  const get = (path: string): Promise<Pick<Reply, 'status'>> =>
    new Promise((resolve, reject) => {
      request(`${slow.url}${path}`, { agent: false }, (response) => {
        response.resume().on('end', () => resolve({ status: response.statusCode! }));
      })
        .on('error', reject)
        .end();
    });
});
