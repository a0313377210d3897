/** Proves that a request counts as plain only if Node's parser reads exactly the same from it. */
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PlainReader, PlainRequest } from './plain-request.ts';

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly complete: boolean;
}

const socket = new Socket();

const read = (text: string, headerBytesMax = 1_000) =>
  new PlainReader(socket, headerBytesMax).read(Buffer.from(text, 'latin1'));

/** What Node's parser reads from the bytes. */
async function nodeReads(text: string): Promise<{ requests: Seen[]; failed: boolean }> {
  const requests: Seen[] = [];
  let failed = false;
  const client = new Duplex({
    read: () => undefined,
    write: (_chunk, _encoding, done) => done(),
  });
  const node = createServer({ requireHostHeader: false }, (request, response) => {
    const chunks: Buffer[] = [];
    const keep = (): void => {
      const { method = '', url = '', headers, complete } = request;
      requests.push({ method, url, headers, complete, body: Buffer.concat(chunks).toString('latin1') });
      response.end();
    };
    request
      .on('data', (chunk) => chunks.push(chunk))
      .on('end', keep)
      .on('error', keep);
  });
  node.on('clientError', () => {
    failed = true;
    client.destroy();
  });
  node.on('upgrade', () => client.destroy());
  node.on('connect', () => client.destroy());
  const closed = new Promise((resolve) => client.on('close', resolve));
  node.emit('connection', client);
  client.push(Buffer.from(text, 'latin1'));
  client.push(null);
  await closed;
  return { requests, failed };
}

describe('a plain request', () => {
  const head = 'POST /api/v1/pods?a=b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n';

  it('is read with its header and body', () => {
    const request = read(`${head}{}`) as PlainRequest;
    expect([request.method, request.url, request.body.toString()]).toEqual([
      'POST',
      '/api/v1/pods?a=b',
      '{}',
    ]);
    expect(request.headers).toEqual({ host: 'localhost', 'content-length': '2' });
    expect(read('GET / HTTP/1.1\r\n\r\n')).toBeInstanceOf(PlainRequest);
  });

  it('tells how long it will be when its body has not all arrived', () => {
    expect(read(head)).toBe(head.length + 2);
    expect(read(head.replace('2', '300000'))).toBeUndefined();
  });

  it('is read anew when the header of the next differs', () => {
    const reader = new PlainReader(socket, 1_000);
    const asked = (agent: string): unknown => {
      const request = reader.read(Buffer.from(`GET /a HTTP/1.1\r\nUser-Agent: ${agent}\r\n\r\n`));
      return (request as PlainRequest).headers['user-agent'];
    };
    expect([asked('one'), asked('one'), asked('two')]).toEqual(['one', 'one', 'two']);
  });

  it.each([
    ['another behind it', `${head}{}GET / HTTP/1.1\r\n\r\n`],
    ['a header that is not all there', head.slice(0, -2)],
    ['chunks', 'POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n'],
    ['two lengths', 'POST / HTTP/1.1\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n'],
    ['a length that is no number', 'POST / HTTP/1.1\r\nContent-Length: 0x0\r\n\r\n'],
    ['a tab behind its length', 'POST / HTTP/1.1\r\nContent-Length: 0\t\r\n\r\n'],
    ['a tab and a space there', 'POST / HTTP/1.1\r\nContent-Length: 0\t \r\n\r\n'],
    ['an upgrade', 'GET / HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'],
    ['an expectation', 'POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n'],
    ['the wish to close', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['an older version', 'GET / HTTP/1.0\r\n\r\n'],
    ['a folded line', 'GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n'],
    ['a space before the colon', 'GET / HTTP/1.1\r\nA : b\r\n\r\n'],
    ['a bare line feed', 'GET / HTTP/1.1\nHost: a\r\n\r\n'],
    ['a whole URL', 'GET http://a/ HTTP/1.1\r\n\r\n'],
    ['a body where none belongs', 'GET / HTTP/1.1\r\nContent-Length: 1\r\n\r\na'],
    ['another method', 'HEAD / HTTP/1.1\r\n\r\n'],
    ['bytes that are no text', 'GET /\x80 HTTP/1.1\r\n\r\n'],
  ])('has not %s', (_what, text) => {
    expect(read(text)).toBeUndefined();
  });

  it('is no longer than a header may be', () => {
    const text = 'GET / HTTP/1.1\r\nA: b\r\n\r\n';
    expect(read(text, text.length)).toBeInstanceOf(PlainRequest);
    expect(read(text, text.length - 1)).toBeUndefined();
  });
});

/** A random request: mostly valid, sometimes with an oddity. */
const mostly = (good: readonly string[], odd: readonly string[]) =>
  fc.oneof(
    { weight: 15, arbitrary: fc.constantFrom(...good) },
    { weight: 1, arbitrary: fc.constantFrom(...odd) },
  );

const requestText = fc
  .record({
    method: mostly(['POST', 'PATCH', 'DELETE', 'PUT'], ['GET', 'HEAD', 'post', 'PRI', 'M-SEARCH']),
    url: mostly(
      ['/', '/api/v1/pods', '/a?b=c%20d', '//', '/"'],
      ['/a#b', '/a b', '*', '/\x80', 'http://a/b'],
    ),
    version: mostly(['HTTP/1.1'], ['HTTP/1.0', 'HTTP/1.1 ', 'http/1.1', 'HTTP/2.0']),
    length: mostly(
      ['Content-Length: 2', 'content-length:2 ', 'Content-Length: 02'],
      [
        'Content-Length: 2\t',
        'Content-Length: 2 \t',
        'Content-Length:\t2',
        'Content-Length: 3',
        'Content-Length: +2',
        'Content-Length: 2, 2',
        'Content-Length : 2',
        'A: b',
      ],
    ),
    fields: fc.array(
      mostly(
        ['Host: localhost', 'Connection: keep-alive', 'Connection:  Keep-Alive\t', 'User-Agent: \ttab\tbed ']
          .concat(['Accept: application/json;q=0.9, */*', 'X-Empty:', 'Cookie: a=b', 'constructor: x'])
          .concat(['Latin: plain', 'If-Modified-Since: x', 'Authorization: Bearer a.b']),
        ['Transfer-Encoding: chunked', 'Transfer-Encoding: identity', 'Connection: close', 'Upgrade: h2c']
          .concat(['__proto__: x', 'Bad\x0bName: x', 'Bad-Value: \x7f\x01', 'Latin: \xe9', ' folded'])
          .concat(['no colon', ': no name', 'Content-Length: 2', 'Content-Length: 0', 'Trailer: a']),
      ),
      { maxLength: 4 },
    ),
    ending: mostly(['\r\n'], ['\n', '\r']),
    body: mostly(['{}'], ['', '{}x', '0\r\n\r\n', '{']),
    change: fc.option(fc.record({ at: fc.nat(200), byte: fc.nat(255) })),
  })
  .map(({ method, url, version, length, fields, ending, body, change }) => {
    const text = [`${method} ${url} ${version}`, length, ...fields, '', body].join(ending);
    if (!change) return text;
    const at = change.at % text.length;
    return text.slice(0, at) + String.fromCharCode(change.byte) + text.slice(at + 1);
  });

describe('whatever is sent', () => {
  it('is the same to Node when it is plain', async () => {
    let plain = 0;
    await fc.assert(
      fc.asyncProperty(requestText, async (text) => {
        const request = read(text);
        if (request === undefined) return;
        const { requests, failed } = await nodeReads(text);
        if (typeof request === 'number') {
          expect(requests.every(({ complete }) => !complete)).toBe(true);
          return;
        }
        plain++;
        const { method, url, headers, body } = request;
        const seen = { method, url, headers, body: body.toString('latin1'), complete: true };
        expect({ requests, failed }).toEqual({ requests: [seen], failed: false });
      }),
      { numRuns: 5_000 },
    );
    expect(plain).toBeGreaterThan(500);
  });
});
