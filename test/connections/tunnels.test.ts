/** Proves that upgrades reach a node's kubelet API with rewritten headers, carry bytes, and leave nothing open. */
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { WebSocket } from 'ws';
import { start } from '../../src/cluster/index.ts';
import type { Client } from '../support/http.ts';
import { Kubelet, nodeAt, podOn } from '../support/kubelet.ts';
import { head, parseReplies, readToEnd, Target, useTarget, webSocketHead } from '../support/target.ts';

const target = useTarget();
const pods = '/api/v1/namespaces/default/pods';
let kubelet: Kubelet;

async function prepare(client: Client, foreign: Kubelet): Promise<void> {
  await client.post('/api/v1/nodes', nodeAt('n1', foreign.port));
  const modern = { declaredFeatures: ['ExtendWebSocketsToKubelet'] };
  await client.post('/api/v1/nodes', nodeAt('n2', foreign.port, modern));
  await client.post(pods, podOn('p', 'n1'));
  await client.post(pods, podOn('modern', 'n2'));
}

beforeAll(async () => {
  kubelet = await Kubelet.start(target);
  await prepare(target, kubelet);
});
afterAll(() => kubelet?.close());

const spdy = (path: string, ...headers: string[]): string =>
  head(`POST ${path}`, 'Connection: Upgrade', 'Upgrade: SPDY/3.1', 'Content-Length: 0', ...headers);

/** Reads until the text has arrived; the socket keeps flowing. */
function until(socket: Socket, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let seen = '';
    const done = (act: () => void): void => {
      socket.off('data', onData).off('close', onClose);
      act();
    };
    const onData = (chunk: Buffer): void => {
      seen += chunk.toString('latin1');
      if (seen.includes(text)) done(() => resolve(seen));
    };
    const onClose = (): void => done(() => reject(new Error(`closed after ${seen}`)));
    socket.on('data', onData).on('close', onClose);
  });
}

const last = () => kubelet.seen.at(-1)!;
const valuesOf = (name: string): string[] =>
  last().rawHeaders.filter((_, i) => i % 2 === 1 && last().rawHeaders[i - 1]!.toLowerCase() === name);

describe('an upgrade', () => {
  it.each([
    ['p/exec?stdout=1&command=ls&command=a%20b', '/exec/default/p/main?command=ls&command=a%20b&output=1'],
    ['p/exec?stdin=true', '/exec/default/p/main?input=1'],
    ['p/attach?stdin=1&stdout=1&tty=true&command=x', '/attach/default/p/main?input=1&output=1&tty=1'],
    ['p/attach', '/attach/default/p/main?error=1&output=1'],
    ['p/portforward', '/portForward/default/p'],
    ['p/portforward?ports=80&ports=443', '/portForward/default/p?port=80,443'],
  ])('of %s goes to %s', async (path, expected) => {
    kubelet.echo();
    const socket = target.dial();
    socket.write(spdy(`${pods}/${path}`));
    await until(socket, 'ready');
    socket.destroy();
    expect(last()).toMatchObject({ method: 'POST', url: expected });
  });

  it('keeps its headers, but no credentials and no claims', async () => {
    kubelet.echo();
    const socket = target.dial();
    socket.write(
      webSocketHead(
        `${pods}/modern/exec`,
        'Authorization: Bearer secret',
        'Impersonate-User: root',
        'X-Remote-Group: system:masters',
        'X-Stream-Protocol-Version: v4.channel.k8s.io',
        'X-Stream-Protocol-Version: channel.k8s.io',
        'X-Forwarded-For: 9.9.9.9',
        'Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.c2VjcmV0, v5.channel.k8s.io',
        'Expect: 100-continue',
        'Kubectl-Command: kubectl exec',
      ),
    );
    await until(socket, 'ready');
    socket.destroy();
    expect(last()).toMatchObject({ method: 'GET', url: '/exec/default/modern/main?error=1&output=1' });
    expect(last().rawHeaders.join('\n')).not.toMatch(
      /authorization|impersonate|x-remote|c2VjcmV0|secret|expect|bearer/i,
    );
    expect(valuesOf('x-stream-protocol-version')).toEqual(['v4.channel.k8s.io', 'channel.k8s.io']);
    expect(valuesOf('sec-websocket-protocol')).toEqual(['v5.channel.k8s.io']);
    expect(valuesOf('x-forwarded-for')).toEqual(['9.9.9.9, 127.0.0.1']);
    expect(valuesOf('host')).toEqual(['localhost']);
    expect(valuesOf('kubectl-command')).toEqual(['kubectl exec']);
  });

  it('waits for answers to what was asked before it on the same connection', async () => {
    kubelet.echo();
    const socket = target.dial();
    kubelet.onRequest = (_request, response) => void setTimeout(() => response.end('a slow log'), 200);
    socket.write(head(`GET ${pods}/p/log`) + spdy(`${pods}/p/exec`));
    const said = await until(socket, '\r\n\r\nready');
    expect(said).toContain('a slow log');
    expect(said.indexOf('a slow log')).toBeLessThan(said.indexOf('101 Switching'));
    socket.destroy();
  });

  it('carries much in both directions at once', async () => {
    kubelet.echo();
    const socket = target.dial();
    socket.write(spdy(`${pods}/p/exec`));
    await until(socket, 'ready');
    const total = 16 << 20;
    let seen = 0;
    const all = new Promise<void>((resolve) => {
      socket.on('data', (chunk: Buffer) => {
        seen += chunk.length;
        if (seen >= total) resolve();
      });
    });
    socket.write(Buffer.alloc(total, 'z'));
    await all;
    expect(seen).toBe(total);
    socket.destroy();
  });

  it('of a WebSocket works with a real client', async () => {
    const { acceptWebSocket } = await import('../../src/streams/websocket/websocket-upgrade.ts');
    kubelet.onUpgrade = (request, socket, rest) => {
      const webSocket = acceptWebSocket(request, socket, rest, 'v4.channel.k8s.io')!;
      webSocket.on('message', (message: Buffer) => webSocket.send(message));
    };
    const url = `${target.url.replace('http', 'ws')}${pods}/p/exec?stdout=1&stdin=1`;
    const client = new WebSocket(url, ['v4.channel.k8s.io']);
    await once(client, 'open');
    client.send(Buffer.from([0, 104, 105]));
    expect((await once(client, 'message'))[0]).toEqual(Buffer.from([0, 104, 105]));
    client.close(1000);
    await once(client, 'close');
  });
});

describe('a kubelet that does not agree', () => {
  it.each([
    [
      'a success that is none',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
      'invalid upgrade response: status code 200',
    ],
    [
      'a redirect',
      'HTTP/1.1 307 Temporary Redirect\r\nLocation: https://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n',
      'invalid upgrade response: status code 307',
    ],
    [
      'a huge head',
      `HTTP/1.1 101 Switching Protocols\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`,
      'net/http: server response headers exceeded the limit; aborted',
    ],
  ])('but sends %s: the client is told, and both are closed', async (_what, answer, message) => {
    kubelet.say(answer);
    const before = kubelet.seen.length;
    const socket = target.dial();
    // If the connection stayed open, the second request would reach the kubelet with the server's identity.
    socket.write(spdy(`${pods}/p/exec`) + head('GET /pods'));
    const replies = parseReplies(await readToEnd(socket));
    expect(replies).toHaveLength(1);
    expect(replies[0]!.body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      code: 500,
    });
    expect(kubelet.seen).toHaveLength(before + 1);
    await emptied();
  });

  it('but refuses: its answer is passed on as it is, and both are closed', async () => {
    kubelet.say(
      'HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nX-Accepted-Stream-Protocol-Versions: v4\r\nContent-Length: 2\r\n\r\nno',
    );
    const before = kubelet.seen.length;
    const socket = target.dial();
    socket.write(spdy(`${pods}/p/exec`) + head('GET /pods'));
    const [reply, ...more] = parseReplies(await readToEnd(socket));
    expect(more).toEqual([]);
    expect(reply).toMatchObject({ status: 403, body: 'no' });
    expect(reply!.headers.get('x-accepted-stream-protocol-versions')).toBe('v4');
    expect(reply!.headers.get('content-type')).toBe('text/plain');
    expect(kubelet.seen).toHaveLength(before + 1);
    await emptied();
  });
});

/** Resolves when the kubelet has no open connection. */
async function emptied(): Promise<void> {
  const deadline = Date.now() + 60_000;
  while (kubelet.connections > 0) {
    if (Date.now() > deadline) throw new Error(`${kubelet.connections} connections are left`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe('when somebody leaves', () => {
  it('a client that is gone takes the kubelet connection with it', async () => {
    await emptied();
    kubelet.echo();
    const socket = target.dial();
    socket.write(spdy(`${pods}/p/exec`));
    await until(socket, 'ready');
    expect(kubelet.connections).toBe(1);
    socket.resetAndDestroy();
    await emptied();
  });

  it('a server that closes cuts tunnels at once', async () => {
    const cluster = await start({ store: 'memory', controllers: false });
    const other = new Target();
    other.cluster = cluster;
    const foreign = await Kubelet.start(other);
    await prepare(other, foreign);
    foreign.echo();
    const socket = other.dial();
    socket.on('error', () => undefined);
    socket.write(spdy(`${pods}/p/exec`));
    await until(socket, 'ready');
    // One whose tunnel is not established yet.
    foreign.onUpgrade = (_request, stuck) => void stuck.resume();
    const waiting = other.dial();
    waiting.on('error', () => undefined);
    waiting.write(spdy(`${pods}/p/exec`));
    while (foreign.seen.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
    // Without timers, so that closing cannot wait for the end of a time limit.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const closed = Promise.all([once(socket.resume(), 'close'), once(waiting.resume(), 'close')]);
    socket.on('end', () => socket.end());
    waiting.on('end', () => waiting.end());
    await cluster.close();
    await closed;
    await foreign.close();
  });
});
