/** The serving side of exec and attach: its refusals, and a real client. */
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { Attach, Exec, KubeConfig, type V1Status } from '@kubernetes/client-node';
import { describe, expect, it } from 'vitest';
import type { WebSocket } from 'ws';
import { server, webSocketRequest } from '../dial/upgrade-server.fixture.ts';
import { echo, serve, success } from '../session/session.fixture.ts';
import type { TerminalSize } from '../session/session.ts';

describe('session over WebSocket', () => {
  it('refuses before the upgrade', async () => {
    // Proves the answers to requests without streams, without a common protocol, or without a valid upgrade.
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
    // Proves that the real client works: v5 is chosen, half close works, and it parses the status.
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
    // Proves that its sizes, which have no newline, are parsed.
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
