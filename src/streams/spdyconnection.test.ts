import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate as soon } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { memoryPipe } from './memorypipe.ts';
import { Arrivals, closed, RawPeer, readAll, socketPair, spdyPair } from './spdy.case.ts';
import { SpdyConnection } from './spdyconnection.ts';
import type { SpdyStream } from './spdystream.ts';

const MiB = 1024 * 1024;

/** A server whose peer is made by hand. */
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
  it('answers a session of kubectl 1.20 byte for byte', async () => {
    // Proves the recorded exchange: three streams, output, status, ends, and the client's good-bye.
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
    // Proves the ping rules, and that the peer's SETTINGS and WINDOW_UPDATE need no answer.
    const { peer } = await serverWithRawPeer();
    peer.write('80030006 00000004 00000002 80030004 00000004 00000000 80030009 00000008 00000000 00010000');
    peer.write('80030006 00000004 00000001 80030006 00000004 7fffffff');
    expect(await peer.until(2)).toEqual([
      { type: 'ping', id: 1 },
      { type: 'ping', id: 0x7fffffff },
    ]);
  });

  it('pings with even ids, a client with odd ones', async () => {
    // Proves that both sides' own pings have the right parity and rise by two.
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
    // Proves the id rules, and that a refused stream's block still counts for the context.
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
    // Proves that stray frames do no harm.
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
    // Proves that nothing is sent that a client would drop.
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
    // Proves that bytes before the connection object are not lost, and that no network is needed.
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
    // Proves that traffic puts the end off and silence brings it, with a GOAWAY.
    const [ours, theirs] = await socketPair();
    const server = new SpdyConnection(ours, { role: 'server', idleMs: 300 });
    const peer = new RawPeer(theirs);
    const begun = performance.now();
    const chatter = setInterval(() => peer.write('80030006 00000004 00000001'), 50);
    setTimeout(() => clearInterval(chatter), 400);
    await peer.ended;
    expect(performance.now() - begun).toBeGreaterThan(600);
    expect(peer.frames.at(-1)).toEqual({ type: 'goaway', lastId: 0, status: 0 });
    peer.socket.end();
    await server.closed;
  });
});

describe('a client', () => {
  it('waits for the reply of each stream, and drops data that comes before it', async () => {
    // Proves when a stream is there, and the odd ids.
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
    // Proves the three ways in which no stream comes.
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
    // Proves that a stray stream is reset: odd ids are ours, even ones have no taker.
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
    // Proves the order: GOAWAY, then the end of the socket; and that close may be called twice.
    const { client, peer } = await clientWithRawPeer();
    client.close();
    client.close();
    await peer.ended;
    expect(peer.frames).toEqual([{ type: 'goaway', lastId: 0, status: 0 }]);
    peer.socket.end();
    await client.closed;
  });

  it('does not wait for ever for a peer that does not close', async () => {
    // Proves that a connection is gone soon after close, whatever the peer does.
    const { client, peer } = await clientWithRawPeer();
    client.close();
    await peer.ended;
    await client.closed;
  });
});

describe('client and server', () => {
  const echo = (stream: SpdyStream): void => {
    stream.accept();
    stream.pipe(stream);
  };

  it('carry large transfers both ways at once, with slow readers', async () => {
    // Proves that bytes arrive complete and in order over several streams, though each side stalls now and then.
    const { client } = await spdyPair({ onStream: echo });
    const sums = await Promise.all(
      [16, 8, 4].map(async (size, index) => {
        const stream = await client.openStream({ number: `${index}` });
        const chunk = randomBytes(MiB);
        const sent = createHash('sha256');
        const received = createHash('sha256');
        const source = Readable.from(
          (function* () {
            for (let i = 0; i < size; i++) {
              sent.update(chunk);
              yield chunk;
            }
          })(),
        );
        let count = 0;
        const sink = new Writable({
          highWaterMark: 1,
          write: (bytes: Buffer, _encoding, done) => {
            received.update(bytes);
            count += bytes.length;
            if (count % 7 === index) setImmediate(done);
            else done();
          },
        });
        await Promise.all([pipeline(source, stream), pipeline(stream, sink)]);
        expect(count).toBe(size * MiB);
        return [sent.digest('hex'), received.digest('hex')];
      }),
    );
    for (const [sent, received] of sums) expect(received).toBe(sent);
  });

  it('close each half of a stream alone', async () => {
    // Proves half close in both directions.
    const { client, streams } = await spdyPair();
    const ours = await client.openStream({});
    const theirs = await streams.next();
    ours.end('question');
    expect((await readAll(theirs)).toString()).toBe('question');
    theirs.write('long ');
    theirs.end('answer');
    expect((await readAll(ours)).toString()).toBe('long answer');
    await Promise.all([closed(ours), closed(theirs)]);
    expect([ours.resetStatus, theirs.resetStatus]).toEqual([undefined, undefined]);
  });

  it('tell of a reset, after which reading ends and writing goes nowhere', async () => {
    // Proves RST_STREAM in both directions, and that other streams live on.
    const { client, streams } = await spdyPair();
    const [first, second] = [await client.openStream({}), await client.openStream({})];
    const [theirFirst, theirSecond] = [await streams.next(), await streams.next()];
    first.write('before');
    await once(theirFirst, 'readable');
    first.reset(6);
    expect(first.destroyed).toBe(true);
    const [status] = await once(theirFirst, 'reset');
    expect(status).toBe(6);
    theirFirst.write('into the void');
    expect((await readAll(theirFirst)).toString()).toBe('before');
    expect(theirFirst.destroyed).toBe(true);

    theirSecond.reset();
    const [cancel] = await once(second, 'reset');
    expect(cancel).toBe(5);
    await closed(second);

    const third = await client.openStream({});
    (await streams.next()).end('alive');
    expect((await readAll(third)).toString()).toBe('alive');
  });

  it('stop reading when a stream is not read, and go on when it is', async () => {
    // Proves that a stalled stream holds at most its bound, holds the connection up, and lets go when read.
    const { client, streams, serverSocket } = await spdyPair();
    const [slow, other] = [await client.openStream({}), await client.openStream({})];
    const [theirSlow, theirOther] = [await streams.next(), await streams.next()];
    const total = 32 * MiB;
    const writing = pipeline(Readable.from([Buffer.alloc(total, 1)], { objectMode: false }), slow);
    await vi.waitUntil(() => serverSocket.isPaused());
    const readBefore = serverSocket.bytesRead;
    expect(readBefore).toBeLessThan(MiB);
    other.end('patience');
    let got = 0;
    theirSlow.on('data', (chunk: Buffer) => (got += chunk.length));
    await Promise.all([writing, once(theirSlow, 'end')]);
    expect(got).toBe(total);
    expect((await readAll(theirOther)).toString()).toBe('patience');
  });

  it.each(['destroy', 'reset'] as const)('go on when a stalled stream ends by %s', async (how) => {
    // Proves that a stream that nobody reads does not stop the others for ever.
    const { client, streams, serverSocket } = await spdyPair();
    const [slow, other] = [await client.openStream({}), await client.openStream({})];
    const [theirSlow, theirOther] = [await streams.next(), await streams.next()];
    slow.write(Buffer.alloc(8 * MiB));
    await vi.waitUntil(() => serverSocket.isPaused());
    other.end('still here');
    theirSlow[how]();
    expect((await readAll(theirOther)).toString()).toBe('still here');
    await closed(slow);
  });

  it('go on when the peer resets a stalled stream whose reader holds still', async () => {
    // Proves that what is left of a reset stream no longer counts, and can still be read.
    const { client, streams } = await spdyPair();
    const slow = await client.openStream({});
    const theirSlow = await streams.next();
    slow.write(Buffer.alloc(250 * 1024));
    await once(theirSlow, 'readable');
    await soon();
    slow.reset();
    await once(theirSlow, 'reset');
    const other = await client.openStream({});
    (await streams.next()).end('next');
    expect((await readAll(other)).toString()).toBe('next');
    expect((await readAll(theirSlow)).length).toBe(250 * 1024);
  });

  it('share the socket between writers', async () => {
    // Proves that streams send in turn: neither a small one nor an equal one waits until a large one is done.
    const { client, streams } = await spdyPair();
    const [first, second, small] = [
      await client.openStream({}),
      await client.openStream({}),
      await client.openStream({}),
    ];
    const seen = [0, 0];
    const ends = seen.map(async (_, index) => {
      const theirs = await streams.next();
      theirs.on('data', (chunk: Buffer) => (seen[index]! += chunk.length));
      await once(theirs, 'end');
      return [...seen];
    });
    first.end(Buffer.alloc(32 * MiB));
    second.end(Buffer.alloc(32 * MiB));
    small.end('quick');
    expect((await readAll(await streams.next())).toString()).toBe('quick');
    expect(Math.max(...seen)).toBeLessThan(16 * MiB);
    const [one, two] = await Promise.race(ends);
    expect(Math.min(one!, two!)).toBeGreaterThan(24 * MiB);
    await Promise.all(ends);
    expect(seen).toEqual([32 * MiB, 32 * MiB]);
  });

  it('hold a writer back while the other side does not read', async () => {
    // Proves back-pressure: of an endless source only a bounded part is taken.
    const { client, streams } = await spdyPair();
    const stream = await client.openStream({});
    const theirs = await streams.next();
    let given = 0;
    const source = new Readable({
      read() {
        given += 64 * 1024;
        this.push(Buffer.alloc(64 * 1024));
      },
    });
    const piping = pipeline(source, stream).catch((error: NodeJS.ErrnoException) => error.code);
    let last = -1;
    await vi.waitUntil(() => last === (last = given), { interval: 200 });
    expect(given).toBeLessThan(32 * MiB);
    theirs.destroy();
    expect(await piping).toBe('ERR_STREAM_PREMATURE_CLOSE');
  });

  it('end their streams when the connection is cut', async () => {
    // Proves that nobody waits for ever: readers end, writers see the stream close, `closed` resolves.
    const { client, server, streams, serverSocket } = await spdyPair();
    const reading = await client.openStream({});
    const writing = await client.openStream({});
    const theirs = [await streams.next(), await streams.next()];
    const pumped = pipeline(
      new Readable({
        read() {
          this.push(Buffer.alloc(1000));
        },
      }),
      writing,
    ).catch((error: NodeJS.ErrnoException) => error.code);
    serverSocket.destroy();
    expect(await readAll(reading)).toHaveLength(0);
    expect(await pumped).toBe('ERR_STREAM_PREMATURE_CLOSE');
    await Promise.all([client.closed, server.closed]);
    for (const stream of theirs) expect(stream.destroyed).toBe(true);
  });

  it('make an end without FIN an error for those who ask', async () => {
    // Proves `strictEnd`: a cut and a failed stream are errors, FIN and CANCEL are not.
    const { client, streams, serverSocket } = await spdyPair();
    const outcomes = await Promise.all(
      (['end', 'cancel', 'internalError', 'cut'] as const).map(async (how) => {
        const stream = await client.openStream({});
        stream.strictEnd = true;
        const theirs = await streams.next();
        const read = readAll(stream).then(String, (error: Error) => error.message);
        theirs.write('x');
        await once(stream, 'readable');
        if (how === 'end') theirs.end();
        else if (how === 'cancel') theirs.reset();
        else if (how === 'internalError') theirs.reset(6);
        return { how, read };
      }),
    );
    await Promise.all(outcomes.slice(0, 3).map(({ read }) => read));
    serverSocket.destroy();
    const read = await Promise.all(outcomes.map(({ read }) => read));
    expect(read).toEqual(['x', 'x', 'read ECONNRESET', 'read ECONNRESET']);
  });

  it('open and close thousands of streams over one connection', async () => {
    // Proves that nothing is left behind by streams that have ended, and that the header context stays right.
    const { client } = await spdyPair({ onStream: (stream) => void stream.end(stream.headers['requestid']) });
    for (let i = 0; i < 1000; i += 10) {
      const ids = Array.from({ length: 10 }, (_, j) => `${i + j}`);
      const answers = ids.map(async (requestID) => {
        const stream = await client.openStream({ streamType: 'data', port: '8080', requestID });
        stream.end();
        return (await readAll(stream)).toString();
      });
      expect(await Promise.all(answers)).toEqual(ids);
    }
  });
});
