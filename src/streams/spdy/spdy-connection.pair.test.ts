// Proves how streams behave between a client and a server.
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate as soon } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { closed, readAll, spdyPair } from './spdy.fixture.ts';
import type { SpdyStream } from './spdy-stream.ts';

const MiB = 1024 * 1024;

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
    // Proves RST_STREAM in both directions, and that other streams continue.
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
    // Proves that a stalled stream buffers at most its bound, pauses the connection, and resumes it when read.
    const { client, streams, serverSocket } = await spdyPair();
    const [slow, other] = [await client.openStream({}), await client.openStream({})];
    const [theirSlow, theirOther] = [await streams.next(), await streams.next()];
    const total = 32 * MiB;
    const writing = pipeline(Readable.from([Buffer.alloc(total, 1)], { objectMode: false }), slow);
    await vi.waitUntil(() => serverSocket.isPaused(), { timeout: 60_000 });
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
    // Proves that an unread stream that is closed does not block the others.
    const { client, streams, serverSocket } = await spdyPair();
    const [slow, other] = [await client.openStream({}), await client.openStream({})];
    const [theirSlow, theirOther] = [await streams.next(), await streams.next()];
    slow.write(Buffer.alloc(8 * MiB));
    await vi.waitUntil(() => serverSocket.isPaused(), { timeout: 60_000 });
    other.end('still here');
    theirSlow[how]();
    expect((await readAll(theirOther)).toString()).toBe('still here');
    await closed(slow);
  });

  it('go on when the peer resets a stalled stream whose reader holds still', async () => {
    // Proves that buffered data of a reset stream no longer counts, and can still be read.
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
    // Proves that streams send in turn: neither a small one nor an equal one waits until a large one is finished.
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
    // Proves back-pressure: only a bounded part of an endless source is taken.
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
    await vi.waitUntil(() => last === (last = given), { interval: 200, timeout: 60_000 });
    expect(given).toBeLessThan(32 * MiB);
    theirs.destroy();
    expect(await piping).toBe('ERR_STREAM_PREMATURE_CLOSE');
  });

  it('end their streams when the connection is cut', async () => {
    // Proves that nothing waits for ever: readers end, writers see the stream close, `closed` resolves.
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
    // Proves `strictEnd`: a cut connection and a failed stream are errors, FIN and CANCEL are not.
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
    // Proves that ended streams leave nothing behind, and that header compression stays in sync.
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
