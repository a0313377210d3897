/**
 * The payload of a WebSocket as a byte stream, for port-forward: no message boundaries, no text, and a proper
 * close.
 */
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { server, until } from '../dial/upgrade-server.fixture.ts';
import { dialTunnel, serve } from '../session/port-forward.fixture.ts';

describe('tunnel', () => {
  it('knows no message boundaries', async () => {
    // Proves that a SPDY frame may arrive in messages of one byte.
    await serve();
    const webSocket = await dialTunnel();
    const got: Buffer[] = [];
    webSocket.on('message', (data: Buffer, binary) => {
      expect(binary).toBe(true);
      got.push(data);
    });
    const ping = Buffer.from('800300060000000400000001', 'hex');
    for (const byte of ping) webSocket.send(Buffer.from([byte]));
    await until(() => expect(Buffer.concat(got)).toEqual(ping));
    webSocket.close();
    await server!.over();
  });

  it('is closed with 1000', async () => {
    // Proves the close code, when the client leaves and when the pod ends.
    const ended = new AbortController();
    await serve({ ended: ended.signal });
    const leaving = await dialTunnel();
    const left = once(leaving, 'close');
    leaving.send(Buffer.from('80030007000000080000000000000000', 'hex'));
    expect((await left)[0]).toBe(1000);
    const cut = await dialTunnel();
    const closed = once(cut, 'close');
    ended.abort();
    expect((await closed)[0]).toBe(1000);
    await server!.over();
  });

  it('ends on a text message', async () => {
    // Proves that a text message is an error.
    await serve();
    const webSocket = await dialTunnel();
    webSocket.send('text');
    await once(webSocket, 'close');
    await server!.over();
    await until(() => expect(server!.sockets.size).toBe(0));
  });
});
