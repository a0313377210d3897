/** Port-forward over the channels of a WebSocket: the first messages, several ports, slow targets, and the end. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { standstill } from '../bytes/standstill.fixture.ts';
import { server, until } from '../dial/upgrade-server.fixture.ts';
import { dialled, echo, refused, serve, target } from '../session/port-forward.fixture.ts';

describe('port-forward over channels', () => {
  const channels = async (protocols: string[]) => {
    const webSocket = new WebSocket(server!.url(), protocols);
    const messages: Buffer[] = [];
    webSocket.on('message', (data: Buffer) => messages.push(data));
    const closed = once(webSocket, 'close').then(([code]) => code as number);
    await once(webSocket, 'open');
    return { webSocket, messages, closed };
  };

  it('begins with the vector', async () => {
    // Proves the first messages for port 8080, and the refusal of v5.
    await serve({ ports: [8080], dial: () => new Promise(() => undefined) });
    const { webSocket, messages } = await channels(['v5.channel.k8s.io', 'v4.channel.k8s.io']);
    await until(() => expect(messages.map((data) => data.toString('hex'))).toEqual(['00901f', '01901f']));
    expect(webSocket.protocol).toBe('v4.channel.k8s.io');
    webSocket.terminate();
    await server!.over();
  });

  it.each(['v4.channel.k8s.io', 'v4.base64.channel.k8s.io', ''])(
    'forwards several ports: %j',
    async (protocol) => {
      // Proves that each port has two channels and ends separately, and that the last end closes the
      // WebSocket with 1000.
      const ends = (greeting: string) => (socket: Socket) =>
        socket.once('data', (data) => socket.end(`${greeting} ${data}`));
      const ports = [await target(ends('a')), 1, await target(ends('b'))];
      await serve({ ports });
      const { webSocket, messages, closed } = await channels(protocol ? [protocol] : []);
      const base64 = protocol.includes('base64');
      const send = (channel: number, data: string) =>
        webSocket.send(
          base64
            ? `${channel}${Buffer.from(data).toString('base64')}`
            : Buffer.from([channel, ...Buffer.from(data)]),
        );
      const on = (channel: number) =>
        Buffer.concat(
          messages
            .filter((data) => data[0] === (base64 ? 0x30 + channel : channel))
            .map((data) => (base64 ? Buffer.from(data.toString('latin1', 1), 'base64') : data.subarray(1))),
        ).toString('latin1', 2);
      send(0, 'one');
      send(9, 'to nobody');
      send(1, 'to nobody');
      await until(() => expect(on(0)).toBe('a one'));
      send(4, 'two');
      expect(await closed).toBe(1000);
      expect([0, 1, 2, 3, 4, 5].map(on)).toEqual([
        'a one',
        '',
        '',
        `error forwarding port 1 to pod web, uid 7: ${refused}`,
        'b two',
        '',
      ]);
      await server!.over();
    },
  );

  it('stops a client while one target is slow, and loses nothing', async () => {
    // Proves back-pressure from a slow target: little more is read, although the other target has room, and
    // all arrives in the end.
    const got = [0, 0];
    let go!: () => void;
    const released = new Promise<void>((resolve) => (go = resolve));
    const taking = (index: number, ready: Promise<unknown>) =>
      new Duplex({
        highWaterMark: 1024,
        read: () => undefined,
        write: (chunk: Buffer, _encoding, done) => {
          got[index]! += chunk.length;
          void ready.then(() => setImmediate(done));
        },
      });
    const duplexes = [taking(0, released), taking(1, Promise.resolve())];
    await serve({ ports: [80, 81], dial: async (port) => duplexes[port - 80]! });
    const { webSocket } = await channels(['v4.channel.k8s.io']);
    const total = 2 * 1024 * 1024;
    // Small messages in turn, so that every read contains some for each port.
    for (let i = 0; i < total; i += 1024) {
      webSocket.send(Buffer.alloc(1025));
      webSocket.send(Buffer.alloc(1025, 2));
    }
    const [socket] = server!.sockets;
    expect(await standstill(() => socket!.bytesRead)).toBeLessThan(total / 2);
    go();
    await until(() => expect(got).toEqual([total, total]));
    webSocket.close();
    await server!.over();
    expect(duplexes.map(({ destroyed }) => destroyed)).toEqual([true, true]);
  });

  it('is closed with 1000 when the pod ends, or it is idle', async () => {
    // Proves both ends, and that connections to targets are closed.
    const ended = new AbortController();
    const ports = [await target(() => undefined)];
    await serve({ ports, ended: ended.signal });
    const first = await channels(['v4.channel.k8s.io']);
    await until(() => expect(dialled.size).toBe(1));
    ended.abort();
    expect(await first.closed).toBe(1000);
    await server!.close();
    await serve({ ports, idleMs: 100 });
    const second = await channels(['v4.channel.k8s.io']);
    expect(await second.closed).toBe(1000);
    await until(() => expect(dialled.size).toBe(0));
  });

  it('survives hostile messages', async () => {
    // Proves that nothing a client sends crashes the server or leaves anything behind.
    const ports = [await target(echo)];
    await serve({ ports });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('v4.channel.k8s.io', 'v4.base64.channel.k8s.io'),
        fc.array(fc.oneof(fc.uint8Array({ maxLength: 300 }), fc.string()), { maxLength: 20 }),
        async (protocol, messages) => {
          const { webSocket, closed } = await channels([protocol]);
          for (const message of messages) webSocket.send(message);
          webSocket.terminate();
          await closed;
        },
      ),
      { numRuns: 100 },
    );
    await server!.over();
    await until(() => expect([server!.sockets.size, dialled.size]).toEqual([0, 0]));
  });
});
