import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createWebSocketStream, WebSocket } from 'ws';
import { closed, readAll, socketPair } from '../spdy/spdy.fixture.ts';
import { SpdyConnection } from '../spdy/spdy-connection.ts';
import { untunnel } from './websocket-tunnel.ts';
import { acceptWebSocket } from './websocket-upgrade.ts';

/** A WebSocket whose payload is copied to a socket; the kubelet is at the other end of that socket. */
async function tunnelled(head?: Buffer) {
  const [kubelet, ours] = await socketPair();
  let over!: Promise<void>;
  const server = createServer();
  server.on('upgrade', (request, socket, first) => {
    over = untunnel(acceptWebSocket(request, socket, first, undefined)!, ours, head);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const webSocket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => webSocket.terminate());
  const received: Buffer[] = [];
  webSocket.on('message', (message: Buffer, isBinary) => {
    if (isBinary) received.push(message);
  });
  const closing = once(webSocket, 'close');
  await once(webSocket, 'open');
  return { kubelet, webSocket, closing, over: () => over, ours, received };
}

describe('a tunnel', () => {
  it('carries SPDY inside the messages to a kubelet, whatever their boundaries', async () => {
    // Proves that a SPDY connection works through it, with much data both ways.
    const { kubelet, webSocket, over, ours } = await tunnelled();
    new SpdyConnection(kubelet, {
      role: 'server',
      onStream: (stream) => {
        stream.accept();
        stream.pipe(stream);
      },
    });
    const client = new SpdyConnection(createWebSocketStream(webSocket), { role: 'client' });
    const stream = await client.openStream({ streamType: 'data' });
    const bytes = Buffer.alloc(4 * 1024 * 1024, 'wherry');
    stream.end(bytes);
    expect((await readAll(stream)).equals(bytes)).toBe(true);
    client.close();
    await over();
    expect(ours.destroyed).toBe(true);
  });

  it("passes on what came behind the upgrade, tiny messages, and the kubelet's end as close 1000", async () => {
    // Proves that no byte is lost at the start or the end of a tunnel.
    const { kubelet, webSocket, closing, over, received } = await tunnelled(Buffer.from('early '));
    for (const letter of 'letters') webSocket.send(Buffer.from(letter));
    let read = '';
    while (read !== 'letters') read += String((await once(kubelet, 'data'))[0]);
    kubelet.end('and late');
    expect((await closing)[0]).toBe(1000);
    expect(Buffer.concat(received).toString()).toBe('early and late');
    await over();
  });

  it('ends at the kubelet when the client leaves or sends text', async () => {
    // Proves that both sides are closed together.
    for (const leave of [
      (webSocket: WebSocket) => webSocket.close(1000),
      (webSocket: WebSocket) => webSocket.terminate(),
      (webSocket: WebSocket) => webSocket.send('text'),
    ]) {
      const { kubelet, webSocket, over } = await tunnelled();
      kubelet.on('end', () => kubelet.end()).resume();
      leave(webSocket);
      await over();
      await closed(kubelet);
    }
  });

  it('closes the WebSocket when the kubelet breaks off', async () => {
    // Proves that a kubelet that dies is noticed.
    const { kubelet, closing, over } = await tunnelled();
    kubelet.resetAndDestroy();
    expect((await closing)[0]).toBe(1000);
    await over();
  });
});
