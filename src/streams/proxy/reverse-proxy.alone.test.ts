/** The reverse proxy: what passes, what does not, and broken connections. Streaming contract, 5.5 to 5.7. */
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type IncomingMessage, request as openRequest, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { connect, createServer as createNetServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { standstill } from '../bytes/standstill.fixture.ts';
import { answered, ask, closing, listening, proxyTo, serve, speak } from './reverse-proxy.fixture.ts';

const mib = 1024 * 1024;

describe('requests', () => {
  for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
    it(`${method} passes with path, query and body`, async () => {
      // Proves that method, path, query, status, reason phrase and bodies are passed on.
      let seen = '';
      const target = await serve(async (request, response) => {
        for await (const chunk of request) seen += chunk;
        seen += ` ${request.method} ${request.url}`;
        response.writeHead(207, 'Well Well', { 'X-Answer': 'yes' }).end('body');
      });
      const body = method === 'GET' || method === 'HEAD' ? undefined : 'sent';
      const reply = await ask((await proxyTo(target)).port, { method, path: '/a%2Fb?c=%20&d' }, body);
      expect(seen).toBe(`${body ?? ''} ${method} /a%2Fb?c=%20&d`);
      expect([reply.status, reply.message, reply.headers['x-answer']]).toEqual([207, 'Well Well', 'yes']);
      expect(reply.body.toString()).toBe(method === 'HEAD' ? '' : 'body');
    });
});

describe('answers', () => {
  it('without a body have none', async () => {
    // Proves that 204, 304 and HEAD have no body.
    expect((await answered(['204 No Content', 'X: 1'])).status).toBe(204);
    expect((await answered(['304 Not Modified', 'ETag: x'])).headers.etag).toBe('x');
    const reply = await answered(['200 OK', 'Content-Length: 7'], '', {}, { method: 'HEAD' });
    expect(reply.headers['content-length']).toBe('7');
  });

  it('that end with the connection are whole', async () => {
    // Proves that HTTP/1.0 targets without framing work.
    const target = await speak('HTTP/1.0 200 OK\r\n\r\nall of it');
    const reply = await ask((await proxyTo(target.port)).port);
    expect(reply.body.toString()).toBe('all of it');
  });

  it('before the answer proper do no harm', async () => {
    // Proves that interim (1xx) answers are skipped.
    const target = await speak(
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx',
    );
    const reply = await ask((await proxyTo(target.port)).port);
    expect([reply.status, reply.body.toString()]).toEqual([200, 'x']);
  });

  it('before the answer proper, without end, are cut off', async () => {
    const target = await speak('HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n'.repeat(10_000));
    const reply = await ask((await proxyTo(target.port)).port);
    expect([reply.status, reply.body.toString()]).toEqual([
      503,
      expect.stringContaining('too many 1xx informational responses'),
    ]);
  });

  it('are flushed at once', async () => {
    // Proves that the head and each part arrive before the answer is complete.
    let response: ServerResponse | undefined;
    const target = await serve((_request, answer) => {
      response = answer;
      answer.writeHead(200, { 'Content-Type': 'text/event-stream' }).flushHeaders();
    });
    const sent = openRequest({ port: (await proxyTo(target)).port, host: '127.0.0.1', agent: false });
    sent.end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    for (const part of ['data: 1\n\n', 'data: 2\n\n']) {
      response!.write(part);
      const [chunk] = await once(answer, 'data');
      expect(String(chunk)).toBe(part);
    }
    response!.end();
  });
});

describe('failures', () => {
  const failure = async (port: number, changes = {}) => {
    const reply = await ask((await proxyTo(port, changes)).port);
    const { code, reason, message } = JSON.parse(reply.body.toString());
    return `${code} ${reason} ${message}`;
  };

  it('to connect are told in the words of Go', async () => {
    // Proves the 503 of a refused connection.
    const server = createNetServer();
    const port = await listening(server);
    server.close();
    await once(server, 'close');
    expect(await failure(port)).toBe(
      `503 ServiceUnavailable error trying to reach service: dial tcp 127.0.0.1:${port}: connect: connection refused`,
    );
  });

  for (const [what, bytes, message] of [
    ['nothing', '', 'unexpected EOF'],
    ['half a head', 'HTTP/1.1 200 OK\r\nX: ', 'unexpected EOF'],
    ['something else', 'SSH-2.0-x\r\n', 'malformed HTTP response'],
    [
      'two lengths',
      'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
      'malformed HTTP response',
    ],
    [
      'both framings',
      'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      'malformed HTTP response',
    ],
    ['a broken header', 'HTTP/1.1 200 OK\r\nA\x01: b\r\n\r\n', 'malformed HTTP response'],
    [
      'a bare line feed in a header',
      'HTTP/1.1 200 OK\r\nA: b\rSet-Cookie: c\r\n\r\n',
      'malformed HTTP response',
    ],
    [
      'an endless head',
      `HTTP/1.1 200 OK\r\nX: ${'x'.repeat(1_100_000)}\r\n\r\n`,
      'net/http: server response headers exceeded the limit; aborted',
    ],
    [
      'headers without number',
      `HTTP/1.1 200 OK\r\n${'X: 1\r\n'.repeat(1_000)}Content-Length: 0\r\n\r\n`,
      'net/http: server response headers exceeded the limit; aborted',
    ],
    [
      'an upgrade nobody asked for',
      'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
      'net/http: HTTP/1.x transport connection broken: unasked upgrade',
    ],
  ] as const)
    it(`of a target that says ${what}`, async () => {
      // Proves that any malformed answer of a target becomes a 503.
      const target = await speak(bytes);
      expect(await failure(target.port)).toBe(
        `503 ServiceUnavailable error trying to reach service: ${message}`,
      );
    });

  it('to speak TLS are told in the words of Go', async () => {
    // Proves the error for TLS to a plain HTTP target.
    const target = await speak('HTTP/1.1 400 Bad Request\r\n\r\n');
    expect(await failure(target.port, { secure: true })).toBe(
      '503 ServiceUnavailable error trying to reach service: tls: first record does not look like a TLS handshake',
    );
  });

  it('of the way itself pass as they are', async () => {
    // Proves that a Status thrown by `connect` is the answer.
    const { badRequest } = await import('../../api/errors/errors.ts');
    const refused = () => Promise.reject(badRequest('address not allowed'));
    expect(await failure(1, { connect: refused })).toBe('400 BadRequest address not allowed');
  });

  for (const [what, head] of [
    ['by length', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf'],
    ['in chunks', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhalf '],
    ['of HTML', 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100\r\n\r\nhalf'],
  ] as const)
    it(`in the middle of a body ${what} cut the client off`, async () => {
      // Proves that a truncated body is never taken for a complete one.
      const target = await speak(head);
      await expect(ask((await proxyTo(target.port)).port)).rejects.toThrow(/aborted|hang up/);
    });
});

describe('clients that leave', () => {
  it('before the answer stop the target', async () => {
    // Proves that the target's connection is closed when the client leaves before the answer.
    let stopped: Promise<unknown> | undefined;
    let reached: (() => void) | undefined;
    const atTarget = new Promise<void>((resolve) => (reached = resolve));
    const target = await serve((request) => {
      stopped = new Promise((resolve) => request.on('error', () => undefined).on('close', resolve));
      reached!();
    });
    const proxy = await proxyTo(target);
    const sent = openRequest({ port: proxy.port, host: '127.0.0.1', agent: false }).on(
      'error',
      () => undefined,
    );
    sent.end();
    await atTarget;
    sent.destroy();
    await stopped;
    await proxy.idle();
    expect(proxy.failures).toEqual([]);
  });

  it('in the middle of the answer stop the target', async () => {
    // Proves that an endless answer ends when the client disconnects.
    let stopped: Promise<unknown> | undefined;
    const target = await serve((_request, response) => {
      stopped = once(response, 'close');
      const timer = setInterval(() => response.write('x'), 5);
      response.on('close', () => clearInterval(timer));
    });
    const proxy = await proxyTo(target);
    const sent = openRequest({ port: proxy.port, host: '127.0.0.1', agent: false }).on(
      'error',
      () => undefined,
    );
    sent.end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    await once(
      answer.on('error', () => undefined),
      'data',
    );
    sent.destroy();
    await stopped;
    await proxy.idle();
  });

  it('in the middle of their request stop it', async () => {
    // Proves that the target is disconnected when the client breaks off its body.
    let broken: Promise<unknown> | undefined;
    const target = await serve((request) => {
      request.on('error', () => undefined).resume();
      broken = new Promise((resolve) => request.on('close', () => resolve(request.complete)));
    });
    const proxy = await proxyTo(target);
    const socket = connect(proxy.port, '127.0.0.1').on('error', () => undefined);
    socket.write('POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100\r\n\r\nhalf');
    while (!broken) await new Promise((resolve) => setTimeout(resolve, 5));
    socket.destroy();
    expect(await broken).toBe(false);
    await proxy.idle();
  });

  it('while the target is still being connected to leave no connection behind', async () => {
    // Proves that a connection that is established too late is closed.
    const target = await speak('');
    let late: (() => void) | undefined;
    const ready = new Promise<void>((resolve) => (late = resolve));
    const { dialTcp } = await import('../dial/dialing.ts');
    let closed: Promise<unknown> | undefined;
    const proxy = await proxyTo(target.port, {
      connect: async () => {
        await ready;
        const socket = await dialTcp(['127.0.0.1'], target.port);
        closed = once(socket, 'close');
        return socket;
      },
    });
    const sent = openRequest({ port: proxy.port, host: '127.0.0.1', agent: false }).on(
      'error',
      () => undefined,
    );
    sent.end();
    await once(sent, 'finish');
    sent.destroy();
    await proxy.idle();
    late!();
    while (!closed) await new Promise((resolve) => setTimeout(resolve, 5));
    await closed;
  });

  it('may be answered before they have sent everything', async () => {
    // Proves that an early answer arrives, and that an endless body does not keep the connection open.
    const target = await serve((_request, response) => response.writeHead(413).end('too much'));
    const proxy = await proxyTo(target);
    const socket = connect(proxy.port, '127.0.0.1').on('error', () => undefined);
    closing(() => socket.destroy());
    socket.write('POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n');
    const timer = setInterval(() => socket.write('1\r\nx\r\n'), 5);
    let text = '';
    socket.on('data', (chunk) => (text += chunk));
    await new Promise((resolve) => socket.on('close', resolve));
    clearInterval(timer);
    expect(text).toMatch(/^HTTP\/1.1 413 /);
    expect(text).toContain('too much');
  });
});

describe('large bodies', () => {
  it('pass both ways at once, 50 MB each, in bounded memory', async () => {
    // Proves that bodies are streamed: they arrive complete, and memory stays flat.
    const size = 50_000_000;
    const block = randomBytes(500_000);
    const target = await serve((request, response) => request.pipe(response));
    const { port } = await proxyTo(target);
    const sent = openRequest({ port, host: '127.0.0.1', agent: false, method: 'POST' });
    const [up, down] = [createHash('sha256'), createHash('sha256')];
    const writing = (async () => {
      for (let i = 0; i < size / block.length; i++) {
        up.update(block);
        if (!sent.write(block)) await once(sent, 'drain');
      }
      sent.end();
    })();
    const before = process.memoryUsage().rss;
    let peak = 0;
    let received = 0;
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    for await (const chunk of answer) {
      down.update(chunk);
      received += chunk.length;
      peak = Math.max(peak, process.memoryUsage().rss - before);
    }
    await writing;
    expect(received).toBe(size);
    expect(down.digest('hex')).toBe(up.digest('hex'));
    expect(peak).toBeLessThan(100 * mib);
  });

  it('wait for a slow reader', async () => {
    // Proves back-pressure: the target is paused while the client does not read.
    let written = 0;
    const target = await serve(async (_request, response) => {
      const block = Buffer.alloc(256 * 1024);
      for (let i = 0; i < 200 && !response.destroyed; i++) {
        written += block.length;
        if (!response.write(block)) await once(response, 'drain');
      }
      response.end();
    });
    const { port } = await proxyTo(target);
    const sent = openRequest({ port, host: '127.0.0.1', agent: false });
    sent.end();
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    expect(await standstill(() => written)).toBeLessThan(30 * mib);
    let received = 0;
    for await (const chunk of answer) received += chunk.length;
    expect(received).toBe(200 * 256 * 1024);
  });

  it('wait for a slow target', async () => {
    // Proves back-pressure in the other direction: the client is paused while the target does not read.
    let reach!: (request: IncomingMessage) => void;
    const reached = new Promise<IncomingMessage>((resolve) => {
      reach = resolve;
    });
    const target = await serve((incoming, response) => {
      incoming.pause().on('end', () => response.end('done'));
      reach(incoming);
    });
    const { port } = await proxyTo(target);
    const sent = openRequest({ port, host: '127.0.0.1', agent: false, method: 'PUT' });
    const block = Buffer.alloc(256 * 1024);
    let written = 0;
    const writing = (async () => {
      for (let i = 0; i < 200; i++) {
        written += block.length;
        if (!sent.write(block)) await once(sent, 'drain');
      }
      sent.end();
    })();
    const request = await reached;
    expect(await standstill(() => written)).toBeLessThan(30 * mib);
    request.resume();
    await writing;
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    expect(answer.statusCode).toBe(200);
    answer.resume();
  });
});

describe('TLS', () => {
  it('is spoken to any certificate', async () => {
    // Proves that a target with a self-signed certificate is reached.
    const folder = mkdtempSync(join(tmpdir(), 'wherry-tls-'));
    closing(() => rmSync(folder, { recursive: true, force: true }));
    const files = ['-keyout', join(folder, 'key'), '-out', join(folder, 'cert')];
    const made = [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-subj',
      '/CN=nobody',
      '-days',
      '1',
      ...files,
    ];
    execFileSync('openssl', made, { stdio: 'ignore' });
    const server = createTlsServer(
      { key: readFileSync(join(folder, 'key')), cert: readFileSync(join(folder, 'cert')) },
      (request, response) => response.end(`secret ${request.url}`),
    );
    const target = await listening(server);
    const reply = await ask((await proxyTo(target, { secure: true })).port, { path: '/x' });
    expect(reply.body.toString()).toBe('secret /x');
  });
});
