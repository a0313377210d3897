/** A session over a WebSocket: channels, framing, close signals, and back-pressure. */
import { once } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { standstill } from '../bytes/standstill.fixture.ts';
import { server, until, webSocketRequest } from '../dial/upgrade-server.fixture.ts';
import { dial, echo, rawProtocols, serve, success, textProtocols } from '../session/session.fixture.ts';
import type { Session, SessionResult, SessionWish } from '../session/session.ts';

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
  });

  it('gives a session only what was wished for', async () => {
    // Proves that only requested streams exist, that a terminal has no stderr, and that data for disabled,
    // unknown or output channels is ignored.
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
    // Proves that the connection ends, that the session is aborted, and that the client gets a failure.
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

  it('stops a client whose command does not read, keeps it alive, and loses nothing', async () => {
    // Proves back-pressure of the input, unsolicited pongs, and that output still arrives meanwhile.
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
    expect(await standstill(() => client.socket.bufferedAmount)).toBeGreaterThan(total / 4);
    await until(() => expect(client.channel(1)).toBe('busy'));
    const pong = once(client.socket, 'pong');
    vi.advanceTimersByTime(15_000);
    await pong;
    go();
    expect(await client.closed).toBe(1000);
    expect(read).toBe((total / 65536) * 65536);
    expect(client.channel(1)).toBe('busydone');
  });

  it('survives hostile messages and frames', async () => {
    // Proves that no message and no bytes crash the server, and that it continues to serve.
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
});
