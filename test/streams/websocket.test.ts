/** Proves that pods are reached over WebSockets, with every subprotocol that clients use. */
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { Duplex, type Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { SpdyConnection } from '../../src/streams/spdy/spdy-connection.ts';
import { megabyte, Noise, sumUp } from './bytes.ts';
import { Channels } from './channels.ts';
import { portServer, unusedPort } from './port-server.ts';
import { podOf, podsPath, shell, useRunningCluster, withFolder } from './running.ts';

const cluster = useRunningCluster();
let port = 0;

beforeAll(async () => {
  await Promise.all([
    cluster.run(withFolder(cluster.folder, podOf('one', shell('exec sleep 1000')))),
    cluster.run(podOf('server', portServer())),
  ]);
  const log = await cluster.client.get(`${podsPath}/server/log?follow=true&limitBytes=10`);
  port = Number(/port (\d+)/.exec(log.text)![1]);
});

function exec(options: string, command: string[], protocol?: string): Promise<Channels> {
  const words = command.map((word) => `&command=${encodeURIComponent(word)}`).join('');
  return Channels.open(cluster.client, `${podsPath}/one/exec?${options}${words}`, protocol);
}

describe('a command', () => {
  const script = ['sh', '-c', 'echo out; echo err >&2; exit 7'];
  const status = {
    metadata: {},
    status: 'Failure',
    message: 'command terminated with non-zero exit code: exit status 7',
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: '7' }] },
  };

  it.each(['v5.channel.k8s.io', 'v4.channel.k8s.io', 'v4.base64.channel.k8s.io'])(
    'over %s has outputs, and a status as an object',
    async (protocol) => {
      const channels = await exec('stdout=true&stderr=true', script, protocol);
      expect(channels.protocol).toBe(protocol);
      const said = [1, 2, 3].map((channel) => text(channels.on(channel)));
      expect(await channels.closed).toBe(1000);
      const [out, err, end] = await Promise.all(said);
      expect([out, err, JSON.parse(end!)]).toEqual(['out\n', 'err\n', status]);
    },
  );

  it.each([undefined, 'channel.k8s.io', 'base64.channel.k8s.io'])(
    'over %s has outputs, and failures as text',
    async (protocol) => {
      for (const [command, failure] of [
        [script, status.message],
        [['sh', '-c', 'echo out; echo err >&2'], ''],
      ] as const) {
        const channels = await exec('stdout=true&stderr=true', [...command], protocol);
        expect(channels.protocol).toBe(protocol ?? '');
        const said = [1, 2, 3].map((channel) => text(channels.on(channel)));
        expect(await channels.closed).toBe(1000);
        expect(await Promise.all(said)).toEqual(['out\n', 'err\n', failure]);
      }
    },
  );

  it('of which nothing is said has both outputs', async () => {
    const channels = await exec('', script, 'v4.channel.k8s.io');
    const said = [1, 2].map((channel) => text(channels.on(channel)));
    expect(await Promise.all(said)).toEqual(['out\n', 'err\n']);
  });

  it('takes 32 MB in and out at once over v5, and the end of its input', async () => {
    const channels = await exec('stdin=true&stdout=true', ['cat'], 'v5.channel.k8s.io');
    const sum = sumUp(channels.on(1));
    const noise = new Noise(32 * megabyte);
    for await (const chunk of noise) await channels.send(0, chunk);
    await channels.end(0);
    expect(await channels.closed).toBe(1000);
    expect(await sum).toEqual(noise.sum);
  });

  it('that never reads its input still says what it has to say', async () => {
    const command = [
      'sh',
      '-c',
      'echo begin; while [ ! -e "$0" ]; do sleep 0.05; done; echo end',
      `${cluster.folder}/go`,
    ];
    const channels = await exec('stdin=true&stdout=true', command, 'v5.channel.k8s.io');
    const said = text(channels.on(1));
    await once(channels.socket, 'message');
    const chunk = Buffer.alloc(megabyte);
    for (let sent = 0; sent < 32; sent++) channels.send(0, chunk).catch(() => undefined);
    await writeFile(`${cluster.folder}/go`, '');
    expect(await channels.closed).toBe(1000);
    expect(await said).toBe('begin\nend\n');
  });

  it('has a terminal with a size', async () => {
    const channels = await exec('stdin=true&stdout=true&tty=true', ['sh'], 'v4.channel.k8s.io');
    let seen = '';
    channels.on(1).on('data', (chunk) => {
      seen += chunk;
    });
    await channels.send(4, '{"Width":93,"Height":27}');
    await expect
      .poll(async () => {
        await channels.send(0, 'stty size\r');
        return seen;
      })
      .toContain('\n27 93\r\n');
    await channels.send(0, 'exit 3\r');
    expect(await channels.closed).toBe(1000);
    expect(JSON.parse(await text(channels.on(3)))).toMatchObject({
      details: { causes: [{ reason: 'ExitCode', message: '3' }] },
    });
  });

  it('over a protocol that nobody knows is refused', async () => {
    await expect(exec('stdout=true', ['true'], 'v6.channel.k8s.io')).rejects.toThrow('403');
  });
});

it('a container is attached to, and left', async () => {
  const script = 'while read -r word; do echo "heard $word"; [ $word = end ] && exit 0; done';
  await cluster.run(podOf('talk', shell(script, { stdin: true }), { restartPolicy: 'Never' }));
  const attach = () =>
    Channels.open(cluster.client, `${podsPath}/talk/attach?stdin=true&stdout=true`, 'v4.channel.k8s.io');
  const first = await attach();
  await first.send(0, 'one\n');
  await once(first.on(1), 'data');
  first.socket.close(1000);
  await first.closed;
  const second = await attach();
  const said = text(second.on(1));
  await second.send(0, 'two\nend\n');
  expect(await second.closed).toBe(1000);
  expect(await said).toBe('heard two\nheard end\n');
  expect(JSON.parse(await text(second.on(3)))).toMatchObject({ status: 'Success' });
});

it('a log comes in messages, after an empty one', async () => {
  for (const [protocol, encoding] of [
    ['binary.k8s.io', 'utf8'],
    ['base64.binary.k8s.io', 'base64'],
  ] as const) {
    const socket = new WebSocket(
      `${cluster.client.url.replace('http', 'ws')}${podsPath}/server/log`,
      protocol,
    );
    const messages: Buffer[] = [];
    socket.on('message', (data: Buffer) => messages.push(Buffer.from(data.toString(), encoding)));
    const [code] = await once(socket, 'close');
    expect([code, socket.protocol, messages[0]!.length]).toEqual([1000, protocol, 0]);
    expect(Buffer.concat(messages).toString()).toBe(`port ${port}\n`);
  }
});

describe('ports', () => {
  it('are two channels each, which begin with the port', async () => {
    const free = await unusedPort();
    const path = `${podsPath}/server/portforward?ports=${port}&ports=${free}`;
    const channels = await Channels.open(cluster.client, path, 'v4.channel.k8s.io');
    const [data, , refusedData, refusal] = [0, 1, 2, 3].map((channel) => channels.on(channel));
    const number = (of: number) => Buffer.from([of & 255, of >> 8]);
    const said = refusedData!.toArray();
    expect((await once(data!, 'data'))[0]).toEqual(number(port));
    await channels.send(0, 'echo\nhello');
    expect(String((await once(data!, 'data'))[0])).toBe('hello');
    // The connection that is refused may be later than the answer of the other.
    const failure: Buffer[] = [];
    const refused = refusal!.iterator({ destroyOnReturn: false });
    while (Buffer.concat(failure).length <= 2) failure.push((await refused.next()).value);
    channels.socket.close(1000);
    await channels.closed;
    expect(Buffer.concat(await said)).toEqual(number(free));
    expect(Buffer.concat(failure).subarray(0, 2)).toEqual(number(free));
    expect(Buffer.concat(failure).subarray(2).toString()).toMatch(
      /error forwarding port .*connection refused/,
    );
  });

  it('are forwarded by SPDY inside a WebSocket, as newer kubectls do', async () => {
    const connection = new SpdyConnection(await tunnel(`${podsPath}/server/portforward`), { role: 'client' });
    onTestFinished(() => connection.destroy());
    const forward = async (requestID: string) => {
      const error = await connection.openStream({ streamType: 'error', port: String(port), requestID });
      error.end();
      error.resume();
      return connection.openStream({ streamType: 'data', port: String(port), requestID });
    };
    const [small, large] = [await forward('0'), await forward('1')];
    const noise = new Noise(20 * megabyte);
    large.write('echo\n');
    noise.pipe(large);
    small.end('echo\nhello');
    // Read both at once: an unread one would block the other.
    const [word, sum] = await Promise.all([text(small), sumUp(large)]);
    expect(word).toBe('hello');
    expect(sum).toEqual(noise.sum);
  });
});

/**
 * The payload of a WebSocket as bytes. The `ws` package refuses this subprotocol's name, which is not a
 * token, so messages are written by hand.
 */
async function tunnel(path: string): Promise<Duplex> {
  const protocol = 'SPDY/3.1+portforward.k8s.io';
  const sent = request(`${cluster.client.url}${path}`, {
    headers: {
      Connection: 'Upgrade',
      Upgrade: 'websocket',
      'Sec-WebSocket-Version': '13',
      'Sec-WebSocket-Key': Buffer.alloc(16).toString('base64'),
      'Sec-WebSocket-Protocol': protocol,
    },
  });
  sent.end();
  const [response, socket, head] = await once(sent, 'upgrade');
  expect(response.headers['sec-websocket-protocol']).toBe(protocol);
  socket.unshift(head);
  return Duplex.from({ readable: payloads(socket), writable: messages(socket) });
}

async function* payloads(socket: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes: Buffer = Buffer.alloc(0);
  for await (const chunk of socket) {
    bytes = bytes.length ? Buffer.concat([bytes, chunk]) : chunk;
    for (;;) {
      const code = bytes[1] ?? 0;
      const start = code < 126 ? 2 : code === 126 ? 4 : 10;
      if (bytes.length < start) break;
      const length = start === 2 ? code : start === 4 ? bytes.readUInt16BE(2) : bytes.readUInt32BE(6);
      if (bytes.length < start + length) break;
      if ((bytes[0]! & 15) === 2) yield bytes.subarray(start, start + length);
      bytes = bytes.subarray(start + length);
    }
  }
}

/** Each write is one message, with a zero mask. */
function messages(socket: Writable): (source: AsyncIterable<Buffer>) => Promise<void> {
  return async (source) => {
    for await (const chunk of source) {
      const head = Buffer.from([0x82, 0x80 | 127, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
      head.writeUInt32BE(chunk.length, 6);
      socket.write(head);
      if (!socket.write(chunk)) await once(socket, 'drain');
    }
    socket.end();
  };
}
