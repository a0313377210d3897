/** The WebSocket handshake of sessions: the answer's headers, and the bound on messages. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { server, webSocketRequest } from '../dial/upgrade-server.fixture.ts';
import { serve, success } from '../session/session.fixture.ts';
import { acceptWebSocket } from './websocket-upgrade.ts';

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

it('takes one message in each turn of the event loop, however many come at once', async () => {
  // Proves that others are served between them: 64 KB of small ones took a tenth of a second.
  const messages = 2_000;
  let [taken, inTurn, most] = [0, 0, 0];
  const listener = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void listener.close());
  const all = new Promise<void>((resolve) =>
    listener.on('upgrade', (request, socket, head) =>
      acceptWebSocket(request, socket, head, undefined)!.on('message', () => {
        if (++inTurn === 1)
          setImmediate(() => {
            inTurn = 0;
          });
        most = Math.max(most, inTurn);
        if (++taken === messages) resolve();
      }),
    ),
  );
  await once(listener, 'listening');
  const client = connect((listener.address() as AddressInfo).port, '127.0.0.1');
  onTestFinished(() => void client.destroy());
  client.resume().write(webSocketRequest());
  client.write(Buffer.concat(Array.from({ length: messages }, () => Buffer.from('82810000000061', 'hex'))));
  await all;
  expect(most).toBeLessThanOrEqual(2);
});
