/** A session over SPDY: its streams, versions and bytes, back-pressure, and the end. */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { standstill } from '../bytes/standstill.fixture.ts';
import { readHead, server, spdyRequest, text, until } from '../dial/upgrade-server.fixture.ts';
import { Survivor, serve, success } from '../session/session.fixture.ts';
import type { SessionResult, SessionWish, TerminalSize } from '../session/session.ts';
import type { SpdyStream } from './spdy-stream.ts';

const outputs: SessionWish = { stdin: false, stdout: true, stderr: true, tty: false };
const v4 = ['v4.channel.k8s.io'];
const ping = Buffer.from('800300060000000400000001', 'hex');

/** A client that has opened its streams, as kubectl does. */
async function dial(protocols: readonly string[], types: readonly string[]) {
  const { head, connection, socket } = await server!.spdy(protocols);
  const streams: Record<string, SpdyStream> = {};
  for (const type of types) streams[type] = await connection.openStream({ streamType: type });
  return { head, connection, socket, streams };
}

/** The data frames of what a server has sent, as stream id, text and FIN; other frames as their first bytes. */
function frames(bytes: Buffer): string[] {
  const list: string[] = [];
  for (let at = 0; at + 8 <= bytes.length; ) {
    const length = bytes.readUIntBE(at + 5, 3);
    const body = bytes.subarray(at + 8, at + 8 + length);
    const first = bytes.readUInt32BE(at);
    if (first >= 0x80000000) list.push(`control ${bytes.readUInt16BE(at + 2)}`);
    else list.push(`${first} ${body}${bytes[at + 4]! & 1 ? ' FIN' : ''}`);
    at += 8 + length;
  }
  return list;
}

describe('session over SPDY', () => {
  it('answers kubectl’s frames with its vectors, in the right order', async () => {
    // Proves the handshake, replies, data, status and FINs against recorded bytes, and that the connection
    // stays open.
    await serve(
      async ({ stdout }) => {
        stdout!.write('hi\n');
        return success;
      },
      { wish: outputs },
    );
    const socket = await server!.send(spdyRequest(['v4.channel.k8s.io', 'v3.channel.k8s.io']));
    const { head, rest } = await readHead(socket);
    expect(head.split('\r\n')).toEqual([
      'HTTP/1.1 101 Switching Protocols',
      'Connection: Upgrade',
      'Upgrade: SPDY/3.1',
      'X-Stream-Protocol-Version: v4.channel.k8s.io',
    ]);
    let bytes = rest;
    let ended = false;
    socket.on('data', (chunk: Buffer) => (bytes = Buffer.concat([bytes, chunk])));
    socket.on('end', () => (ended = true));
    const opens = [
      '80030001000000290000000100000000000078f9e3c6a7c26260606004a7b392a2d4c45c6851c29a0a0a6800000000ffff',
      '800300010000001900000003000000000000c22ac5565c92925f5a02000000ffff',
      '800300010000001500000005000000000000c229975a5404000000ffff',
    ];
    socket.resume();
    for (const open of opens) socket.write(Buffer.from(open, 'hex'));
    await until(() => expect(frames(bytes).length).toBe(8));
    expect(frames(bytes)).toEqual([
      'control 2',
      'control 2',
      'control 2',
      '3 hi\n',
      '1 {"metadata":{},"status":"Success"}',
      '1  FIN',
      '3  FIN',
      '5  FIN',
    ]);
    socket.write(ping);
    await until(() => expect(bytes.subarray(-ping.length)).toEqual(ping));
    expect(ended).toBe(false);
    socket.end(Buffer.from('80030007000000080000000000000000', 'hex'));
    await server!.over();
    socket.destroy();
  });

  it.each([
    [['v5.channel.k8s.io', 'v4.channel.k8s.io'], 'v4.channel.k8s.io', true],
    [['v3.channel.k8s.io'], 'v3.channel.k8s.io', false],
    [['v2.channel.k8s.io, channel.k8s.io'], 'v2.channel.k8s.io', false],
    [['channel.k8s.io'], 'channel.k8s.io', false],
    [[], 'channel.k8s.io', false],
  ])('ends each version in its own way: %j', async (offered, chosen, asObject) => {
    // Proves the negotiation, and the form of exit code, failure and success on the error stream.
    let result: SessionResult = { kind: 'exit', code: 7 };
    await serve(
      async ({ stdout, stderr }) => {
        stdout!.write('out');
        stderr!.write('err');
        return result;
      },
      { wish: outputs },
    );
    const run = async () => {
      const { head, connection, streams } = await dial(offered, ['error', 'stdout', 'stderr']);
      expect(head).toContain(`X-Stream-Protocol-Version: ${chosen}`);
      const got = await Promise.all([text(streams.error!), text(streams.stdout!), text(streams.stderr!)]);
      connection.close();
      return got;
    };
    expect(await run()).toEqual([
      asObject
        ? '{"metadata":{},"status":"Failure","message":"command terminated with non-zero exit code: exit status 7","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"7"}]}}'
        : 'command terminated with non-zero exit code: exit status 7',
      'out',
      'err',
    ]);
    result = { kind: 'failure', message: 'boom' };
    const message = 'Internal error occurred: error executing command in container: boom';
    expect((await run())[0]).toBe(
      asObject
        ? `{"metadata":{},"status":"Failure","message":"${message}","reason":"InternalError","code":500}`
        : message,
    );
    result = success;
    expect((await run())[0]).toBe(asObject ? '{"metadata":{},"status":"Success"}' : '');
    await server!.over();
  });

  it('refuses versions it does not know', async () => {
    // Proves the answer to a client without a common protocol.
    await serve(async () => success);
    const answer = await server!.answer(spdyRequest(['v9.channel.k8s.io']));
    expect(answer).toMatch(/^HTTP\/1.1 403 Forbidden\r\n/);
    expect(answer.match(/X-Accepted-Stream-Protocol-Versions: .*(?=\r)/g)).toEqual(
      ['v4.', 'v3.', 'v2.', ''].map((v) => `X-Accepted-Stream-Protocol-Versions: ${v}channel.k8s.io`),
    );
  });

  it('carries input and its end', async () => {
    // Proves half close, and that the server ends its own half of stdin with the session: timers are faked,
    // so it cannot just close the connection.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    await serve(async ({ stdin, stdout }) => {
      for await (const chunk of stdin!) stdout!.write(chunk);
      return success;
    });
    const { connection, streams } = await dial(v4, ['error', 'stdin', 'stdout', 'stderr']);
    streams.stdin!.end('abc');
    expect(await text(streams.stdout!)).toBe('abc');
    expect(await text(streams.stdin!)).toBe('');
    expect(JSON.parse(await text(streams.error!)).status).toBe('Success');
    connection.close();
    await server!.over();
  });

  it('starts only when all streams are there, and refuses others', async () => {
    // Proves that the command starts only after its last stream, and that unknown, unrequested and repeated
    // ones are reset.
    const started = vi.fn();
    await serve(
      async () => {
        started();
        return success;
      },
      { wish: outputs },
    );
    const { connection, streams } = await dial(v4, ['error', 'stdout']);
    for (const streamType of ['stdin', 'resize', 'stdout', 'nonsense', '__proto__'])
      await expect(connection.openStream({ streamType })).rejects.toThrow('Stream reset');
    await expect(connection.openStream({})).rejects.toThrow('Stream reset');
    expect(started).not.toHaveBeenCalled();
    const stderr = await connection.openStream({ streamType: 'stderr' });
    await Promise.all([text(streams.stdout!), text(stderr)]);
    expect(started).toHaveBeenCalledOnce();
    connection.close();
    await server!.over();
  });

  it('closes when the streams do not come', async () => {
    // Proves the timeout of 30 s.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const handler = vi.fn(async () => success);
    await serve(handler);
    const { connection } = await dial(v4, ['error']);
    vi.advanceTimersByTime(29_999);
    await connection.openStream({ streamType: 'stdin' });
    vi.advanceTimersByTime(2);
    vi.useRealTimers();
    await connection.closed;
    await server!.over();
    expect(handler).not.toHaveBeenCalled();
  });

  it('does not insist on outputs that are on only by default', async () => {
    // Proves that optional streams are accepted, used if opened in time, and not waited for.
    const seen: boolean[][] = [];
    await serve(
      async ({ stdout, stderr }) => {
        seen.push([stdout !== undefined, stderr !== undefined]);
        stdout?.write('out');
        return success;
      },
      { optional: true },
    );
    const both = await dial(v4, ['error', 'stdin', 'stdout', 'stderr']);
    expect(await text(both.streams.stdout!)).toBe('out');
    both.connection.close();
    const none = await dial(v4, ['error', 'stdin']);
    expect(JSON.parse(await text(none.streams.error!)).status).toBe('Success');
    none.connection.close();
    expect(seen).toEqual([
      [true, true],
      [false, false],
    ]);
    await server!.over();
  });

  it('has a resize stream from v3 on, with a terminal', async () => {
    // Proves that sizes arrive, and that v2 has no resize stream.
    const sizes: TerminalSize[] = [];
    const wish = { stdin: true, stdout: true, stderr: true, tty: true };
    await serve(
      async (session) => {
        session.onResize((size) => sizes.push(size));
        for await (const _ of session.stdin!) break;
        return success;
      },
      { wish },
    );
    const { connection, streams } = await dial(['v3.channel.k8s.io'], ['error', 'stdin', 'stdout', 'resize']);
    streams.resize!.write('{"Width":100,"Heig');
    streams.resize!.write('ht":30}\n');
    await until(() => expect(sizes).toEqual([{ width: 100, height: 30 }]));
    streams.stdin!.write('x');
    await Promise.all([streams.stdout!, streams.resize!, streams.error!].map(text));
    connection.close();

    const old = await dial(['v2.channel.k8s.io'], ['error', 'stdin', 'stdout']);
    await expect(old.connection.openStream({ streamType: 'resize' })).rejects.toThrow('Stream reset');
    old.streams.stdin!.write('x');
    await text(old.streams.stdout!);
    old.connection.close();
    await server!.over();
  });

  it('waits 10 s for the client to close, then says so', async () => {
    // Proves that the server lets the client close first, for a limited time.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    await serve(async () => success, { wish: outputs });
    const { connection, socket, streams } = await dial(v4, ['error', 'stdout', 'stderr']);
    const closed = vi.fn();
    void connection.closed.then(closed);
    await Promise.all([text(streams.error!), text(streams.stdout!), text(streams.stderr!)]);
    await standstill(() => vi.getTimerCount());
    vi.advanceTimersByTime(9_900);
    // A connection that answers a ping is not closed.
    const heard = new Promise<string>((resolve) => {
      socket.on('data', (chunk: Buffer) => chunk.includes(ping) && resolve('pong'));
      socket.on('end', () => resolve('end'));
    });
    socket.write(ping);
    expect(await heard).toBe('pong');
    expect(closed).not.toHaveBeenCalled();
    vi.advanceTimersByTime(200);
    await connection.closed;
    await server!.over();
  });

  it.each(['cut', 'goaway', 'reset'] as const)(
    'tells a session that its client has gone: %s',
    async (way) => {
      // Proves the three ways a client leaves, that stdin ends after the data sent, and that output
      // afterwards is no error.
      const survivor = new Survivor();
      await serve(survivor.handler);
      const { connection, socket, streams } = await dial(v4, ['error', 'stdin', 'stdout', 'stderr']);
      streams.stdin!.write('last words');
      await until(() => expect(survivor.got).toBe('last words'));
      if (way === 'cut') socket.destroy();
      else if (way === 'goaway') connection.close();
      else streams.error!.reset();
      await until(() => expect(survivor.left).toBe(true));
      await server!.over();
      await until(() => expect(server!.sockets.size).toBe(0));
    },
  );

  it('goes on when the client resets an output', async () => {
    // Proves that a command is not blocked by an output stream that the client has reset.
    await serve(async ({ stdin, stdout, stderr }) => {
      for await (const _ of stdin!) break;
      for (let i = 0; i < 100; i++) if (!stdout!.write(Buffer.alloc(65536))) await once(stdout!, 'drain');
      stderr!.write('done');
      return success;
    });
    const { connection, streams } = await dial(v4, ['error', 'stdin', 'stdout', 'stderr']);
    streams.stdout!.reset();
    streams.stdin!.write('go');
    expect(await text(streams.stderr!)).toBe('done');
    expect(JSON.parse(await text(streams.error!)).status).toBe('Success');
    connection.close();
    await server!.over();
  });

  it('carries much in both directions at once, to slow readers', async () => {
    // Proves that nothing is lost or changed, and that a slow client pauses the command.
    let most = 0;
    await serve(async ({ stdin, stdout }) => {
      for await (const chunk of stdin!) {
        most = Math.max(most, stdout!.writableLength);
        if (!stdout!.write(chunk)) await once(stdout!, 'drain');
      }
      return success;
    });
    const { connection, streams } = await dial(v4, ['error', 'stdin', 'stdout', 'stderr']);
    const data = randomBytes(1024 * 1024);
    const rounds = 24;
    Readable.from(
      (function* () {
        for (let i = 0; i < rounds; i++) yield data;
      })(),
    ).pipe(streams.stdin!);
    const hash = createHash('sha256');
    let bytes = 0;
    for await (const chunk of streams.stdout!) {
      if (bytes < 1_000_000) await sleep(1);
      bytes += chunk.length;
      hash.update(chunk);
    }
    const expected = createHash('sha256');
    for (let i = 0; i < rounds; i++) expected.update(data);
    expect(bytes).toBe(rounds * data.length);
    expect(hash.digest('hex')).toBe(expected.digest('hex'));
    expect(most).toBeLessThan(1024 * 1024);
    expect(JSON.parse(await text(streams.error!)).status).toBe('Success');
    connection.close();
    await server!.over();
  });

  it('writes the status behind all output, also to a client that is slow to read', async () => {
    // Proves the order of the end under back-pressure: the output, then the status, then the FINs.
    const total = 8 * 1024 * 1024;
    await serve(
      async ({ stdout }) => {
        stdout!.write(Buffer.alloc(total));
        return { kind: 'exit', code: 1 };
      },
      { wish: outputs },
    );
    const { connection, socket, streams } = await dial(v4, ['error', 'stdout', 'stderr']);
    const order: string[] = [];
    let bytes = 0;
    streams.stdout!.on('data', (chunk: Buffer) => (bytes += chunk.length));
    streams.stdout!.on('end', () => order.push('stdout ends'));
    streams.stderr!.on('data', () => undefined).on('end', () => order.push('stderr ends'));
    streams
      .error!.on('data', () => order.push(`status after ${bytes}`))
      .on('end', () => order.push('error ends'));
    socket.pause();
    const [far] = server!.sockets;
    await standstill(() => far!.bytesWritten);
    socket.resume();
    await until(() => expect(order.length).toBe(4));
    expect(order).toEqual([`status after ${total}`, 'error ends', 'stdout ends', 'stderr ends']);
    connection.close();
    await server!.over();
  });

  it('discards input that comes after the end', async () => {
    // Proves that a client that still writes to an ended command can read its status.
    await serve(async () => ({ kind: 'exit', code: 3 }));
    const { connection, streams } = await dial(v4, ['error', 'stdin', 'stdout', 'stderr']);
    let pushed = 0;
    while (pushed < 64) {
      pushed++;
      if (!streams.stdin!.write(Buffer.alloc(65536))) await once(streams.stdin!, 'drain');
    }
    expect(JSON.parse(await text(streams.error!)).details.causes[0].message).toBe('3');
    connection.close();
    await server!.over();
  });

  it('ends with the pod, with a failure', async () => {
    // Proves that a session that was cut short is reported as a failure.
    const ended = new AbortController();
    await serve(({ gone }) => once(gone, 'abort').then(() => success), { ended: ended.signal });
    const { connection, streams } = await dial(v4, ['error', 'stdin', 'stdout', 'stderr']);
    ended.abort();
    expect(JSON.parse(await text(streams.error!)).message).toMatch(/the pod has ended$/);
    connection.close();
    await server!.over();
  });

  it('survives hostile bytes', async () => {
    // Proves that no bytes after the handshake crash the server or leave a socket behind.
    await serve(({ gone }) => once(gone, 'abort').then(() => success));
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), fc.boolean(), async (bytes, asControl) => {
        const socket = await server!.send(spdyRequest(v4));
        if (asControl) socket.write(Buffer.from([0x80, 3, 0, (bytes[0] ?? 0) % 11]));
        socket.end(bytes);
        socket.resume();
        await once(socket, 'close');
      }),
      { numRuns: 100 },
    );
    await server!.over();
    await until(() => expect(server!.sockets.size).toBe(0));
  });
});
