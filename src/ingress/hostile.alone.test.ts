/** Hostile clients and backends: their attempts are refused or bounded, and the next client is served. */
import { once } from 'node:events';
import { connect, createServer as createNetServer } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  answered,
  ask,
  exchange,
  expose,
  listening,
  route,
  serve,
  until,
  useIngress,
} from './ingress.fixture.ts';

/** Connections that are kept after an answer are closed soon: tests read to the end of a connection. */
const stage = useIngress({ limits: { connectionsMax: 20, keepAliveMs: 400 } });
/** Time limits that a slow machine exceeds in ordinary requests, too: for controllers of their own. */
const impatient = { headMs: 400, idleMs: 800, keepAliveMs: 400 };
const port = () => stage.controller.port;
let underWay = 0;
let mostAtOnce = 0;

beforeAll(async () => {
  const web = await serve((request, response) => {
    mostAtOnce = Math.max(mostAtOnce, ++underWay);
    response.on('close', () => underWay--);
    if (request.url === '/never') return;
    if (request.url === '/echo') return void request.pipe(response);
    if (request.url === '/cut')
      return void response
        .writeHead(200, { 'Content-Length': '100' })
        .write('half', () => response.destroy());
    request.resume().on('end', () => setTimeout(() => response.end('ok'), request.url === '/slow' ? 20 : 0));
  });
  await expose(stage.client, 'web', web);
  await route(stage.client, 'web', 'web.com');
  await answered(port(), 'web.com', 200);
});

const fine = async (): Promise<void> => {
  expect((await ask(port(), 'web.com')).text).toBe('ok');
  expect(stage.failures).toEqual([]);
};

describe('requests', () => {
  const head = 'Host: web.com\r\nConnection: close\r\n';
  const hidden = '0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: web.com\r\n\r\n';
  const rows: [name: string, bytes: string, answer: RegExp][] = [
    ['no HTTP at all', '\x16\x03\x01\x00\xff\x00\r\n\r\n', /^HTTP\/1.1 400 /],
    ['no host', 'GET / HTTP/1.1\r\n\r\n', /^HTTP\/1.1 400 /],
    [
      'a host that is none',
      'GET / HTTP/1.1\r\nHost: web.com/@evil\r\nConnection: close\r\n\r\n',
      /^HTTP\/1.1 400 /,
    ],
    [
      'two hosts',
      `GET / HTTP/1.1\r\nHost: web.com\r\nHost: evil.com\r\nConnection: close\r\n\r\n`,
      /^HTTP\/1.1 400 /,
    ],
    ['a URL of another host', `GET http://evil.com/ HTTP/1.1\r\n${head}\r\n`, /^HTTP\/1.1 400 /],
    ['a URL of the host', `GET http://WEB.com?a HTTP/1.1\r\n${head}\r\n`, /^HTTP\/1.1 200 /],
    ['no path', `OPTIONS * HTTP/1.1\r\n${head}\r\n`, /^HTTP\/1.1 400 /],
    [
      'two lengths',
      `POST / HTTP/1.1\r\n${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n${hidden}`,
      /^HTTP\/1.1 400 (?![\s\S]*HTTP)/,
    ],
    [
      'an odd encoding',
      `POST / HTTP/1.1\r\n${head}Transfer-Encoding: xchunked\r\n\r\n${hidden}`,
      /^HTTP\/1.1 (400|501) (?![\s\S]*HTTP)/,
    ],
    ['a large head', `GET / HTTP/1.1\r\n${head}X: ${'x'.repeat(20_000)}\r\n\r\n`, /^HTTP\/1.1 431 /],
    ['many headers', `GET / HTTP/1.1\r\n${head}${'a:\r\n'.repeat(1_200)}\r\n`, /^HTTP\/1.1 431 /],
    ['a tunnel', 'CONNECT web.com:443 HTTP/1.1\r\nHost: web.com:443\r\n\r\n', /^$/],
    [
      'an upgrade with a hidden request',
      `GET / HTTP/1.1\r\nHost: web.com\r\nConnection: upgrade\r\nUpgrade: x\r\nTransfer-Encoding: chunked\r\n\r\n${hidden}`,
      /^HTTP\/1.1 400 (?![\s\S]*HTTP)/,
    ],
    ['a backend that breaks off', `GET /cut HTTP/1.1\r\n${head}\r\n`, /^HTTP\/1.1 200 [\s\S]*half$/],
  ];
  for (const [name, bytes, reply] of rows)
    it(name, async () => {
      // Proves that the client gets exactly one answer, the expected one, and that the next client is served.
      expect(await exchange(port(), bytes)).toMatch(reply);
      await fine();
    });

  it('with offers of HTTP/2 leave nothing on their connection', async () => {
    // Proves that listeners do not accumulate on a connection that is used for many requests.
    const warnings: Error[] = [];
    const warned = (warning: Error): void => void warnings.push(warning);
    process.on('warning', warned);
    const offer = 'GET / HTTP/1.1\r\nHost: web.com\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n';
    const answers = await exchange(port(), `${offer.repeat(30)}GET / HTTP/1.1\r\n${head}\r\n`);
    expect(answers.match(/HTTP\/1.1 200/g)).toHaveLength(31);
    process.off('warning', warned);
    expect(warnings).toEqual([]);
  });

  it('with many headers lose none of them', async () => {
    // Proves that Content-Length is honoured, however many dropped headers precede it.
    const many = `${'X-Forwarded-A: 1\r\n'.repeat(10)}${'a:\r\n'.repeat(990)}`;
    const bytes = `POST /echo HTTP/1.1\r\n${head}${many}Content-Length: 5\r\n\r\nhello`;
    expect(await exchange(port(), bytes)).toMatch(/^HTTP\/1.1 200 [\s\S]*hello/);
  });

  it('on one connection are taken one after the other, and not without end', async () => {
    // Proves that a single connection cannot open many connections to backends.
    mostAtOnce = 0;
    const get = 'GET /slow HTTP/1.1\r\nHost: web.com\r\n';
    const answers = await exchange(port(), `${`${get}\r\n`.repeat(4)}${get}Connection: close\r\n\r\n`);
    expect(answers.match(/HTTP\/1.1 200/g)).toHaveLength(5);
    expect(mostAtOnce).toBe(1);
    expect(await exchange(port(), `${get}\r\n`.repeat(500))).toBe('');
    await fine();
  });
});

describe('clients', () => {
  it('that are slow or silent are let go of', async () => {
    // Proves the timeouts for heads, for handshakes, and between requests.
    const { port: own, tlsPort } = await stage.open({ limits: impatient });
    const [silent, half, kept, shaking] = await Promise.all([
      exchange(own, ''),
      exchange(own, 'GET / HTTP/1.1\r\nHost: w'),
      exchange(port(), 'GET / HTTP/1.1\r\nHost: web.com\r\n\r\n'),
      exchange(tlsPort!, ''),
    ]);
    expect(silent).toMatch(/^HTTP\/1.1 408 |^$/);
    expect(half).toMatch(/^HTTP\/1.1 408 |^$/);
    expect(kept).toMatch(/^HTTP\/1.1 200 [\s\S]*ok/);
    expect(shaking).not.toMatch(/HTTP/);
    await fine();
  });

  it('waiting for a backend that never answers get 504', async () => {
    // Proves the idle timeout of requests, and that the backend is disconnected, too.
    const { port: own } = await stage.open({ limits: impatient });
    expect(
      (
        await until(
          () => ask(own, 'web.com', { path: '/never' }),
          ({ status }) => status !== 408,
        )
      ).status,
    ).toBe(504);
    await until(
      async () => underWay,
      (count) => count === 0,
    );
    await fine();
  });

  it('of which there are too many are closed as they come', async () => {
    // Proves the limit on concurrent connections.
    const { port: own } = await stage.open({ limits: { connectionsMax: 2 } });
    const sockets = [1, 2].map(() => connect(own, '127.0.0.1').on('error', () => undefined));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    expect(await exchange(own, 'GET / HTTP/1.1\r\nHost: web.com\r\n\r\n')).toBe('');
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([false, false]);
    for (const socket of sockets) socket.destroy();
    const reply = await until(
      () => ask(own, 'web.com').catch(() => undefined),
      (answer) => answer !== undefined,
    );
    expect(reply?.text).toBe('ok');
  });

  it('may ask for an upgrade behind a request that is not answered yet', async () => {
    // Proves that the answers come in order and are not mixed.
    const upgrade = 'Host: web.com\r\nConnection: Upgrade\r\nUpgrade:';
    for (const [protocol, last] of [
      ['h2c', /200 OK[\s\S]*200 OK[\s\S]*ok$/],
      ['websocket', /200 OK[\s\S]*ok.{0,9}HTTP\/1.1 502 /s],
    ] as const) {
      const both = `GET /slow HTTP/1.1\r\nHost: web.com\r\n\r\nGET / HTTP/1.1\r\n${upgrade} ${protocol}\r\n\r\n`;
      expect(await exchange(port(), both)).toMatch(last);
    }
    await fine();
  });
});

describe('backends', () => {
  it('that speak nonsense are answered with 502', async () => {
    // Proves that an error about a backend does not contain its address.
    const nonsense = await listening(createNetServer((socket) => socket.end('nonsense\r\n\r\n')));
    await expose(stage.client, 'nonsense', nonsense);
    await route(stage.client, 'nonsense', 'nonsense.com');
    const reply = await answered(port(), 'nonsense.com', 502);
    expect(reply.text).toBe('the backend has not answered');
    await fine();
  });
});

it('closing cuts off whoever is there, and says so once', async () => {
  // Proves that close() works with requests under way, is idempotent, and frees its ports.
  const controller = await stage.open();
  const { port: own } = controller;
  const waiting = ask(own, 'web.com', { path: '/never' }).catch((error: NodeJS.ErrnoException) => error.code);
  await until(
    async () => underWay,
    (count) => count === 1,
  );
  await Promise.all([controller.close(), controller.close()]);
  expect(await waiting).toBe('ECONNRESET');
  const again = await stage.open({ port: own });
  await expect(stage.open({ port: own })).rejects.toMatchObject({ code: 'EADDRINUSE' });
  await again.close();
  expect(stage.failures).toEqual([]);
});
