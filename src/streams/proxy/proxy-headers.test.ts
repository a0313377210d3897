/**
 * Headers through the reverse proxy: which pass, which do not, and how bodies are framed. Streaming contract,
 * 5.5 to 5.7.
 */
import { describe, expect, it } from 'vitest';
import { answered, exchange, prefix, proxyTo, serve, speak } from './reverse-proxy.fixture.ts';

describe('requests', () => {
  it('say where their body ends as they came', async () => {
    // Proves that body framing is neither lost nor added.
    const target = await serve((request, response) => {
      const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
      request.resume().on('end', () => response.end(JSON.stringify([length, encoding])));
    });
    const { port } = await proxyTo(target);
    const framing = async (...lines: string[]) => {
      const reply = await exchange(port, lines.join('\r\n'));
      return JSON.parse(/\[.*\]/.exec(reply)![0]);
    };
    const close = ['Host: h', 'Connection: close'];
    expect(await framing('GET / HTTP/1.1', ...close, '', '')).toEqual([null, null]);
    expect(await framing('GET / HTTP/1.1', ...close, 'Content-Length: 2', '', 'ab')).toEqual(['2', null]);
    expect(await framing('POST / HTTP/1.1', ...close, '', '')).toEqual(['0', null]);
    expect(await framing('PUT / HTTP/1.1', ...close, 'Content-Length: 2', '', 'ab')).toEqual(['2', null]);
    expect(
      await framing('DELETE / HTTP/1.1', ...close, 'Transfer-Encoding: chunked', '', '1\r\na\r\n0\r\n\r\n'),
    ).toEqual([null, 'chunked']);
  });

  it('that say it in two ways are refused, and nothing of them reaches the target', async () => {
    // Proves that no request can be smuggled in the body of another.
    const target = await speak('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    const { port } = await proxyTo(target.port);
    const both = 'Content-Length: 5\r\nTransfer-Encoding: chunked';
    const hidden = '0\r\n\r\nGET /hidden HTTP/1.1\r\nHost: h\r\n\r\n';
    for (const lines of [
      both,
      'Transfer-Encoding: chunked\r\nContent-Length: 5',
      'Content-Length: 5\r\nContent-Length: 6',
      'Content-Length: +5',
      'Content-Length : 5',
      'Transfer-Encoding: xchunked',
      'Transfer-Encoding: chunked, identity',
    ])
      expect(await exchange(port, `POST / HTTP/1.1\r\nHost: h\r\n${lines}\r\n\r\n${hidden}`), lines).toMatch(
        /^HTTP\/1.1 (400|501) /,
      );
    const packed = 'Transfer-Encoding: gzip, chunked\r\nConnection: close';
    expect(await exchange(port, `POST / HTTP/1.1\r\nHost: h\r\n${packed}\r\n\r\n0\r\n\r\n`)).toMatch(
      /^HTTP\/1.1 501 /,
    );
    expect(target.heard()).toBe('');
  });

  it('with so many headers that Node drops some are refused', async () => {
    // Proves that a Content-Length beyond the header limit cannot turn a body into a request.
    const target = await speak('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    const { port } = await proxyTo(target.port);
    const many = Array.from({ length: 1_001 }, (_, i) => `X: ${i}`).join('\r\n');
    const hidden = 'GET /hidden HTTP/1.1\r\nHost: h\r\n\r\n';
    const reply = await exchange(
      port,
      `GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n${many}\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
    );
    expect(reply).toMatch(/^HTTP\/1.1 431 /);
    expect(target.heard()).toBe('');
  });
});

describe('headers to the target', () => {
  const headersSeen = async (lines: string[], changes = {}): Promise<string[]> => {
    let raw: string[] = [];
    const target = await serve((request, response) => {
      raw = request.rawHeaders;
      response.end();
    });
    const { port } = await proxyTo(target, changes);
    await exchange(
      port,
      `GET /x/y?z HTTP/1.1\r\n${['Host: h:1', 'Connection: close', ...lines].join('\r\n')}\r\n\r\n`,
    );
    const out: string[] = [];
    for (let i = 0; i < raw.length; i += 2) out.push(`${raw[i]}: ${raw[i + 1]}`);
    return out;
  };

  it('carry no credentials', async () => {
    // Proves that the client's credentials are not forwarded.
    const seen = await headersSeen([
      'Authorization: Bearer secret',
      'AUTHORIZATION: Basic secret',
      'Impersonate-User: secret',
      'Impersonate-Group: secret',
      'Impersonate-Uid: secret',
      'Impersonate-Extra-Scopes: secret',
      'X-Remote-User: secret',
      'X-Remote-Group: secret',
      'X-Remote-Uid: secret',
      'X-Remote-Extra-Foo: secret',
      'Proxy-Authorization: secret',
      'Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.c2VjcmV0, chat',
      'Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.c2VjcmV0',
    ]);
    expect(seen.join('\n')).not.toMatch(/secret|c2VjcmV0/);
    expect(seen).toContain('Sec-WebSocket-Protocol: chat');
  });

  it('leave out what is about the connection', async () => {
    // Proves that hop-by-hop headers, and headers listed in Connection, are removed.
    const seen = await headersSeen([
      'Connection: x-mine, close',
      'X-Mine: 1',
      'Keep-Alive: 5',
      'Proxy-Connection: keep-alive',
      'Proxy-Authenticate: x',
      'Trailer: x',
      'TE: gzip',
      'Expect: 100-continue',
      'X-Kept: 1',
    ]);
    expect(seen).toEqual([
      'Host: h:1',
      'X-Kept: 1',
      'X-Forwarded-For: 127.0.0.1',
      `X-Forwarded-Uri: ${prefix}/x/y`,
      'Connection: close',
    ]);
  });

  it('pass as they are otherwise, line by line', async () => {
    // Proves that repeated headers, their case and their bytes are kept.
    const kept = [
      'Cookie: a=b',
      'cookie: c=d',
      'User-Agent: me',
      'aCCept: x, y',
      'Accept-Encoding: br',
      'X-L: \xe9',
    ];
    const seen = await headersSeen([...kept, 'TE: trailers']);
    expect(seen.filter((line) => kept.includes(line))).toEqual(kept);
    expect(seen).toContain('TE: trailers');
  });

  it('add the client to those who forwarded, and say what was asked for in public', async () => {
    // Proves that X-Forwarded-For is continued, and that a client cannot set X-Forwarded-Uri.
    const seen = await headersSeen([
      'X-Forwarded-For: 1.1.1.1',
      'X-Forwarded-For: 2.2.2.2',
      'X-Forwarded-Uri: /lie',
    ]);
    expect(seen.filter((line) => /forwarded/i.test(line))).toEqual([
      'X-Forwarded-For: 1.1.1.1, 2.2.2.2, 127.0.0.1',
      `X-Forwarded-Uri: ${prefix}/x/y`,
    ]);
  });

  it('name the host of the target when asked to', async () => {
    // Proves keepHost.
    const seen = await headersSeen(['X: y'], { keepHost: false, host: 'target:99' });
    expect(seen.filter((line) => /^host/i.test(line))).toEqual(['Host: target:99']);
  });
});

describe('answers', () => {
  it('pass line by line, without what is about the connection', async () => {
    // Proves that repeated headers pass and hop-by-hop headers do not.
    const reply = await answered(
      [
        ...['299 Odd', 'Set-Cookie: a', 'set-cookie: b', 'X-A: 1', 'X-A: 2', 'Date: now', 'X-Mine: 1'],
        ...[
          'Connection: x-mine, keep-alive',
          'Keep-Alive: 5',
          'Trailer: x',
          'Upgrade: h2c',
          'Proxy-Authenticate: x',
        ],
      ],
      'b',
    );
    const text = reply.raw.join('|');
    expect([reply.status, reply.message]).toEqual([299, 'Odd']);
    expect(text).toContain('Set-Cookie|a|set-cookie|b|X-A|1|X-A|2|Date|now');
    expect(text).not.toMatch(/x-mine|trailer|upgrade|proxy-authenticate|Keep-Alive\|5/i);
  });

  it('do not decide who may read them, where that is so', async () => {
    // Proves that the four CORS headers are dropped, and only where configured.
    const names = ['Origin', 'Credentials', 'Headers', 'Methods'].map(
      (name) => `Access-Control-Allow-${name}`,
    );
    const head = ['200 OK', ...names.map((name) => `${name}: *`), 'Access-Control-Max-Age: 5'];
    const dropped = await answered(head);
    expect(Object.keys(dropped.headers).filter((name) => name.startsWith('access-'))).toEqual([
      'access-control-max-age',
    ]);
    const kept = await answered(head, '', { dropCors: false });
    for (const name of names) expect(kept.headers[name.toLowerCase()]).toBe('*');
  });

  describe('that browsers take for those of this server', () => {
    const ofOrigin = [
      'Service-Worker-Allowed: /',
      'Clear-Site-Data: "*"',
      'strict-transport-security: max-age=1',
      'Alt-Svc: h2=":1"',
      'NEL: {}',
      'Report-To: {}',
    ];
    const head = ['200 OK', ...ofOrigin, 'X-Content-Type-Options: x', 'Content-Security-Policy: img-src a'];

    it('are sandboxed, not guessed at, and say nothing about the origin', async () => {
      for (const type of ['text/html', 'image/svg+xml', 'text/plain']) {
        const { headers } = await answered([...head, `Content-Type: ${type}`], '<p>');
        expect(headers['x-content-type-options']).toBe('nosniff');
        // The policy of the target holds, too.
        expect(headers['content-security-policy']).toMatch(/^img-src a, sandbox allow-/);
        expect(headers['content-security-policy']).not.toContain('allow-same-origin');
        for (const line of ofOrigin) expect(headers[line.split(':')[0]!.toLowerCase()]).toBe(undefined);
      }
    });

    it('are not sandboxed where they have an origin of their own', async () => {
      const { headers } = await answered(head, '', { prefix: '', rewrite: false, ownOrigin: false });
      expect(headers['x-content-type-options']).toBe('x');
      expect(headers['content-security-policy']).toBe('img-src a');
      for (const line of ofOrigin) expect(headers[line.split(':')[0]!.toLowerCase()]).toBeDefined();
    });
  });

  for (const status of ['201 Created', '302 Found', '307 Temporary Redirect', '200 OK'])
    it(`with Location get the prefix: ${status}`, async () => {
      // Proves that redirects are rewritten and passed on, not followed.
      const reply = await answered([status, 'Location: /x?y#z', 'Content-Type: text/html'], '<a href="/a">');
      expect(reply.status).toBe(Number.parseInt(status, 10));
      expect(reply.headers.location).toBe(`${prefix}/x?y#z`);
      expect(reply.body.toString()).toBe('<a href="/a">');
    });

  it('with the host of the client in Location get the prefix too', async () => {
    // Proves that links with the Host of the request are recognised.
    const reply = await answered(['302 Found', 'Location: http://localhost:8001/x']);
    expect(reply.headers.location).toBe(`${prefix}/x`);
  });

  it('with a Location that is none are an error', async () => {
    // Proves the 500 of the contract.
    const reply = await answered(['302 Found', 'Location: /%zz']);
    expect(JSON.parse(reply.body.toString())).toMatchObject({
      code: 500,
      message:
        'Internal error occurred: failed to parse Location header: parse "/%zz": invalid URL escape "%zz"',
    });
  });

  it('keep their Location without rewriting', async () => {
    // Proves that a proxy at the root leaves links alone.
    const reply = await answered(
      ['302 Found', 'Location: /%zz', 'Content-Type: text/html'],
      '<a href="/a">',
      { prefix: '', rewrite: false },
    );
    expect([reply.headers.location, reply.body.toString()]).toEqual(['/%zz', '<a href="/a">']);
  });
});
