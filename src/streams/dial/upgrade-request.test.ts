import type { IncomingMessage } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { acceptWebSocket, webSocketRefusal } from '../websocket/websocket-upgrade.ts';
import {
  isUpgradeRequest,
  missingUpgrade,
  negotiateSpdy,
  negotiateWebSocket,
  refuseUpgrade,
  upgradeProtocol,
} from './upgrade-request.ts';
import { UpgradeServer, webSocketRequest } from './upgrade-server.fixture.ts';

const request = (...rawHeaders: string[]) => ({ rawHeaders }) as IncomingMessage;

let server: UpgradeServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

describe('upgrade requests', () => {
  it('are recognised by the word in any Connection header', () => {
    // Proves the substring rule, case-insensitive and on any line.
    expect(isUpgradeRequest(request('Connection', 'keep-alive', 'cOnNection', 'close, UPGRADE'))).toBe(true);
    expect(isUpgradeRequest(request('Connection', 'xupgradex'))).toBe(true);
    expect(isUpgradeRequest(request('Connection', 'keep-alive', 'Upgrade', 'websocket'))).toBe(false);
  });

  it('name their protocol in Upgrade', () => {
    // Proves that WebSocket must be the exact word, SPDY a substring, and that other values are neither.
    const upgrade = (value: string) => upgradeProtocol(request('Connection', 'Upgrade', 'Upgrade', value));
    expect(upgrade('WebSocket')).toBe('websocket');
    expect(upgrade('websocket2')).toBe(undefined);
    expect(upgrade('SPDY/3.1')).toBe('spdy');
    expect(upgrade('h2c, spdy/3.1')).toBe('spdy');
    expect(upgrade('SPDY/3')).toBe(undefined);
    expect(upgradeProtocol(request('Connection', 'Upgrade'))).toBe(undefined);
    expect(upgradeProtocol(request('Upgrade', 'websocket'))).toBe(undefined);
    expect(missingUpgrade(request('Connection', 'Upgrade', 'Upgrade', 'h2c'))).toEqual({
      status: 400,
      text: 'unable to upgrade: missing upgrade headers in request: map[Connection:[Upgrade] Upgrade:[h2c]]',
    });
  });

  it('negotiate SPDY versions by the client’s order', () => {
    // Proves that lines and commas are equivalent, that an absent header means the old version, and the refusal.
    const name = 'X-Stream-Protocol-Version';
    const supported = ['v4', 'v3'];
    expect(negotiateSpdy(request(name, 'v5', name, 'v3', name, 'v4'), supported, 'v1')).toEqual({
      protocol: 'v3',
    });
    expect(negotiateSpdy(request(name, 'v5, v4,v3'), supported, 'v1')).toEqual({ protocol: 'v4' });
    expect(negotiateSpdy(request(), supported, 'v1')).toEqual({ protocol: 'v1' });
    expect(negotiateSpdy(request(name, 'v9', name, 'v8'), supported, 'v1')).toEqual({
      refusal: {
        status: 403,
        text: 'unable to upgrade: unable to negotiate protocol: client supports [v9 v8], server accepts [v4 v3]',
        headers: [
          ['X-Accepted-Stream-Protocol-Versions', 'v4'],
          ['X-Accepted-Stream-Protocol-Versions', 'v3'],
        ],
      },
    });
  });

  it('negotiate subprotocols by the client’s order', () => {
    // Proves the same for WebSocket, where no offer means the unnamed protocol and a refusal has no body.
    const name = 'Sec-WebSocket-Protocol';
    expect(negotiateWebSocket(request(name, 'a, c', name, 'b'), ['', 'b', 'c'])).toEqual({ protocol: 'c' });
    expect(negotiateWebSocket(request(), ['', 'b'])).toEqual({ protocol: '' });
    expect(negotiateWebSocket(request(), ['b'])).toEqual({ refusal: { status: 403, text: '' } });
    expect(negotiateWebSocket(request(name, 'a'), ['', 'b'])).toEqual({ refusal: { status: 403, text: '' } });
  });

  it('are refused with a whole response', async () => {
    // Proves that a refusal is valid HTTP with its length, and that the connection closes.
    server = await new UpgradeServer(async (_request, socket) =>
      refuseUpgrade(socket, {
        status: 403,
        text: 'not für you',
        headers: [
          ['X-A', '1'],
          ['X-A', '2'],
        ],
      }),
    ).listen();
    expect(await server.answer(webSocketRequest())).toBe(
      'HTTP/1.1 403 Forbidden\r\nConnection: close\r\nX-A: 1\r\nX-A: 2\r\nContent-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\nContent-Length: 12\r\n\r\nnot für you',
    );
  });
});

describe('WebSocket handshake', () => {
  const serve = async () => {
    server = await new UpgradeServer(async (incoming, socket, head) => {
      const refusal = webSocketRefusal(incoming);
      if (refusal) return refuseUpgrade(socket, refusal);
      acceptWebSocket(incoming, socket, head, 'SPDY/3.1+portforward.k8s.io')!.close(1000);
    }).listen();
    return server;
  };

  it('answers with the accept key, the protocol and no extension', async () => {
    // Proves the handshake against the example of RFC 6455, with a subprotocol that `ws` itself would refuse.
    const served = await serve();
    const socket = await served.send(
      webSocketRequest(
        'Sec-WebSocket-Extensions: permessage-deflate',
        'Sec-WebSocket-Protocol: SPDY/3.1+portforward.k8s.io',
      ),
    );
    const [chunk] = await new Promise<Buffer[]>((resolve) => socket.once('data', (data) => resolve([data])));
    const [head, ...lines] = chunk!.toString('latin1').split('\r\n\r\n')[0]!.split('\r\n');
    expect(head).toBe('HTTP/1.1 101 Switching Protocols');
    expect(lines.sort()).toEqual([
      'Connection: Upgrade',
      'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=',
      'Sec-WebSocket-Protocol: SPDY/3.1+portforward.k8s.io',
      'Upgrade: websocket',
    ]);
    socket.destroy();
  });

  it('refuses other methods, versions and keys', async () => {
    // Proves the checks of the request before it is accepted.
    const served = await serve();
    const plain = webSocketRequest();
    expect(await served.answer(plain.replace('GET', 'POST'))).toMatch(
      /^HTTP\/1.1 405 [\s\S]*\r\n\r\nbad method$/,
    );
    expect(await served.answer(plain.replace('Version: 13', 'Version: 8'))).toMatch(
      /^HTTP\/1.1 400 [\s\S]*Sec-WebSocket-Version: 13\r\n/,
    );
    expect(await served.answer(plain.replace(/Sec-WebSocket-Key.*\r\n/, ''))).toMatch(/^HTTP\/1.1 400 /);
    expect(await served.answer(plain.replace('Key: dG', 'Key: d'))).toMatch(/^HTTP\/1.1 400 /);
  });
});
