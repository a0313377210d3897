/** Proves that a request counts as plain only if Node's parser reads exactly the same from it. */
import { Socket } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ReadingServer, requestsInAll, requestText } from '../lane/generated-requests.fixture.ts';
import { PlainReader, PlainRequest } from './plain-request.ts';

const socket = new Socket();

const read = (text: string, headerBytesMax = 1_000) =>
  new PlainReader(socket, headerBytesMax).read(Buffer.from(text, 'latin1'));

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
    expect(read('GET / HTTP/1.1\r\nHost: a\r\n\r\n')).toBeInstanceOf(PlainRequest);
  });

  it('tells how long it will be when its body has not all arrived', () => {
    expect(read(head)).toBe(head.length + 2);
    expect(read(head.replace('2', '300000'))).toBeUndefined();
  });

  it('is read anew when the header of the next differs', () => {
    const reader = new PlainReader(socket, 1_000);
    const asked = (agent: string): unknown => {
      const request = reader.read(Buffer.from(`GET /a HTTP/1.1\r\nHost: a\r\nUser-Agent: ${agent}\r\n\r\n`));
      return (request as PlainRequest).headers['user-agent'];
    };
    expect([asked('one'), asked('one'), asked('two')]).toEqual(['one', 'one', 'two']);
  });

  it.each([
    ['another behind it', `${head}{}GET / HTTP/1.1\r\nHost: a\r\n\r\n`],
    ['a header that is not all there', head.slice(0, -2)],
    ['chunks', 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'],
    ['two lengths', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n'],
    ['a length that is no number', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x0\r\n\r\n'],
    ['a tab behind its length', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\t\r\n\r\n'],
    ['a tab and a space there', 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\t \r\n\r\n'],
    ['an upgrade', 'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'],
    ['an expectation', 'POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n'],
    ['the wish to close', 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'],
    ['an older version', 'GET / HTTP/1.0\r\nHost: a\r\n\r\n'],
    ['a folded line', 'GET / HTTP/1.1\r\nHost: a\r\nA: b\r\n c\r\n\r\n'],
    ['a space before the colon', 'GET / HTTP/1.1\r\nHost: a\r\nA : b\r\n\r\n'],
    ['a bare line feed', 'GET / HTTP/1.1\nHost: a\r\n\r\n'],
    ['a whole URL', 'GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['a body where none belongs', 'GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\na'],
    ['no host', 'GET / HTTP/1.1\r\n\r\n'],
    ['two hosts', 'GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n'],
    ['a host that is none', 'GET / HTTP/1.1\r\nHost: a/b\r\n\r\n'],
    ['another method', 'HEAD / HTTP/1.1\r\nHost: a\r\n\r\n'],
    ['bytes that are no text', 'GET /\x80 HTTP/1.1\r\nHost: a\r\n\r\n'],
  ])('has not %s', (_what, text) => {
    expect(read(text)).toBeUndefined();
  });

  it('is no longer than a header may be', () => {
    const text = 'GET / HTTP/1.1\r\nHost: a\r\nA: b\r\n\r\n';
    expect(read(text, text.length)).toBeInstanceOf(PlainRequest);
    expect(read(text, text.length - 1)).toBeUndefined();
  });
});

describe('whatever is sent', () => {
  it('is the same to Node when it is plain', async () => {
    let plain = 0;
    const node = new ReadingServer();
    await fc.assert(
      fc.asyncProperty(requestText, async (text) => {
        const request = read(text);
        if (request === undefined) return;
        const { requests, failed } = await node.read([text]);
        if (typeof request === 'number') {
          expect(requests.every(({ complete }) => !complete)).toBe(true);
          return;
        }
        plain++;
        const { method, url, headers, body } = request;
        const seen = { method, url, headers, body: body.toString('latin1'), complete: true };
        expect({ requests, failed }).toEqual({ requests: [seen], failed: false });
      }),
      { numRuns: requestsInAll },
    );
    expect(plain).toBeGreaterThan(requestsInAll / 10);
  });
});
