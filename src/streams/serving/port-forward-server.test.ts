/** The serving side of port-forward: which protocols it speaks, what it refuses, and a real client. */
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { KubeConfig, PortForward } from '@kubernetes/client-node';
import { describe, expect, it } from 'vitest';
import type { WebSocket } from 'ws';
import { server, spdyRequest, webSocketRequest } from '../dial/upgrade-server.fixture.ts';
import { serve, target } from '../session/port-forward.fixture.ts';

describe('port-forward over SPDY', () => {
  it('speaks only portforward.k8s.io', async () => {
    // Proves the negotiation, with and without the header.
    await serve();
    expect(await server!.answer(spdyRequest(['v4.channel.k8s.io']))).toMatch(
      /^HTTP\/1.1 403 [\s\S]*X-Accepted-Stream-Protocol-Versions: portforward.k8s.io\r\n/,
    );
    const { head, connection } = await server!.spdy([]);
    expect(head).toContain('X-Stream-Protocol-Version: portforward.k8s.io');
    connection.close();
    expect(
      await server!.answer(webSocketRequest('Sec-WebSocket-Protocol: SPDY/3.1+v4.channel.k8s.io')),
    ).toMatch(/^HTTP\/1.1 403 [\s\S]*Content-Length: 0\r\n\r\n$/);
  });
});

describe('port-forward over channels', () => {
  it('requires ports, and not too many', async () => {
    // Proves the refusals; offering v5 alone is refused, too.
    await serve();
    expect(await server!.answer(webSocketRequest())).toMatch(
      /^HTTP\/1.1 400 [\s\S]*\r\n\r\nquery parameter "port" is required$/,
    );
    await server!.close();
    await serve({ ports: Array.from({ length: 129 }, () => 80) });
    expect(await server!.answer(webSocketRequest())).toMatch(/^HTTP\/1.1 400 /);
    await server!.close();
    await serve({ ports: [80] });
    expect(await server!.answer(webSocketRequest('Sec-WebSocket-Protocol: v5.channel.k8s.io'))).toMatch(
      /^HTTP\/1.1 403 /,
    );
  });

  it('serves client-node', async () => {
    // Proves that the real client works, although it lists v5 first.
    const port = await target((socket) => socket.once('data', (data) => socket.end(`hello ${data}`)));
    await serve({ ports: [port] });
    const kubeConfig = new KubeConfig();
    kubeConfig.loadFromClusterAndUser(
      { name: 'c', server: server!.url('').replace('ws:', 'http:'), skipTLSVerify: true },
      { name: 'u' },
    );
    const [input, output, errors] = [new PassThrough(), new PassThrough(), new PassThrough()];
    let out = '';
    let err = '';
    output.on('data', (chunk) => (out += chunk));
    errors.on('data', (chunk) => (err += chunk));
    const socket = (await new PortForward(kubeConfig).portForward(
      'ns',
      'pod',
      [port],
      output,
      errors,
      input,
    )) as WebSocket;
    const closed = once(socket, 'close');
    input.write('world');
    expect((await closed)[0]).toBe(1000);
    expect([out, err]).toEqual(['hello world', '']);
    await server!.over();
  });
});
