import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { memoryPipe } from '../bytes/memory-pipe.ts';
import { closed } from './spdy.fixture.ts';
import { upgradeToSpdy } from './spdy-upgrade.ts';

const request = {
  method: 'POST',
  path: '/exec/default/web/main?command=ls&output=1',
  headers: [
    ['User-Agent', 'wherry'],
    ['X-Stream-Protocol-Version', 'not this one'],
  ] as [string, string][],
  protocols: ['v5.channel.k8s.io', 'v4.channel.k8s.io'],
};

/** A kubelet that reads a request's head, writes the answer, and records requests and connections. */
async function kubelet(answer: (socket: Socket) => void) {
  const asked: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    let text = '';
    socket
      .on('error', () => {})
      .on('data', (chunk) => {
        text += chunk.toString('latin1');
        if (!text.includes('\r\n\r\n')) return;
        asked.push(text);
        text = '';
        answer(socket);
      });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const dial = async (): Promise<Duplex> => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    await once(socket, 'connect');
    return socket;
  };
  return { asked, sockets, dial };
}

const switching =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: spdy/3.1\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n';

describe('an upgrade to SPDY', () => {
  it('is asked for with one line per protocol, and hands over the socket with what came behind the answer', async () => {
    // Proves the exact request, and that no byte after the head is lost.
    const { dial, asked, sockets } = await kubelet((socket) => socket.write(`${switching}first bytes`));
    const answer = await upgradeToSpdy(dial, request);
    if ('refused' in answer) throw new Error('refused');
    expect(asked).toEqual([
      [
        'POST /exec/default/web/main?command=ls&output=1 HTTP/1.1',
        'Host: kubelet',
        'User-Agent: wherry',
        'Connection: Upgrade',
        'Upgrade: SPDY/3.1',
        'Content-Length: 0',
        'X-Stream-Protocol-Version: v5.channel.k8s.io',
        'X-Stream-Protocol-Version: v4.channel.k8s.io',
        '\r\n',
      ].join('\r\n'),
    ]);
    expect(answer.protocol).toBe('v4.channel.k8s.io');
    expect(answer.head.toString()).toBe('first bytes');
    sockets[0]!.removeAllListeners('data');
    sockets[0]!.write('more');
    expect(String((await once(answer.socket, 'data'))[0])).toBe('more');
    answer.socket.write('and back');
    expect(String((await once(sockets[0]!.resume(), 'data'))[0])).toBe('and back');
    answer.socket.destroy();
  });

  it('works through memory', async () => {
    // Proves that a kubelet in the same process can be asked.
    const [ours, theirs] = memoryPipe();
    theirs.once('data', () => theirs.write(switching));
    const answer = await upgradeToSpdy(async () => ours, request);
    expect(answer).toMatchObject({ protocol: 'v4.channel.k8s.io', socket: ours });
    ours.destroy();
  });

  it.each([
    [
      'an error',
      'HTTP/1.1 403 Forbidden\r\nX-One: 1\r\nX-One: 2\r\nContent-Length: 6\r\n\r\ndenied',
      403,
      'denied',
    ],
    [
      'a chunked error',
      'HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n4\r\noops\r\n0\r\n\r\n',
      500,
      'oops',
    ],
    [
      'an error that ends with the connection',
      'HTTP/1.1 404 No\r\n\r\npod does not exist',
      404,
      'pod does not exist',
    ],
    ['a success', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok', 200, 'ok'],
    [
      'a redirect',
      'HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n',
      302,
      '',
    ],
    ['too much', `HTTP/1.1 500 No\r\n\r\n${'x'.repeat(200_000)}`, 500, 'x'.repeat(50_000)],
  ])(
    'that is answered with %s is refused, and the connection closed',
    async (_name, text, statusCode, body) => {
      // Proves that any other answer is returned, redirects included, and that the connection is closed.
      const { dial, asked, sockets } = await kubelet((socket) => {
        socket.write(text);
        if (!/Content-Length|chunked/.test(text)) socket.end();
      });
      const answer = await upgradeToSpdy(dial, request);
      if (!('refused' in answer)) throw new Error('not refused');
      expect(answer.refused.statusCode).toBe(statusCode);
      expect(answer.refused.body.toString()).toBe(body);
      if (statusCode === 403) {
        const repeated = answer.refused.headers.filter(([name]) => name === 'X-One');
        expect(repeated.map(([, value]) => value)).toEqual(['1', '2']);
      }
      await closed(sockets[0]!);
      expect(asked).toHaveLength(1);
    },
  );

  it.each([
    ['another protocol', 'HTTP/1.1 101 Yes\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n', /not SPDY/],
    ['no protocol', 'HTTP/1.1 101 Yes\r\n\r\n', /invalid upgrade response: status code 101/],
    ['no HTTP', 'hello, who is there?\r\n\r\n', /malformed HTTP response/],
    ['an endless head', `HTTP/1.1 101 Yes\r\nX: ${'x'.repeat(70_000)}`, /exceeded the limit/],
    ['nothing', '', /unexpected EOF/],
  ])('that is answered with %s fails, and the connection is closed', async (_name, text, message) => {
    // Proves that malformed answers are errors.
    const { dial, sockets } = await kubelet((socket) => (text === '' ? socket.end() : socket.write(text)));
    await expect(upgradeToSpdy(dial, request)).rejects.toThrow(message);
    await closed(sockets[0]!);
  });

  it('gives up when it is told so, and passes a failed dial on', async () => {
    // Proves that the request can be aborted while the kubelet does not answer.
    const leaving = new AbortController();
    const { dial, sockets } = await kubelet(() => leaving.abort());
    await expect(upgradeToSpdy(dial, request, leaving.signal)).rejects.toThrow('context canceled');
    await closed(sockets[0]!);
    const refused = () => Promise.reject(new Error('dial tcp 10.0.0.1:10250: connect: connection refused'));
    await expect(upgradeToSpdy(refused, request)).rejects.toThrow(
      'dial tcp 10.0.0.1:10250: connect: connection refused',
    );
  });
});
