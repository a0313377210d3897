import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { Attach, Exec, KubeConfig, type V1Status } from '@kubernetes/client-node';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import type { Session, SessionHandler, SessionResult, SessionWish, TerminalSize } from './session.ts';
import { type SessionServing, serveSession } from './sessionserver.ts';
import { UpgradeServer, until, webSocketRequest } from './upgradeserver.case.ts';

const success: SessionResult = { kind: 'success' };
const all: SessionWish = { stdin: true, stdout: true, stderr: true, tty: false };
const rawProtocols = ['', 'channel.k8s.io', 'v4.channel.k8s.io', 'v5.channel.k8s.io'];
const textProtocols = ['base64.channel.k8s.io', 'v4.base64.channel.k8s.io'];

let server: UpgradeServer | undefined;
afterEach(async () => {
  vi.useRealTimers();
  await server?.close();
  server = undefined;
});

async function serve(handler: SessionHandler, serving: Partial<SessionServing> = {}): Promise<UpgradeServer> {
  server = await new UpgradeServer((request, socket, head) =>
    serveSession(request, socket, head, { kind: 'exec', wish: all, handler, ...serving }),
  ).listen();
  return server;
}

/** A client that keeps every message, with its kind. */
class Client {
  readonly messages: { data: Buffer; binary: boolean }[] = [];
  readonly closed: Promise<number>;
  readonly socket: WebSocket;

  constructor(protocol: string) {
    this.socket = new WebSocket(server!.url(), protocol ? [protocol] : []);
    this.socket.on('message', (data: Buffer, binary) => this.messages.push({ data, binary }));
    this.closed = once(this.socket, 'close').then(([code]) => code as number);
  }

  get hex(): string[] {
    return this.messages.map(({ data }) => data.toString('hex'));
  }

  /** What came on a channel. */
  channel(number: number): string {
    const base64 = textProtocols.includes(this.socket.protocol);
    return this.messages
      .filter(({ data }) => data[0] === (base64 ? 0x30 + number : number))
      .map(({ data }) => (base64 ? Buffer.from(data.toString('latin1', 1), 'base64') : data.subarray(1)))
      .join('');
  }
}

async function dial(protocol: string): Promise<Client> {
  const client = new Client(protocol);
  await once(client.socket, 'open');
  return client;
}

const echo: SessionHandler = async ({ stdin, stdout }) => {
  for await (const chunk of stdin!) stdout!.write(chunk);
  return success;
};

describe('session over WebSocket', () => {
  it('sends what v5 has as vector', async () => {
    // Proves the messages of `echo hi`, their order, and the close code.
    await serve(
      async ({ stdout }) => {
        stdout!.write('hi\n');
        return success;
      },
      { wish: { stdin: false, stdout: true, stderr: true, tty: false } },
    );
    const client = await dial('v5.channel.k8s.io');
    expect(await client.closed).toBe(1000);
    expect(client.hex).toEqual([
      '01',
      '0168690a',
      `03${Buffer.from('{"metadata":{},"status":"Success"}').toString('hex')}`,
    ]);
    expect(client.messages.every(({ binary }) => binary)).toBe(true);
    expect(client.socket.protocol).toBe('v5.channel.k8s.io');
    await server!.over();
  });

  it.each([
    ['', 'raw text'],
    ['channel.k8s.io', 'raw text'],
    ['base64.channel.k8s.io', 'base64 text'],
    ['v4.channel.k8s.io', 'raw object'],
    ['v4.base64.channel.k8s.io', 'base64 object'],
    ['v5.channel.k8s.io', 'raw object'],
  ])('ends each version in its own way: %j', async (protocol, form) => {
    // Proves framing, streams and status of each protocol for an exit code and for a failure.
    let result: SessionResult = { kind: 'exit', code: 7 };
    await serve(async ({ stdout, stderr }) => {
      stdout!.write('out');
      stderr!.write('err');
      return result;
    });
    const exits = await dial(protocol);
    expect(await exits.closed).toBe(1000);
    expect(exits.channel(1)).toBe('out');
    expect(exits.channel(2)).toBe('err');
    expect(exits.messages.every(({ binary }) => binary === form.startsWith('raw'))).toBe(true);
    const text = 'command terminated with non-zero exit code: exit status 7';
    const object =
      '{"metadata":{},"status":"Failure","message":"command terminated with non-zero exit code: exit status 7","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"7"}]}}';
    expect(exits.channel(3)).toBe(form.endsWith('object') ? object : text);
    expect(exits.socket.protocol).toBe(protocol);

    result = { kind: 'success' };
    const succeeds = await dial(protocol);
    expect(await succeeds.closed).toBe(1000);
    expect(succeeds.channel(3)).toBe(form.endsWith('object') ? '{"metadata":{},"status":"Success"}' : '');
  });

  it('tells of failures with the words of their kind', async () => {
    // Proves that a handler that fails or throws becomes an InternalError, for exec and for attach.
    await serve(async () => ({ kind: 'failure', message: 'no such program' }));
    const fails = await dial('v4.channel.k8s.io');
    await fails.closed;
    expect(JSON.parse(fails.channel(3))).toEqual({
      metadata: {},
      status: 'Failure',
      message: 'Internal error occurred: error executing command in container: no such program',
      reason: 'InternalError',
      code: 500,
    });
    await server!.close();

    await serve(() => Promise.reject(new Error('broken')), { kind: 'attach' });
    const throws = await dial('v4.channel.k8s.io');
    expect(await throws.closed).toBe(1000);
    expect(JSON.parse(throws.channel(3)).message).toBe(
      'Internal error occurred: error attaching to container: broken',
    );
  });

  it('begins with an empty message on the lowest output', async () => {
    // Proves the "connected" signal for every set of outputs, in both framings.
    const wishes: [SessionWish, string, string][] = [
      [{ stdin: true, stdout: true, stderr: true, tty: false }, '01', '31'],
      [{ stdin: true, stdout: false, stderr: true, tty: false }, '02', '32'],
      [{ stdin: true, stdout: false, stderr: true, tty: true }, '03', '33'],
      [{ stdin: true, stdout: false, stderr: false, tty: false }, '03', '33'],
    ];
    for (const [wish, raw, digit] of wishes) {
      await serve(async () => success, { wish });
      for (const [protocol, first] of [
        ['v4.channel.k8s.io', raw],
        ['v4.base64.channel.k8s.io', digit],
      ] as const) {
        const client = await dial(protocol);
        await client.closed;
        expect(client.hex[0]).toBe(first);
      }
      await server!.close();
    }
    server = undefined;
  });

  it('gives a session only what was wished for', async () => {
    // Proves that there is no stream that was not asked for, that a terminal has no stderr, and that data for channels
    // that are off, unknown or outputs is ignored.
    let seen: Session | undefined;
    await serve(
      async (session) => {
        seen = session;
        await once(session.stdin!, 'end').catch(() => undefined);
        return success;
      },
      { wish: { stdin: true, stdout: true, stderr: true, tty: true } },
    );
    const client = await dial('v5.channel.k8s.io');
    for (const channel of [1, 2, 3, 9, 254]) client.socket.send(Buffer.from([channel, 65]));
    client.socket.send(Buffer.alloc(0));
    client.socket.send(Buffer.from([0]));
    await until(() => expect(seen).toBeDefined());
    expect([seen!.tty, seen!.stdin, seen!.stdout, seen!.stderr].map(Boolean)).toEqual([
      true,
      true,
      true,
      false,
    ]);
    expect(seen!.stdin!.readableLength).toBe(0);
    seen!.stdin!.resume();
    client.socket.send(Buffer.from([255, 0]));
    expect(await client.closed).toBe(1000);
  });

  it('refuses before the upgrade', async () => {
    // Proves the answers to requests that wish for nothing, speak nothing common, or are no upgrade to anything.
    await serve(echo);
    expect(await server!.answer(webSocketRequest('Sec-WebSocket-Protocol: v3.channel.k8s.io, x'))).toMatch(
      /^HTTP\/1.1 403 Forbidden\r\n[\s\S]*Content-Length: 0\r\n\r\n$/,
    );
    expect(await server!.answer(webSocketRequest().replace('Upgrade: websocket', 'Upgrade: h2c'))).toMatch(
      /^HTTP\/1.1 400 [\s\S]*\r\n\r\nunable to upgrade: missing upgrade headers in request: /,
    );
    expect(await server!.answer(webSocketRequest().replace('GET', 'POST'))).toMatch(/^HTTP\/1.1 405 /);
    await server!.close();
    await serve(echo, { wish: { stdin: false, stdout: false, stderr: true, tty: true } });
    expect(await server!.answer(webSocketRequest())).toMatch(
      /^HTTP\/1.1 400 [\s\S]*\r\n\r\nyou must specify at least 1 of stdin, stdout, stderr$/,
    );
  });

  it('names no protocol when none was offered', async () => {
    // Proves that there is no empty header, which strict clients reject.
    await serve(async () => success);
    const socket = await server!.send(webSocketRequest());
    const [chunk] = (await once(socket, 'data')) as [Buffer];
    expect(chunk.toString('latin1')).toMatch(/^HTTP\/1.1 101 /);
    expect(chunk.toString('latin1').toLowerCase()).not.toContain('sec-websocket-protocol');
    socket.destroy();
  });

  it.each([...rawProtocols, ...textProtocols])('carries stdin to the command: %j', async (protocol) => {
    // Proves that input arrives in order, and that text that is not base64 is dropped.
    const base64 = textProtocols.includes(protocol);
    let got = '';
    await serve(async ({ stdin }) => {
      for await (const chunk of stdin!) {
        got += chunk;
        if (got.endsWith('.')) break;
      }
      return success;
    });
    const client = await dial(protocol);
    for (const word of ['one ', 'two ', 'three.'])
      client.socket.send(base64 ? `0${Buffer.from(word).toString('base64')}` : Buffer.from(`\0${word}`));
    if (base64) client.socket.send('0not base64!');
    expect(await client.closed).toBe(1000);
    expect(got).toBe('one two three.');
  });

  it('closes stdin on the signal of v5', async () => {
    // Proves half close: the command sees the end of its input, and its output still arrives. A second signal, and
    // input after it, are ignored.
    await serve(echo);
    const client = await dial('v5.channel.k8s.io');
    client.socket.send(Buffer.from('\0abc'));
    client.socket.send(Buffer.from('ff00', 'hex'));
    client.socket.send(Buffer.from('ff00', 'hex'));
    client.socket.send(Buffer.from('\0def'));
    expect(await client.closed).toBe(1000);
    expect(client.channel(1)).toBe('abc');
    expect(JSON.parse(client.channel(3)).status).toBe('Success');
  });

  it('takes no close signal before v5', async () => {
    // Proves that channel 255 means nothing to older protocols.
    let ended = false;
    await serve(async ({ stdin, gone }) => {
      stdin!.on('data', () => undefined).on('end', () => (ended = true));
      await once(gone, 'abort');
      return success;
    });
    const client = await dial('v4.channel.k8s.io');
    client.socket.send(Buffer.from('ff00', 'hex'));
    client.socket.ping();
    await once(client.socket, 'pong');
    expect(ended).toBe(false);
    client.socket.close();
    await server!.over();
  });

  it.each(['ff', 'ff0000', 'ff05', 'ffff'])('gives up on a bad close signal: %s', async (signal) => {
    // Proves that the connection ends, that the session is told, and that the client learns of a failure.
    let gone = false;
    await serve(async (session) => {
      await once(session.gone, 'abort');
      gone = true;
      return success;
    });
    const client = await dial('v5.channel.k8s.io');
    client.socket.send(Buffer.from(signal, 'hex'));
    expect(await client.closed).toBe(1000);
    expect(JSON.parse(client.channel(3)).reason).toBe('InternalError');
    expect(gone).toBe(true);
    await server!.over();
  });

  it('tells of terminal sizes, the newest at once', async () => {
    // Proves that sizes reach listeners, also one that comes late, only with a terminal.
    const sizes: TerminalSize[] = [];
    const late: TerminalSize[] = [];
    await serve(
      async (session) => {
        session.onResize((size) => sizes.push(size));
        for await (const _ of session.stdin!) break;
        session.onResize((size) => late.push(size));
        session.onResize(() => {
          throw new Error('a terminal that has ended');
        });
        return success;
      },
      { wish: { stdin: true, stdout: true, stderr: false, tty: true } },
    );
    const client = await dial('v5.channel.k8s.io');
    client.socket.send(Buffer.from('\x04{"Width":101,"Height":31}\n'));
    client.socket.send(Buffer.from('\x04{"Width":100,"Height":30}\n'));
    client.socket.send(Buffer.from('\0go'));
    await client.closed;
    expect(sizes).toEqual([
      { width: 101, height: 31 },
      { width: 100, height: 30 },
    ]);
    expect(late).toEqual([{ width: 100, height: 30 }]);
  });

  it.each(['close', 'terminate'] as const)('tells a session that its client has gone: %s', async (way) => {
    // Proves that `gone` is aborted, stdin ends after what was sent, and outputs take nothing more without an error.
    let got = '';
    const left = vi.fn();
    await serve(async ({ stdin, stdout, gone }) => {
      const abandoned = once(gone, 'abort');
      for await (const chunk of stdin!) got += chunk;
      await abandoned;
      stdout!.write('to nobody');
      left();
      throw new Error('nobody hears this');
    });
    const client = await dial('v4.channel.k8s.io');
    client.socket.send(Buffer.from('\0last words'));
    await until(() => expect(got).toBe('last words'));
    client.socket[way]();
    await server!.over();
    await until(() => expect(left).toHaveBeenCalled());
    await until(() => expect(server!.sockets.size).toBe(0));
  });

  it('stops a command whose client does not read, and loses nothing', async () => {
    // Proves back-pressure out: little is taken from the command until the client reads, and then everything arrives.
    const total = 24 * 1024 * 1024;
    let written = 0;
    await serve(async ({ stdout }) => {
      while (written < total) {
        const chunk = Buffer.alloc(64 * 1024, written / 65536);
        written += chunk.length;
        if (!stdout!.write(chunk)) await once(stdout!, 'drain');
      }
      return success;
    });
    const client = await dial('v5.channel.k8s.io');
    client.socket.pause();
    let before = -1;
    while (before !== written) {
      before = written;
      await sleep(100);
    }
    expect(written).toBeLessThan(total);
    client.socket.resume();
    expect(await client.closed).toBe(1000);
    const out = Buffer.concat(
      client.messages.filter(({ data }) => data[0] === 1).map(({ data }) => data.subarray(1)),
    );
    expect(out.length).toBe(total);
    for (let i = 0; i < total; i += 65536) if (out[i] !== (i / 65536) % 256) expect.fail(`byte ${i}`);
    expect(Math.max(...client.messages.map(({ data }) => data.length))).toBeLessThanOrEqual(32 * 1024);
  });

  it('stops a client whose command does not read, keeps it alive, and loses nothing', async () => {
    // Proves back-pressure in, the pongs that nobody asked for, and that output still arrives meanwhile.
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const total = 24 * 1024 * 1024;
    let go!: () => void;
    const started = new Promise<void>((resolve) => (go = resolve));
    let read = 0;
    await serve(async ({ stdin, stdout }) => {
      stdout!.write('busy');
      await started;
      for await (const chunk of stdin!) read += chunk.length;
      stdout!.write('done');
      return success;
    });
    const client = await dial('v5.channel.k8s.io');
    for (let i = 0; i < total; i += 65536) client.socket.send(Buffer.alloc(65537));
    client.socket.send(Buffer.from('ff00', 'hex'));
    let before = -1;
    while (before !== client.socket.bufferedAmount) {
      before = client.socket.bufferedAmount;
      await sleep(100);
    }
    expect(before).toBeGreaterThan(total / 4);
    expect(client.channel(1)).toBe('busy');
    const pong = once(client.socket, 'pong');
    vi.advanceTimersByTime(15_000);
    await pong;
    go();
    expect(await client.closed).toBe(1000);
    expect(read).toBe((total / 65536) * 65536);
    expect(client.channel(1)).toBe('busydone');
  });

  it('ends a session whose command leaves its input unread', async () => {
    // Proves that a stalled connection is read again for its close.
    await serve(async ({ stdin }) => {
      await until(() => expect(stdin!.readableLength).toBeGreaterThan(60_000));
      return { kind: 'exit', code: 3 };
    });
    const client = await dial('v5.channel.k8s.io');
    for (let i = 0; i < 100; i++) client.socket.send(Buffer.alloc(65537));
    expect(await client.closed).toBe(1000);
    expect(JSON.parse(client.channel(3)).details.causes[0].message).toBe('3');
    await server!.over();
  });

  it('ends idle sessions with a failure', async () => {
    // Proves the idle limit, that pings count as traffic, and that the client is told.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    await serve(({ gone }) => once(gone, 'abort').then(() => success), { idleMs: 300 });
    const client = await dial('v4.channel.k8s.io');
    for (let i = 0; i < 4; i++) {
      vi.advanceTimersByTime(200);
      client.socket.ping();
      await once(client.socket, 'pong');
    }
    expect(client.hex).toEqual(['01']);
    vi.advanceTimersByTime(400);
    expect(await client.closed).toBe(1000);
    expect(JSON.parse(client.channel(3)).message).toMatch(/idle/);
  });

  it('ends with the pod, with a failure', async () => {
    // Proves that nobody takes a session that was cut short for a success.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const ended = new AbortController();
    await serve(({ gone }) => once(gone, 'abort').then(() => success), { ended: ended.signal });
    const client = await dial('v5.channel.k8s.io');
    ended.abort();
    vi.advanceTimersByTime(2_000);
    expect(await client.closed).toBe(1000);
    expect(JSON.parse(client.channel(3)).message).toMatch(/the pod has ended$/);
    await server!.over();
  });

  it('tells how a command ended that ended with its pod', async () => {
    // Proves that the end of the pod does not hide the result of what ran in it.
    const ended = new AbortController();
    await serve(() => once(ended.signal, 'abort').then(() => sleep(50, { kind: 'exit', code: 137 })), {
      ended: ended.signal,
    });
    const client = await dial('v5.channel.k8s.io');
    await until(() => expect(client.hex).toEqual(['01']));
    ended.abort();
    expect(await client.closed).toBe(1000);
    expect(JSON.parse(client.channel(3)).details.causes[0].message).toBe('137');
    await server!.over();
  });

  it('notices that its client has gone, though its command never waits', async () => {
    // Proves that a command that always has more to write does not keep the process busy.
    const chunk = Buffer.alloc(65536);
    await serve(async ({ stdout, gone }) => {
      while (!gone.aborted) if (!stdout!.write(chunk)) await once(stdout!, 'drain', { signal: gone });
      return success;
    });
    const client = await dial('v5.channel.k8s.io');
    await until(() => expect(client.messages.length).toBeGreaterThan(100));
    client.socket.terminate();
    await server!.over();
  });

  it('survives hostile messages and frames', async () => {
    // Proves that no message and no bytes crash the server, and that it serves on.
    await serve(async ({ stdin, gone }) => {
      stdin!.resume();
      await once(gone, 'abort');
      return success;
    });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...rawProtocols, ...textProtocols),
        fc.array(fc.oneof(fc.uint8Array({ maxLength: 300 }), fc.string()), { maxLength: 20 }),
        fc.uint8Array({ maxLength: 200 }),
        async (protocol, messages, bytes) => {
          const client = await dial(protocol);
          for (const message of messages) client.socket.send(message);
          client.socket.terminate();
          const socket = await server!.send(webSocketRequest());
          socket.end(bytes);
          socket.resume();
          await once(socket, 'close');
        },
      ),
      { numRuns: 100 },
    );
    await server!.over();
    await until(() => expect(server!.sockets.size).toBe(0));
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

describe('client-node', () => {
  const config = () => {
    const kubeConfig = new KubeConfig();
    kubeConfig.loadFromClusterAndUser(
      { name: 'c', server: server!.url('').replace('ws:', 'http:'), skipTLSVerify: true },
      { name: 'u' },
    );
    return kubeConfig;
  };

  it('execs with input, output and exit code', async () => {
    // Proves that the real client is served: v5 is chosen, half close works, and the status is understood.
    await serve(async ({ stdin, stdout, stderr }) => {
      for await (const chunk of stdin!) stdout!.write(chunk);
      stderr!.write('err');
      return { kind: 'exit', code: 7 };
    });
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
    let out = '';
    let err = '';
    stdout.on('data', (chunk) => (out += chunk));
    stderr.on('data', (chunk) => (err += chunk));
    const status = new Promise<V1Status>((resolve) => {
      void new Exec(config()).exec('ns', 'pod', 'c', ['cat'], stdout, stderr, stdin, false, resolve);
    });
    stdin.end('hello');
    expect((await status).details?.causes?.[0]).toEqual({ reason: 'ExitCode', message: '7' });
    expect([out, err]).toEqual(['hello', 'err']);
    await server!.over();
  });

  it('attaches with a terminal', async () => {
    // Proves that its sizes, which have no newline, are understood.
    const sizes: TerminalSize[] = [];
    await serve(
      async (session) => {
        await new Promise<void>((resolve) =>
          session.onResize((size) => {
            sizes.push(size);
            resolve();
          }),
        );
        session.stdout!.write('hello');
        return success;
      },
      { kind: 'attach', wish: { stdin: false, stdout: true, stderr: false, tty: true } },
    );
    const stdout = Object.assign(new PassThrough(), { rows: 24, columns: 80 });
    let out = '';
    stdout.on('data', (chunk) => (out += chunk));
    const socket = await new Attach(config()).attach('ns', 'pod', 'c', stdout, null, null, true);
    await once(socket as unknown as WebSocket, 'close');
    expect(sizes).toEqual([{ width: 80, height: 24 }]);
    expect(out).toBe('hello');
  });
});
