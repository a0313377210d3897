/**
 * Proves at both doors that a request that Go's net/http answers before any handler sees it gets the same answer here: with
 * several hosts, without one, with one that is none, in another version of HTTP, with another transfer encoding. The answers
 * are those of a server of Go 1.19. And that a client that offers HTTP/2 without TLS is served, as Java's does.
 */
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Cluster, start } from '../../src/cluster/index.ts';
import { connectTo, parseReplies, type RawReply, readToEnd } from '../support/target.ts';

let cluster: Cluster;
beforeAll(async () => {
  cluster = await start({ port: 0, secure: { port: 0 } });
});
afterAll(() => cluster.close());

const doors = {
  local: () => connectTo(cluster.url),
  secure: () => {
    const port = Number(new URL(cluster.secureUrl!).port);
    // The types of Node lack allowHalfOpen.
    const options = { host: '127.0.0.1', port, rejectUnauthorized: false, allowHalfOpen: true };
    return connectTls(options);
  },
};

async function replies(socket: Socket, bytes: string): Promise<RawReply[]> {
  socket.write(Buffer.from(bytes, 'latin1'));
  return parseReplies(await readToEnd(socket));
}

const get = 'GET /version HTTP/1.1';
const host = 'Host: localhost';
const encoded = (...lines: string[]): string[] => [
  'POST /version HTTP/1.1',
  host,
  ...lines.map((line) => `Transfer-Encoding:${line}`),
];

type Refusal = readonly [lines: readonly string[], said: string];
const refusals: readonly Refusal[] = [
  [[get, host, host], '400 Bad Request'],
  [[get, host, 'Host: other'], '400 Bad Request'],
  [[get, 'hOST: localhost', 'A: b', 'Host:'], '400 Bad Request'],
  [['GET /version HTTP/1.0', host, host], '400 Bad Request'],
  [[get], '400 Bad Request: missing required Host header'],
  [[get, 'A: b'], '400 Bad Request: missing required Host header'],
  ...['a b', 'a/b', 'user@a', '\xe9', 'a"b', '<a>', 'a\\b', 'a?b', 'a#b'].map(
    (name): Refusal => [[get, `Host: ${name}`], '400 Bad Request: malformed Host header'],
  ),
  [['GET /version HTTP/1.0', 'Host: a b'], '400 Bad Request: malformed Host header'],
  [['GET /version', host], '400 Bad Request'],
  [['GET /version HTTP/2.0', host], '505 HTTP Version Not Supported: unsupported protocol version'],
  ...[
    [' gzip'],
    [' identity'],
    [' gzip, chunked'],
    [' chunked, chunked'],
    [''],
    [' chunked', ' chunked'],
  ].map((encodings): Refusal => [encoded(...encodings), '501 Unsupported transfer encoding']),
  [[get, host, host, 'Connection: Upgrade', 'Upgrade: websocket'], '400 Bad Request'],
];

describe.each(Object.entries(doors))('at the %s door', (_door, connect) => {
  it.each(refusals)('%j gets what Go answers', async (lines, said) => {
    const [reply, ...others] = await replies(connect(), `${lines.join('\r\n')}\r\n\r\n`);
    const status = Number(said.slice(0, 3));
    // Go's text for an encoding has no code in it.
    const body = status === 501 ? said.slice(4) : said;
    expect([reply!.status, reply!.body, others]).toEqual([status, body, []]);
    expect(reply!.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(reply!.headers.get('connection')).toBe('close');
  });

  it.each([[[get, host]], [[get, 'Host: [::1]:1']], [['GET /version HTTP/1.0', host]]])(
    '%j is answered',
    async (lines) => {
      const [reply] = await replies(connect(), `${[...lines, 'Connection: close'].join('\r\n')}\r\n\r\n`);
      expect(reply!.status).toBe(200);
    },
  );

  it('requests before one that is refused get their answers first', async () => {
    const sent = `${get}\r\n${host}\r\n\r\n`.repeat(3);
    const answers = await replies(connect(), `${sent}${get}\r\n\r\n`);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 400]);
  });
});

describe('an offer of HTTP/2', () => {
  const offer = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAoAAA'];
  const asked = (line: string, body = '', ...lines: string[]): string =>
    `${[`${line} HTTP/1.1`, host, ...offer, `Content-Length: ${body.length}`, ...lines].join('\r\n')}\r\n\r\n${body}`;
  const ending = `${get}\r\n${host}\r\nConnection: close\r\n\r\n`;

  it('comes with requests that are answered in HTTP/1.1, many on one connection', async () => {
    const warnings: Error[] = [];
    const listen = (warning: Error): void => void warnings.push(warning);
    process.on('warning', listen);
    const made = asked(
      'POST /api/v1/namespaces/default/configmaps',
      '{"metadata":{"name":"offered"}}',
      'Content-Type: application/json',
    );
    const watch = asked('GET /api/v1/namespaces?watch=1&timeoutSeconds=1');
    for (const connect of Object.values(doors)) {
      const socket = connect();
      const many = asked('GET /version').repeat(30);
      const answers = await replies(socket, many + (connect === doors.local ? made + watch : '') + ending);
      const statuses = answers.map(({ status }) => status);
      expect(statuses).toEqual([...Array(30).fill(200), ...(connect === doors.local ? [200, 200] : []), 200]);
    }
    process.off('warning', listen);
    expect(warnings).toEqual([]);
  });

  it('beside another protocol is an upgrade, which few paths take', async () => {
    const [reply] = await replies(doors.local(), asked('GET /version').replace('h2c', 'h2c, websocket'));
    expect(reply).toMatchObject({ status: 400, body: { reason: 'BadRequest' } });
  });
});
