/** The WebSocket handshake of sessions: the answer's headers, and the bound on messages. */
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { server, webSocketRequest } from '../dial/upgrade-server.fixture.ts';
import { serve, success } from '../session/session.fixture.ts';

describe('session over WebSocket', () => {
  it('names no protocol when none was offered', async () => {
    // Proves that no empty header is sent, which strict clients reject.
    await serve(async () => success);
    const socket = await server!.send(webSocketRequest());
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    expect(chunk.toString('latin1')).toMatch(/^HTTP\/1.1 101 /);
    expect(chunk.toString('latin1').toLowerCase()).not.toContain('sec-websocket-protocol');
    socket.destroy();
  });

  it('refuses messages above 32 MiB', async () => {
    // Proves the bound: the connection ends before such a message is read.
    await serve(({ gone }) => once(gone, 'abort').then(() => success));
    const socket = await server!.send(webSocketRequest());
    socket.resume();
    const head = Buffer.alloc(14);
    head.set([0x82, 0xff]);
    head.writeBigUInt64BE(BigInt(32 * 1024 * 1024 + 1), 2);
    socket.write(head);
    await once(socket, 'end');
    socket.destroy();
    await server!.over();
    expect(server!.served.length).toBe(1);
  });
});
