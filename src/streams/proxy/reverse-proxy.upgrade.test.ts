/** Upgrades through the reverse proxy. Streaming contract, 5.8 and 8.4. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, createServer as createNetServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { closing, exchange, listening, prefix, proxyTo, speak } from './reverse-proxy.fixture.ts';

const handshake = (...lines: string[]): string =>
  [
    'GET /socket?q=1 HTTP/1.1',
    'Host: h:1',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ...lines,
    '',
    '',
  ].join('\r\n');

describe('upgrades', () => {
  it('carry a WebSocket both ways, its query and its close code', async () => {
    // Proves a WebSocket echo through the proxy, including large messages.
    const server = createServer();
    const sockets = new WebSocketServer({ server });
    let path = '';
    sockets.on('connection', (socket, request) => {
      path = request.url!;
      socket.on('message', (data, binary) => socket.send(data, { binary }));
    });
    const { port } = await proxyTo(await listening(server));
    const client = new WebSocket(`ws://127.0.0.1:${port}/echo?a=b`, 'chat');
    closing(() => client.terminate());
    await once(client, 'open');
    for (const message of ['hello', 'x'.repeat(3_000_000)]) {
      client.send(message);
      const [data] = await once(client, 'message');
      expect(String(data)).toBe(message);
    }
    expect([path, client.protocol]).toEqual(['/echo?a=b', 'chat']);
    const [socket] = sockets.clients;
    socket!.close(4321, 'enough');
    const [code, reason] = await once(client, 'close');
    expect([code, String(reason)]).toEqual([4321, 'enough']);
  });

  it('that are refused say nothing about the origin of this server', async () => {
    // Proves that the answer to an upgrade is guarded as any other, and that a service worker is refused before.
    const target = await speak(
      'HTTP/1.1 403 Forbidden\r\nClear-Site-Data: "*"\r\nService-Worker-Allowed: /\r\nX-Own: 1\r\nContent-Length: 0\r\n\r\n',
    );
    const { port } = await proxyTo(target.port);
    const reply = await exchange(port, handshake());
    expect(reply).toContain('X-Own: 1');
    expect(reply).toContain('Content-Security-Policy: sandbox allow-');
    expect(reply).not.toMatch(/clear-site-data|service-worker-allowed/i);
    expect(await exchange(port, handshake('Service-Worker: script'))).toMatch(/^HTTP\/1\.1 403 /);
    const plain = 'GET /sw.js HTTP/1.1\r\nHost: h\r\nConnection: close\r\nservice-worker: script\r\n\r\n';
    expect(await exchange(port, plain)).toMatch(/^HTTP\/1\.1 403 [\s\S]*service workers cannot be installed/);
  });

  it('carry no credentials, and say who asked for what', async () => {
    // Proves the header rules on upgrade requests.
    const target = await speak('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
    const { port } = await proxyTo(target.port);
    await exchange(
      port,
      handshake(
        'Authorization: Bearer secret',
        'Impersonate-User: secret',
        'X-Remote-User: secret',
        'Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.c2VjcmV0, chat',
        'X-Forwarded-For: 1.1.1.1',
        'X-Forwarded-Uri: /lie',
        'Expect: x',
        'Cookie: kept',
      ),
    );
    const heard = target.heard();
    expect(heard).not.toMatch(/secret|c2VjcmV0|Expect|lie/);
    expect(heard).toMatch(/^GET \/socket\?q=1 HTTP\/1.1\r\n/);
    for (const line of [
      'Host: h:1',
      'Sec-WebSocket-Protocol: chat',
      'X-Forwarded-For: 1.1.1.1, 127.0.0.1',
      `X-Forwarded-Uri: ${prefix}/socket`,
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      'Cookie: kept',
    ])
      expect(heard.split('\r\n')).toContain(line);
  });

  it('that are refused by the target are told so, and both connections end', async () => {
    // Proves that a connection that was not upgraded accepts nothing more.
    const target = await speak('HTTP/1.1 403 Forbidden\r\nX: y\r\nContent-Length: 2\r\n\r\nno', false);
    const { port } = await proxyTo(target.port);
    const reply = await exchange(port, `${handshake()}GET /second HTTP/1.1\r\nHost: h\r\n\r\n`);
    expect(reply).toMatch(/^HTTP\/1.1 403 Forbidden\r\nX: y\r\n/);
    expect(reply).toMatch(/\r\n\r\nno$/);
    expect(target.heard()).not.toContain('/second');
  });

  for (const status of ['200 OK', '302 Found', '204 No Content'])
    it(`that are answered with ${status} fail`, async () => {
      // Proves that any status that is neither 101 nor an error is an error.
      const target = await speak(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\nLocation: /\r\n\r\n`, false);
      const { port } = await proxyTo(target.port);
      const reply = await exchange(port, `${handshake()}GET /second HTTP/1.1\r\nHost: h\r\n\r\n`);
      expect(reply).toMatch(/^HTTP\/1.1 500 /);
      expect(reply).toContain(
        `"message":"invalid upgrade response: status code ${status.slice(0, 3)}","code":500}`,
      );
      expect(target.heard()).not.toContain('/second');
    });

  it('without a target are a 500', async () => {
    // Proves the message of a failed dial.
    const server = createNetServer();
    const targetPort = await listening(server);
    server.close();
    await once(server, 'close');
    const { port } = await proxyTo(targetPort);
    const reply = await exchange(port, handshake());
    expect(reply).toMatch(/^HTTP\/1.1 500 /);
    expect(reply).toContain(
      `"message":"error dialing backend: dial tcp 127.0.0.1:${targetPort}: connect: connection refused","code":500}`,
    );
  });

  it('have no body, and say so in one way', async () => {
    // Proves that bytes of a request body are not sent through the tunnel.
    const target = await speak('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
    const { port } = await proxyTo(target.port);
    for (const lines of [
      ['Content-Length: 3', 'Transfer-Encoding: chunked'],
      ['Transfer-Encoding: chunked'],
      ['Content-Length: 99999999'],
      Array.from({ length: 1_000 }, () => 'X: y').concat('Content-Length: 3'),
    ])
      expect(await exchange(port, handshake(...lines))).toMatch(/^HTTP\/1.1 4(00|31) /);
    expect(target.heard()).toBe('');
    await exchange(port, `${handshake('Content-Length: 3')}abc`);
    expect(target.heard()).not.toMatch(/abc|Content-Length: 3/);
  });

  it('end on both sides when one ends', async () => {
    // Proves that both sides of a tunnel are closed together.
    for (const first of ['client', 'target'] as const) {
      const targetSide = createNetServer();
      const { port } = await proxyTo(await listening(targetSide));
      const arrived = once(targetSide, 'connection');
      const client = connect(port, '127.0.0.1').on('error', () => undefined);
      client.write(handshake());
      const [target] = await arrived;
      await once(target, 'data');
      target.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nfirst');
      let text = '';
      while (!text.endsWith('first')) text += (await once(client, 'data'))[0];
      expect(text).toMatch(/^HTTP\/1.1 101 /);
      client.write('up');
      expect(String((await once(target, 'data'))[0])).toBe('up');
      const [leaving, staying] = first === 'client' ? [client, target] : [target, client];
      const over = new Promise((resolve) => staying.on('error', () => undefined).on('close', resolve));
      leaving.end();
      staying.resume();
      leaving.resume();
      await over;
    }
  });
});
