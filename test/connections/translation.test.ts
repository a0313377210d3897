/** Proves that current WebSocket clients reach a kubelet that speaks only SPDY, and get its errors. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { serveSession } from '../../src/streams/serving/session-server.ts';
import type { Session, SessionResult } from '../../src/streams/session/session.ts';
import { Kubelet, nodeAt, podOn } from '../support/kubelet.ts';
import { parseReplies, readToEnd, useTarget, webSocketHead } from '../support/target.ts';

const target = useTarget();
const pods = '/api/v1/namespaces/default/pods';
let kubelet: Kubelet;

beforeAll(async () => {
  kubelet = await Kubelet.start(target);
  await target.post('/api/v1/nodes', nodeAt('n1', kubelet.port));
  await target.post('/api/v1/nodes', nodeAt('dead', 1));
  await target.post(pods, podOn('p', 'n1'));
  await target.post(pods, podOn('dead', 'dead'));
});
afterAll(() => kubelet?.close());

/** Serves sessions over SPDY with a handler. */
function serves(handler: (session: Session) => Promise<SessionResult>): void {
  kubelet.onUpgrade = (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const query = new URL(request.url!, 'https://k').searchParams;
    const is = (name: string): boolean => query.get(name) === '1';
    const wish = { stdin: is('input'), stdout: is('output'), stderr: is('error'), tty: is('tty') };
    void serveSession(request, socket, head, { kind: 'exec', wish, handler });
  };
}

const dial = (path: string) =>
  new WebSocket(`${target.url.replace('http', 'ws')}${pods}/${path}`, [
    'v5.channel.k8s.io',
    'v4.channel.k8s.io',
  ]);

/** All output of a session by channel, and how it ended. */
async function listen(client: WebSocket): Promise<{ code: number; said: Map<number, string> }> {
  const said = new Map<number, string>();
  client.on('message', (data: Buffer) => {
    if (data.length > 1) said.set(data[0]!, (said.get(data[0]!) ?? '') + data.subarray(1).toString());
  });
  const [code] = await once(client, 'close');
  return { code, said };
}

describe('a session of a v5 client', () => {
  it('is run over SPDY, with its input, its end of input, and both outputs', async () => {
    serves(async ({ stdin, stdout, stderr }) => {
      let text = '';
      for await (const chunk of stdin!) text += chunk;
      stdout!.write(`got ${text}`);
      stderr!.write('and done');
      return { kind: 'exit', code: 7 };
    });
    const client = dial('p/exec?stdin=1&stdout=1&stderr=1&command=cat');
    const over = listen(client);
    await once(client, 'open');
    expect(client.protocol).toBe('v5.channel.k8s.io');
    client.send(Buffer.from('\0hello'));
    client.send(Buffer.from([255, 0]));
    const { code, said } = await over;
    expect(code).toBe(1000);
    expect(said.get(1)).toBe('got hello');
    expect(said.get(2)).toBe('and done');
    expect(JSON.parse(said.get(3)!)).toMatchObject({
      status: 'Failure',
      reason: 'NonZeroExitCode',
      message: 'command terminated with non-zero exit code: command terminated with exit code 7',
      details: { causes: [{ reason: 'ExitCode', message: '7' }] },
    });
    const seen = kubelet.seen.at(-1)!;
    expect(seen).toMatchObject({
      method: 'POST',
      url: '/exec/default/p/main?command=cat&error=1&input=1&output=1',
    });
    expect(seen.rawHeaders.join(' ')).not.toMatch(/sec-websocket/i);
  });

  it('of a kubelet that refuses, or is not there, ends with a status inside the WebSocket', async () => {
    kubelet.say('HTTP/1.1 500 Oops\r\nContent-Length: 19\r\n\r\ncontainer not found');
    const refused = await listen(dial('p/exec?stdout=1'));
    expect(refused.code).toBe(1000);
    expect(JSON.parse(refused.said.get(3)!)).toMatchObject({
      reason: 'InternalError',
      code: 500,
      message: 'Internal error occurred: unable to upgrade connection: container not found',
    });
    const dead = await listen(dial('dead/attach?stdout=1'));
    expect(JSON.parse(dead.said.get(3)!).message).toBe(
      'Internal error occurred: error sending request: Post "https://127.0.0.1:1/attach/default/dead/main?output=1": dial tcp 127.0.0.1:1: connect: connection refused',
    );
  });
});

describe('a port-forward inside a WebSocket', () => {
  const ask = (...headers: string[]) =>
    webSocketHead(`${pods}/p/portforward`, 'Sec-WebSocket-Protocol: SPDY/3.1+portforward.k8s.io', ...headers);

  it('becomes a SPDY connection, whose bytes are the payload of messages', async () => {
    kubelet.onUpgrade = (_request, socket) => {
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: portforward.k8s.io\r\n\r\n',
      );
      socket.pipe(socket);
    };
    const socket = target.dial();
    let said = Buffer.alloc(0);
    const has = (text: Buffer | string) =>
      new Promise<void>((resolve) => {
        const look = (chunk: Buffer): void => {
          said = Buffer.concat([said, chunk]);
          if (said.includes(text)) {
            socket.off('data', look);
            resolve();
          }
        };
        socket.on('data', look);
      });
    socket.write(ask());
    await has('\r\n\r\n');
    expect(said.toString('latin1')).toMatch(/^HTTP\/1\.1 101 /);
    expect(said.toString('latin1')).toMatch(/^sec-websocket-protocol: SPDY\/3\.1\+portforward\.k8s\.io\r$/im);
    // A binary message with a zero mask.
    socket.write(Buffer.from([0x82, 0x83, 0, 0, 0, 0, 1, 2, 3]));
    await has(Buffer.from([0x82, 3, 1, 2, 3]));
    const seen = kubelet.seen.at(-1)!;
    expect(seen).toMatchObject({ method: 'POST', url: '/portForward/default/p' });
    const lines = seen.rawHeaders.join('\n').toLowerCase();
    expect(lines).toContain('x-stream-protocol-version\nportforward.k8s.io');
    expect(lines).not.toContain('sec-websocket');
    socket.destroy();
  });

  it('that the kubelet refuses is refused with its answer', async () => {
    kubelet.say(
      'HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 18\r\n\r\npod does not exist',
    );
    const socket = target.dial();
    socket.write(ask());
    const [reply] = parseReplies(await readToEnd(socket));
    expect(reply).toMatchObject({ status: 404, body: 'pod does not exist' });
    expect(reply!.headers.get('content-type')).toBe('text/plain');
  });
});
