import { once } from 'node:events';
import { setImmediate as soon } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { turnsDuring } from '../../../test/support/turns.ts';
import { memoryPipe } from '../bytes/memory-pipe.ts';
import { Arrivals, closed, RawPeer, readAll, socketPair } from './spdy.fixture.ts';
import { SpdyConnection } from './spdy-connection.ts';
import { encodeDataHead } from './spdy-frame.ts';
import type { SpdyStream } from './spdy-stream.ts';

const MiB = 1024 * 1024;

/** A server with a scripted peer. */
async function serverWithRawPeer() {
  const [serverSocket, clientSocket] = await socketPair();
  const streams = new Arrivals<SpdyStream>();
  const server = new SpdyConnection(serverSocket, {
    role: 'server',
    onStream: (stream) => streams.add(stream),
  });
  return { server, serverSocket, streams, peer: new RawPeer(clientSocket) };
}

async function clientWithRawPeer(options: { idleMs?: number } = {}) {
  const [serverSocket, clientSocket] = await socketPair();
  return {
    client: new SpdyConnection(clientSocket, { role: 'client', ...options }),
    peer: new RawPeer(serverSocket),
  };
}

const replies = {
  first: (id: string) => `80030002 00000013 ${id} 78bbe3c6a7c2 62000200000000ffff`,
  next: (id: string) => `80030002 0000000c ${id} 020100000000ffff`,
};

describe('a server', () => {
  it('takes very many small frames in turns, in order, and the end behind them', async () => {
    const { streams, peer } = await serverWithRawPeer();
    peer.write(peer.synStream(1));
    const stream = await streams.next();
    stream.accept();
    const frames = Array.from({ length: 4000 }, (_, i) => {
      const text = Buffer.from(`${i} `);
      return Buffer.concat([encodeDataHead(1, text.length, false), text]);
    });
    const { turns, result } = await turnsDuring(() => {
      peer.write(Buffer.concat([...frames, encodeDataHead(1, 0, true)]));
      peer.socket.end();
      return readAll(stream);
    });
    expect(result.toString()).toBe(Array.from({ length: 4000 }, (_, i) => `${i} `).join(''));
    expect(turns).toBeGreaterThanOrEqual(4000 / 250);
  });

  it('answers a session of kubectl 1.20 byte for byte', async () => {
    // Proves the recorded exchange: three streams, output, status, ends, and the client's GOAWAY.
    const { server, streams, peer, serverSocket } = await serverWithRawPeer();
    const sent: Buffer[] = [];
    const write = serverSocket.write.bind(serverSocket) as (...args: unknown[]) => boolean;
    serverSocket.write = ((chunk: Buffer, ...rest: unknown[]) => {
      sent.push(chunk);
      return write(chunk, ...rest);
    }) as typeof serverSocket.write;
    peer.write(
      '80030001 00000029 00000001 00000000 0000 78f9e3c6a7c2 6260606004a7b392a2d4c45c6851c29a0a0a6800000000ffff',
    );
    peer.write('80030001 00000019 00000003 00000000 0000 c22ac5565c92925f5a02000000ffff');
    peer.write('80030001 00000015 00000005 00000000 0000 c229975a5404000000ffff');
    const [error, stdout, stderr] = [await streams.next(), await streams.next(), await streams.next()];
    expect([error, stdout, stderr].map(({ id, headers }) => [id, headers['streamtype']])).toEqual([
      [1, 'error'],
      [3, 'stdout'],
      [5, 'stderr'],
    ]);
    for (const stream of [error, stdout, stderr]) stream.accept();
    stdout.write('hi\n');
    error.end('{"metadata":{},"status":"Success"}');
    await once(error, 'finish');
    stderr.end();
    await once(stderr, 'finish');
    stdout.end();
    await peer.until(8);
    expect(Buffer.concat(sent).toString('hex')).toBe(
      [
        '80030002 00000013 00000001 78bbe3c6a7c2 62000200000000ffff',
        '80030002 0000000c 00000003 020100000000ffff',
        '80030002 0000000c 00000005 020100000000ffff',
        '00000003 00000003 68690a',
        '00000001 00000022 7b226d65746164617461223a7b7d2c22737461747573223a2253756363657373227d',
        '00000001 01000000 00000005 01000000 00000003 01000000',
      ]
        .join('')
        .replaceAll(' ', ''),
    );
    peer.write('80030003 00000008 00000001 00000005 80030007 00000008 00000000 00000000');
    peer.socket.end();
    await server.closed;
  });

  it('echoes pings and takes those of its own parity for answers', async () => {
    // Proves the rules for pings, and that the peer's SETTINGS and WINDOW_UPDATE get no answer.
    const { peer } = await serverWithRawPeer();
    peer.write('80030006 00000004 00000002 80030004 00000004 00000000 80030009 00000008 00000000 00010000');
    peer.write('80030006 00000004 00000001 80030006 00000004 7fffffff');
    expect(await peer.until(2)).toEqual([
      { type: 'ping', id: 1 },
      { type: 'ping', id: 0x7fffffff },
    ]);
  });

  it('pings with even ids, a client with odd ones', async () => {
    // Proves that each side's own pings have the right parity and rise by two.
    for (const [role, first] of [
      ['server', 2],
      ['client', 1],
    ] as const) {
      const [ours, theirs] = await socketPair();
      const connection = new SpdyConnection(ours, { role, pingMs: 5 });
      const peer = new RawPeer(theirs);
      const pings = (await peer.until(3)).slice(0, 3);
      expect(pings).toEqual([0, 2, 4].map((more) => ({ type: 'ping', id: first + more })));
      connection.destroy();
    }
  });

  it('refuses ids that fall, that are even, and streams it has no room for', async () => {
    // Proves the rules for ids, and that a refused stream's header block still updates the compression context.
    const { peer, streams } = await serverWithRawPeer();
    peer.write(peer.synStream(5, { name: 'five' }));
    peer.write(peer.synStream(3, { name: 'three, which is long enough to be referred to' }));
    peer.write(peer.synStream(5, { name: 'again' }));
    peer.write(peer.synStream(8, { name: 'even' }));
    peer.write(peer.synStream(9, { name: 'three, which is long enough to be referred to' }));
    expect((await streams.next()).headers['name']).toBe('five');
    const ninth = await streams.next();
    expect(ninth.id).toBe(9);
    expect(ninth.headers['name']).toBe('three, which is long enough to be referred to');
    expect(await peer.until(3)).toEqual([3, 5, 8].map((id) => ({ type: 'rstStream', id, status: 1 })));
  });

  it('drops data for streams that are gone or never were', async () => {
    // Proves that frames for unknown streams are ignored.
    const { peer, streams, server } = await serverWithRawPeer();
    peer.write('00000007 00000001 61 80030003 00000008 00000009 00000005');
    peer.write(peer.synStream(11));
    const stream = await streams.next();
    stream.end();
    stream.resume();
    peer.write('0000000b 01000000');
    await closed(stream);
    peer.write('0000000b 00000001 61 0000000b 01000000 80030006 00000004 00000003');
    expect((await peer.until(3)).map(({ type }) => type)).toEqual(['synReply', 'data', 'ping']);
    expect(server.open).toBe(true);
  });

  it('replies before the first data, whoever forgets to accept', async () => {
    // Proves that no data is sent before SYN_REPLY, because a client would drop it.
    const { peer, streams } = await serverWithRawPeer();
    peer.write(peer.synStream(1));
    (await streams.next()).end('x');
    expect((await peer.until(3)).map(({ type }) => type)).toEqual(['synReply', 'data', 'data']);
  });

  it('ends what it reads of a stream with FIN on SYN_STREAM, and writes nothing on a unidirectional one', async () => {
    // Proves the flags of SYN_STREAM.
    const { peer, streams } = await serverWithRawPeer();
    const frame = peer.synStream(1);
    frame[4] = 3;
    peer.write(frame);
    const stream = await streams.next();
    stream.accept();
    stream.end('nobody wants this');
    expect(await readAll(stream)).toHaveLength(0);
    peer.write('80030006 00000004 00000003');
    expect((await peer.until(2)).map(({ type }) => type)).toEqual(['synReply', 'ping']);
  });

  it('takes a head that came with the upgrade, and a socket that is in memory', async () => {
    // Proves that bytes received before the connection object was made are not lost, and that an in-memory
    // pipe works.
    const [ours, theirs] = memoryPipe();
    const streams = new Arrivals<SpdyStream>();
    const client = new SpdyConnection(theirs, { role: 'client' });
    const opening = client.openStream({ streamType: 'error' });
    const [head] = (await once(ours, 'data')) as [Buffer];
    ours.pause().removeAllListeners('data');
    const server = new SpdyConnection(ours, {
      role: 'server',
      head,
      onStream: (stream) => streams.add(stream),
    });
    const stream = await streams.next();
    stream.accept();
    stream.pipe(stream);
    const opened = await opening;
    opened.end('through memory');
    expect((await readAll(opened)).toString()).toBe('through memory');
    client.close();
    await Promise.all([client.closed, server.closed]);
  });

  it('closes after the idle time, but not before', async () => {
    // Proves that traffic postpones the idle timeout, and that idleness ends the connection with a GOAWAY.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const [ours, theirs] = await socketPair();
    const server = new SpdyConnection(ours, { role: 'server', idleMs: 300, pingMs: 0 });
    const peer = new RawPeer(theirs);
    for (let i = 1; i <= 4; i++) {
      vi.advanceTimersByTime(200);
      peer.write('80030006 00000004 00000001');
      expect(await peer.until(i)).toHaveLength(i);
    }
    expect(server.open).toBe(true);
    vi.advanceTimersByTime(400);
    await peer.ended;
    expect(peer.frames.at(-1)).toEqual({ type: 'goaway', lastId: 0, status: 0 });
    peer.socket.end();
    await server.closed;
  });
});

describe('a client', () => {
  it('waits for the reply of each stream, and drops data that comes before it', async () => {
    // Proves when a stream is open, and the odd ids.
    const { client, peer } = await clientWithRawPeer();
    const opening = client.openStream({ streamType: 'error' });
    expect(await peer.until(1)).toMatchObject([
      { type: 'synStream', id: 1, fin: false, unidirectional: false },
    ]);
    peer.write('00000001 00000002 6161');
    peer.write(replies.first('00000001'));
    peer.write('00000001 00000002 6262 00000001 01000000');
    const stream = await opening;
    expect(stream.headers).toEqual({ streamtype: 'error' });
    expect((await readAll(stream)).toString()).toBe('bb');
    const second = client.openStream({ streamType: 'stdout' });
    expect((await peer.until(2))[1]).toMatchObject({ type: 'synStream', id: 3 });
    peer.write(replies.next('00000003'));
    expect((await second).id).toBe(3);
  });

  it('reports a refusal, the end of the connection, and silence', async () => {
    // Proves the three ways in which opening a stream fails.
    const { client, peer } = await clientWithRawPeer();
    const refused = client.openStream({});
    await peer.until(1);
    peer.write('80030003 00000008 00000001 00000003');
    await expect(refused).rejects.toThrow('Stream reset');

    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const late = client.openStream({});
    vi.advanceTimersByTime(30_000);
    vi.useRealTimers();
    await expect(late).rejects.toThrow('Timeout occurred');
    expect((await peer.until(3)).at(-1)).toEqual({ type: 'rstStream', id: 3, status: 5 });

    const cut = client.openStream({});
    peer.socket.destroy();
    await expect(cut).rejects.toThrow('the connection is closed');
    await client.closed;
    await expect(client.openStream({})).rejects.toThrow('the connection is closed');
  });

  it('refuses streams of the server', async () => {
    // Proves that an unexpected stream is reset: odd ids belong to the client, even ones have no handler.
    const { peer, client } = await clientWithRawPeer();
    peer.write(Buffer.concat([peer.synStream(2), peer.synStream(3)]));
    expect(await peer.until(2)).toEqual([
      { type: 'rstStream', id: 2, status: 3 },
      { type: 'rstStream', id: 3, status: 1 },
    ]);
    expect(client.open).toBe(true);
  });

  it('reads everything that came before GOAWAY and nothing after it', async () => {
    // Proves that a kubelet that closes right after the status is understood, also by a slow reader.
    const { client, peer } = await clientWithRawPeer();
    const opening = client.openStream({});
    await peer.until(1);
    const big = Buffer.alloc(MiB, 'x');
    const head = Buffer.from('0000000100100000', 'hex');
    peer.write(replies.first('00000001'));
    peer.write(Buffer.concat([head, big]));
    peer.write(
      '80030003 00000008 00000001 00000005 80030007 00000008 00000000 00000000 00000001 00000001 61',
    );
    peer.socket.end();
    const stream = await opening;
    await soon();
    expect((await readAll(stream)).equals(big)).toBe(true);
    expect(stream.resetStatus).toBe(5);
    await client.closed;
  });

  it('says GOAWAY when it closes', async () => {
    // Proves the order: GOAWAY, then the end of the socket; and that close is idempotent.
    const { client, peer } = await clientWithRawPeer();
    client.close();
    client.close();
    await peer.ended;
    expect(peer.frames).toEqual([{ type: 'goaway', lastId: 0, status: 0 }]);
    peer.socket.end();
    await client.closed;
  });

  it('does not wait for ever for a peer that does not close', async () => {
    // Proves that a connection ends soon after close, whatever the peer does.
    const { client, peer } = await clientWithRawPeer();
    client.close();
    await peer.ended;
    await client.closed;
  });
});
