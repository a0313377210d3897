/** A running session over a WebSocket: terminal sizes, clients that disconnect, and its end. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { server, until } from '../dial/upgrade-server.fixture.ts';
import { dial, Survivor, serve, success } from './session.fixture.ts';
import type { TerminalSize } from './session.ts';

describe('session over WebSocket', () => {
  it('tells of failures with the words of their kind', async () => {
    // Proves that a handler that fails or throws becomes an InternalError, for exec and attach.
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

  it('tells of terminal sizes, the newest at once', async () => {
    // Proves that sizes reach listeners, also one added late, and only with a terminal.
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
    // Proves that `gone` is aborted, stdin ends after the data sent, and outputs drop data without an error.
    const survivor = new Survivor();
    await serve(survivor.handler);
    const client = await dial('v4.channel.k8s.io');
    client.socket.send(Buffer.from('\0last words'));
    await until(() => expect(survivor.got).toBe('last words'));
    client.socket[way]();
    await server!.over();
    await until(() => expect(survivor.left).toBe(true));
    await until(() => expect(server!.sockets.size).toBe(0));
  });

  it('ends a session whose command leaves its input unread', async () => {
    // Proves that a paused connection is read again to see its close.
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

  it('ends with the pod, with a failure', async () => {
    // Proves that a session that was cut short is reported as a failure.
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
    // Proves that the end of the pod does not hide the result of the command.
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
    // Proves that a command with endless output does not block the event loop.
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
});
