/** Proves that a tunnel carries one accepted upgrade byte by byte, and nothing else. */
import { once } from 'node:events';
import { createServer as createHttpServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { memoryPipe } from '../bytes/memory-pipe.ts';
import { standstill } from '../bytes/standstill.fixture.ts';
import { tunnelHeaders } from '../proxy/forwarded-headers.ts';
import { tunnel, withoutBody } from './tunnel.ts';

const times = { headMs: 60_000, relayMs: 60_000, lingerMs: 300, idleMs: 60_000 };
const agreed = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

interface Front {
  readonly client: Socket;
  /** Undefined, or the error that the tunnel threw. */
  readonly over: Promise<Error | undefined>;
}

/** A client whose upgrade request is tunnelled to the connection that `backend` returns. */
async function front(
  backend: () => Duplex | Promise<Duplex>,
  request = 'GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
  limits = times,
): Promise<Front> {
  const server: Server = createHttpServer();
  let finish: (error?: Error) => void;
  const over = new Promise<Error | undefined>((resolve) => {
    finish = resolve;
  });
  server.on('upgrade', async (incoming: IncomingMessage, socket: Socket, head) => {
    socket.on('error', () => socket.destroy());
    try {
      const upgrade = await withoutBody(incoming, { socket, head });
      const headers = tunnelHeaders(incoming, '1.2.3.4');
      await tunnel(upgrade, await backend(), { method: incoming.method!, path: '/to', headers }, limits);
      finish();
    } catch (error) {
      socket.destroy();
      finish(error as Error);
    }
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect({ port: (server.address() as AddressInfo).port, allowHalfOpen: true });
  client.on('error', () => undefined);
  client.write(request);
  cleanups.push(
    () => client.destroy(),
    () => new Promise((resolve) => server.close(resolve)),
  );
  return { client, over };
}

/** A TCP backend; `accepted` resolves with its one connection. */
async function tcpBackend(): Promise<{ dial: () => Socket; accepted: Promise<Socket> }> {
  const server = createServer({ allowHalfOpen: true });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const accepted = once(server, 'connection').then(([socket]) => socket as Socket);
  cleanups.push(() => {
    server.close();
  });
  return { dial: () => connect({ port: (server.address() as AddressInfo).port }), accepted };
}

/** Reads up to and including the text, and leaves the rest. */
async function readUntil(stream: Duplex, text: string): Promise<string> {
  let seen = Buffer.alloc(0);
  for (;;) {
    const chunk = stream.read() as Buffer | null;
    if (chunk) seen = Buffer.concat([seen, chunk]);
    const at = seen.indexOf(text);
    if (at >= 0) {
      const end = at + text.length;
      if (end < seen.length) stream.unshift(seen.subarray(end));
      return seen.toString('latin1', 0, end);
    }
    if (!chunk) await once(stream, 'readable');
  }
}

/** Resolves when the other side has closed, in whatever way. */
const over = (stream: Duplex): Promise<void> =>
  new Promise((resolve) => {
    stream
      .on('end', resolve)
      .on('close', resolve)
      .on('error', () => undefined)
      .resume();
  });

describe('a tunnel', () => {
  it('sends the rewritten request, and then copies both ways, bytes behind both heads included', async () => {
    const { dial, accepted } = await tcpBackend();
    const { client, over } = await front(
      dial,
      'GET / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nearly',
    );
    const backend = await accepted;
    expect(await readUntil(backend, '\r\n\r\n')).toBe(
      'GET /to HTTP/1.1\r\nHost: h\r\nX-Forwarded-For: 1.2.3.4\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
    );
    backend.write(`${agreed}first`);
    expect(await readUntil(client, 'first')).toBe(`${agreed}first`);
    expect(await readUntil(backend, 'early')).toBe('early');
    client.write('up');
    expect(await readUntil(backend, 'up')).toBe('up');
    backend.write('down');
    expect(await readUntil(client, 'down')).toBe('down');
    client.destroy();
    await once(backend.resume(), 'end');
    backend.destroy();
    expect(await over).toBeUndefined();
  });

  it('keeps the client open after the backend has ended, and closes it later', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { dial, accepted } = await tcpBackend();
    let near!: Socket;
    const { client, over } = await front(() => {
      near = dial();
      return near;
    });
    const backend = await accepted;
    await readUntil(backend, '\r\n\r\n');
    backend.end(`${agreed}bye`);
    await readUntil(client, 'bye');
    const ended = once(client.resume(), 'end');
    while (!near.readableEnded) await new Promise((resolve) => setImmediate(resolve));
    vi.advanceTimersByTime(times.lingerMs - 1);
    // Both connections are in this process: an end would arrive within these event loop ticks.
    await standstill(() => client.bytesRead);
    expect(client.readableEnded).toBe(false);
    vi.advanceTimersByTime(1);
    await ended;
    client.end();
    expect(await over).toBeUndefined();
  });

  it('ends at once when the client closes after the backend has ended', async () => {
    const { dial, accepted } = await tcpBackend();
    const { client, over } = await front(dial, undefined, { ...times, lingerMs: 30_000 });
    const backend = await accepted;
    await readUntil(backend, '\r\n\r\n');
    backend.end(`${agreed}bye`);
    await readUntil(client, 'bye');
    client.end();
    expect(await over).toBeUndefined();
  });

  it('passes on what a client said before it ended', async () => {
    const { dial, accepted } = await tcpBackend();
    const { client, over } = await front(dial);
    const backend = await accepted;
    await readUntil(backend, '\r\n\r\n');
    backend.write(agreed);
    await readUntil(client, '\r\n\r\n');
    const block = Buffer.alloc(1 << 20, 'x');
    client.end(block);
    let seen = 0;
    for await (const chunk of backend) seen += (chunk as Buffer).length;
    expect(seen).toBe(block.length);
    backend.end();
    expect(await over).toBeUndefined();
  });

  it('waits for slow readers on either side and loses nothing', async () => {
    const { dial, accepted } = await tcpBackend();
    let near!: Socket;
    const { client } = await front(() => {
      near = dial();
      return near;
    });
    const backend = await accepted;
    await readUntil(backend, '\r\n\r\n');
    backend.write(agreed);
    await readUntil(client, '\r\n\r\n');
    const total = 32 << 20;
    for (const [from, to, waits] of [
      [backend, client, () => near.isPaused()],
      [client, backend, () => near.writableNeedDrain],
    ] as const) {
      to.pause();
      from.write(Buffer.alloc(total, 'y'));
      while (!waits()) await new Promise((resolve) => setTimeout(resolve, 10));
      // Without a reader, only a bounded amount is buffered on the way.
      const { bytesRead } = near;
      expect(await standstill(() => near.bytesRead)).toBe(bytesRead);
      expect(waits()).toBe(true);
      expect(near.writableLength).toBeLessThan(1 << 20);
      let seen = 0;
      await new Promise<void>((resolve) => {
        to.on('data', (chunk: Buffer) => {
          seen += chunk.length;
          if (seen >= total) resolve();
        }).resume();
      });
      expect(seen).toBe(total);
    }
  });

  it('works through memory', async () => {
    const [near, far] = memoryPipe();
    const { client, over } = await front(() => near);
    await readUntil(far, '\r\n\r\n');
    far.write(`${agreed}hi`);
    await readUntil(client, 'hi');
    client.write('there');
    expect(await readUntil(far, 'there')).toBe('there');
    client.resetAndDestroy();
    expect((await once(far, 'error'))[0]).toMatchObject({ code: 'ECONNRESET' });
    expect(await over).toBeUndefined();
  });

  it('lets go of the backend when the client leaves before the answer', async () => {
    const { dial, accepted } = await tcpBackend();
    const { client, over } = await front(dial);
    const backend = await accepted;
    await readUntil(backend, '\r\n\r\n');
    client.end();
    await once(backend.resume(), 'end');
    backend.destroy();
    expect((await over)?.message).toBe('context canceled');
  });
});

describe('a backend that does not agree', () => {
  const answered = async (answer: string | Buffer, limits = times) => {
    const { dial, accepted } = await tcpBackend();
    const joined = await front(dial, undefined, limits);
    const backend = await accepted;
    backend.on('error', () => undefined);
    await readUntil(backend, '\r\n\r\n');
    backend.write(answer);
    return { ...joined, backend };
  };

  it.each([
    ['a 200', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi', 'invalid upgrade response: status code 200'],
    [
      'a redirect',
      'HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n',
      'invalid upgrade response: status code 302',
    ],
    [
      'a 101 to nothing',
      'HTTP/1.1 101 Switching Protocols\r\n\r\n',
      'invalid upgrade response: status code 101',
    ],
    ['what is no HTTP', 'SSH-2.0-OpenSSH_9\r\n\r\n', 'malformed HTTP response'],
    [
      'a head without end',
      `HTTP/1.1 101 Switching Protocols\r\nX: ${'x'.repeat(70_000)}`,
      'net/http: server response headers exceeded the limit; aborted',
    ],
  ])('but gives %s is let go of, and the client is told', async (_what, answer, message) => {
    const { backend, over: told } = await answered(answer);
    expect((await told)?.message).toBe(message);
    await over(backend);
    backend.destroy();
  });

  it('but hangs up is told of as an end', async () => {
    const { backend, over } = await answered('HTTP/1.1 101 ');
    backend.end();
    expect((await over)?.message).toBe('unexpected EOF');
  });

  it('but says nothing is not waited for forever', async () => {
    const { dial } = await tcpBackend();
    const { over } = await front(dial, undefined, { ...times, headMs: 100 });
    expect((await over)?.message).toBe('net/http: timeout awaiting response headers');
  });

  it('but refuses is relayed, whatever the form of its body, and nothing of the client gets to it any more', async () => {
    const {
      client,
      backend,
      over: done,
    } = await answered(
      'HTTP/1.1 403 Forbidden\r\nX-A: 1\r\nX-A: 2\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n1\r\n!\r\n0\r\n\r\n',
    );
    client.write('GET /secret HTTP/1.1\r\nHost: h\r\n\r\n');
    let said = '';
    client.on('data', (chunk: Buffer) => {
      said += chunk;
    });
    let leaked = '';
    backend.on('data', (chunk: Buffer) => {
      leaked += chunk;
    });
    await Promise.all([over(client), over(backend)]);
    expect(said).toBe('HTTP/1.1 403 Forbidden\r\nX-A: 1\r\nX-A: 2\r\nConnection: close\r\n\r\nno!');
    expect(leaked).toBe('');
    client.end();
    expect(await done).toBeUndefined();
  });

  it('but refuses without end is cut after a while', async () => {
    const { client, over } = await answered('HTTP/1.1 500 Oops\r\nContent-Length: 100\r\n\r\npart', {
      ...times,
      relayMs: 200,
    });
    client.resume();
    expect(await over).toBeUndefined();
  });
});

describe('requests with a body', () => {
  const upgrade = 'POST / HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: x\r\n';

  it('are sent on without it', async () => {
    const { dial, accepted } = await tcpBackend();
    const { client } = await front(dial, `${upgrade}Content-Length: 4\r\nExpect: 100-continue\r\n\r\nbod`);
    client.write('ytunnelled');
    const backend = await accepted;
    const head = await readUntil(backend, '\r\n\r\n');
    expect(head).toContain('Content-Length: 0\r\n');
    expect(head).not.toMatch(/expect/i);
    backend.write(agreed);
    expect(await readUntil(backend, 'tunnelled')).toBe('tunnelled');
  });

  it.each([
    ['of unknown length', 'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n', /unknown length/],
    ['that is too long', 'Content-Length: 99999999999\r\n\r\n', /at most/],
  ])('%s are refused', async (_what, rest, says) => {
    const { over } = await front(() => Promise.reject(new Error('dialled')), upgrade + rest);
    expect((await over)?.message).toMatch(says);
  });
});

describe('headers', () => {
  it('keep their lines and lose credentials, hops and tokens', () => {
    const request = {
      method: 'POST',
      rawHeaders: [
        ['Host', 'example'],
        ['Authorization', 'Bearer t'],
        ['X-Stream-Protocol-Version', 'v4.channel.k8s.io'],
        ['X-Stream-Protocol-Version', 'v3.channel.k8s.io'],
        ['Connection', 'keep-alive, Upgrade, X-Stream-Protocol-Version'],
        ['Upgrade', 'SPDY/3.1'],
        ['IMPERSONATE-USER', 'root'],
        ['Impersonate-Extra-Scopes', 'all'],
        ['X-Remote-User', 'root'],
        ['X-Remote-Extra-Foo', 'x'],
        ['Proxy-Authorization', 'x'],
        ['Transfer-Encoding', 'chunked'],
        ['Content-Length', '3'],
        ['Expect', '100-continue'],
        ['X-Forwarded-For', '9.9.9.9'],
        ['X-Forwarded-For', '8.8.8.8'],
        ['Sec-WebSocket-Protocol', 'base64url.bearer.authorization.k8s.io.dA, v4.channel.k8s.io'],
        ['Sec-WebSocket-Protocol', 'base64url.bearer.authorization.k8s.io.dA'],
        ['Cookie', 'a=b'],
      ].flat(),
    } as unknown as IncomingMessage;
    expect(tunnelHeaders(request, '::ffff:10.0.0.1')).toEqual(
      [
        ['Host', 'example'],
        ['X-Stream-Protocol-Version', 'v4.channel.k8s.io'],
        ['X-Stream-Protocol-Version', 'v3.channel.k8s.io'],
        ['Sec-WebSocket-Protocol', 'v4.channel.k8s.io'],
        ['Cookie', 'a=b'],
        ['X-Forwarded-For', '9.9.9.9, 8.8.8.8, 10.0.0.1'],
        ['Connection', 'Upgrade'],
        ['Upgrade', 'SPDY/3.1'],
        ['Content-Length', '0'],
      ].flat(),
    );
  });
});
