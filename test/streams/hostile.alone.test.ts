/** Proves that no bytes of an upgraded client harm the server, the agent or other sessions. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { constants, deflateSync } from 'node:zlib';
import { afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { encodeSynStream } from '../../src/streams/spdy/spdy-frame.ts';
import { dictionary } from '../../src/streams/spdy/spdy-headers.ts';
import { Noise } from './bytes.ts';
import { Channels } from './channels.ts';
import { agentOf, podOf, podsPath, processesOf, shell, useRunningCluster } from './running.ts';

const mebibyte = 1024 * 1024;
/** Maximum memory growth caused by hostile input. */
const growthBytesMax = 64 * mebibyte;
const cluster = useRunningCluster();

beforeAll(async () => {
  await cluster.run(podOf('one', shell('exec sleep 1000')));
});

afterEach(async () => {
  // It still runs commands, and none is left over.
  const run = '/api/v1/nodes/here/proxy/run/default/one/main?cmd=echo+alive';
  expect((await cluster.client.post(run, undefined)).text).toBe('alive\n');
  await expect
    .poll(() => processesOf(agentOf(cluster.folder)).filter((it) => it.includes('cat -u')))
    .toEqual([]);
});

/** An upgraded connection, ready for arbitrary bytes. */
async function upgraded(path: string, protocol: string): Promise<Socket> {
  const { hostname, port } = new URL(cluster.client.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  onTestFinished(() => void socket.destroy());
  socket.write(
    `POST ${podsPath}/one/${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n` +
      `Content-Length: 0\r\nX-Stream-Protocol-Version: ${protocol}\r\n\r\n`,
  );
  const [head] = await once(socket, 'data');
  expect(String(head)).toMatch(/^HTTP\/1\.1 101 /);
  return socket;
}

const targets = [
  ['exec?stdin=1&stdout=1&command=cat&command=-u', 'v4.channel.k8s.io'],
  ['portforward', 'portforward.k8s.io'],
] as const;

/** A compressed block of 32 MiB of zeros, small enough for a frame. */
const bomb = deflateSync(Buffer.alloc(32 * mebibyte), { dictionary, finishFlush: constants.Z_SYNC_FLUSH });
/** A block without headers, uncompressed. */
const plain = Buffer.from('000400fbff00000000000000ffff', 'hex');

describe.each(targets)('%s', (path, protocol) => {
  it.each<[string, () => Buffer]>([
    // Whatever frame header these bytes resemble, the following bytes complete that frame.
    [
      'random bytes',
      () => Buffer.concat([new Noise(mebibyte).read(65_536), Buffer.alloc(17 * mebibyte, 0x80)]),
    ],
    [
      'a control frame of 16 MiB',
      () => Buffer.concat([Buffer.from('8003000100ffffff', 'hex'), Buffer.alloc(mebibyte)]),
    ],
    ['a decompression bomb', () => encodeSynStream(1, bomb)],
    [
      '10,000 SYN_STREAMs',
      () =>
        Buffer.concat([
          encodeSynStream(1, Buffer.concat([Buffer.from('7801', 'hex'), plain])),
          ...Array.from({ length: 9_999 }, (_, index) => encodeSynStream(2 * index + 3, plain)),
        ]),
    ],
  ])('is closed after %s', async (_name, bytes) => {
    const before = process.memoryUsage().rss;
    const socket = await upgraded(path, protocol);
    const told = untilGoaway(socket);
    socket.write(bytes());
    await told;
    // The server waits a while for its clients to close, so that they can read its last data.
    socket.resume().end();
    await once(socket, 'close');
    expect(process.memoryUsage().rss - before).toBeLessThan(growthBytesMax);
  });

  it('ends when its client leaves in the middle of a frame', async () => {
    for (const part of ['80', '80030001000000', '8003000100000029000000010000', '00000001000000ff61']) {
      const socket = await upgraded(path, protocol);
      socket.write(Buffer.from(part, 'hex'));
      socket.resume().end();
      await once(socket, 'close');
    }
  });
});

/** Expects GOAWAY with a protocol error. */
async function untilGoaway(socket: Socket): Promise<void> {
  let last = Buffer.alloc(0);
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    last = Buffer.concat([last, chunk]).subarray(-16);
    if (last.subarray(0, 8).toString('hex') === '8003000700000008' && last[15] === 1) return;
  }
  throw new Error('it ended without a word');
}

it('a WebSocket is closed after messages that are too large, or of no kind', async () => {
  const query = 'stdin=true&stdout=true&command=cat&command=-u';
  const open = () => Channels.open(cluster.client, `${podsPath}/one/exec?${query}`, 'v5.channel.k8s.io');
  const large = await open();
  large.socket.send(Buffer.alloc(33 * mebibyte), () => undefined);
  expect(await large.closed).not.toBe(1000);
  const odd = await open();
  odd.socket.send(Buffer.from([255, 9, 9]));
  await odd.closed;
  // Invalid WebSocket frames: reserved bits, and no mask.
  const broken = await open();
  (broken.socket as unknown as { _socket: Socket })._socket.write(Buffer.from([0xf2, 0x01, 0x00]));
  expect(await broken.closed).not.toBe(1000);
});
