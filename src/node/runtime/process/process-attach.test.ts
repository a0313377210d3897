import { Writable } from 'node:stream';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Attachments } from './attachments.ts';
import { ProcessPod, TestSession } from './process-pod.fixture.ts';

let pod: ProcessPod;
beforeAll(async () => {
  pod = await ProcessPod.make({ roots: 'folder' });
});
afterEach(() => pod.clear());
afterAll(() => pod.close());

/** Prints its pid, then echoes its input; `quit` ends it. */
const echo =
  'echo up; while read line; do test "$line" = quit && exit 3; echo "got $line"; echo "err $line" >&2; done; echo closed';

describe('attaching to a container', () => {
  it('shows the same to all, takes input of all, and outlives them', async () => {
    // Proves two clients at once, that earlier output is not repeated, and that detaching stops nothing.
    const container = await pod.shell(echo, { container: { stdin: true } });
    await pod.log({ follow: true, limitBytes: 3 });
    const [one, two] = [new TestSession({ stdin: true }), new TestSession({ stdin: true })];
    const ends = [container.attach(one), container.attach(two)];
    one.stdin!.write('a\n');
    await Promise.all([one.until(/err a/), two.until(/err a/), one.until(/got a/), two.until(/got a/)]);
    two.stdin!.write('b\n');
    await Promise.all([one.until(/err b/), one.until(/got b/)]);
    expect(one.out).toBe('got a\ngot b\n');
    expect(one.err).toBe('err a\nerr b\n');
    one.leave();
    expect(await ends[0]).toEqual({ kind: 'success' });
    two.stdin!.write('c\nquit\n');
    expect(await ends[1]).toEqual({ kind: 'success' });
    expect(two.out).toBe('got a\ngot b\ngot c\n');
    expect(one.out).not.toContain('got c');
    expect((await container.exited).exitCode).toBe(3);
    expect(await container.attach(new TestSession())).toEqual({ kind: 'success' });
  });

  it('keeps the input open for the next, or closes it after the first', async () => {
    // Proves stdin with and without stdinOnce, for an input that ends and for a client that disconnects.
    const open = await pod.shell(echo, { container: { name: 'open', stdin: true } });
    const first = new TestSession({ stdin: true });
    const attached = open.attach(first);
    first.stdin!.end('x\n');
    await first.until(/got x/);
    first.leave();
    await attached;
    const second = new TestSession({ stdin: true });
    const end = open.attach(second);
    second.stdin!.write('quit\n');
    expect(await end).toEqual({ kind: 'success' });
    expect((await open.exited).exitCode).toBe(3);

    for (const how of ['end', 'leave'] as const) {
      const once = await pod.shell(echo, { container: { name: how, stdin: true, stdinOnce: true } });
      const session = new TestSession({ stdin: true });
      const done = once.attach(session);
      session.stdin!.write('y\n');
      await session.until(/got y/);
      if (how === 'end') session.stdin!.end();
      else session.leave();
      expect(await done).toEqual({ kind: 'success' });
      expect((await once.exited).exitCode).toBe(0);
      expect(await pod.log({}, 0, how)).toContain('closed');
    }
  });

  it('ends after its input when the next client may have one, too', async () => {
    // Proves that a client whose input has ended gets the answer to it and is detached, with or without a terminal.
    for (const tty of [false, true]) {
      const name = tty ? 'terminal' : 'pipes';
      const container = await pod.shell(echo, { container: { name, stdin: true, tty } });
      const first = new TestSession({ stdin: true, tty });
      const done = container.attach(first);
      first.stdin!.end('x\n');
      expect(await done).toEqual({ kind: 'success' });
      expect(first.out).toContain('got x');
      const silent = new TestSession({ tty });
      const watching = container.attach(silent);
      const second = new TestSession({ stdin: true, tty });
      const end = container.attach(second);
      second.stdin!.write('y\nquit\n');
      expect(await end).toEqual({ kind: 'success' });
      expect(await watching).toEqual({ kind: 'success' });
      expect(silent.out).toContain('got y');
      expect((await container.exited).exitCode).toBe(3);
    }
  });

  it('ignores input of a container without one', async () => {
    // Proves that input is dropped, not buffered, and output still arrives.
    const container = await pod.shell('cat; echo no input; sleep 0.3; exit 0');
    const session = new TestSession({ stdin: true });
    const end = container.attach(session);
    session.stdin!.write(Buffer.alloc(1_000_000));
    expect(await end).toEqual({ kind: 'success' });
    expect(session.stdin!.readableLength).toBe(0);
    expect((await container.exited).exitCode).toBe(0);
  });

  it('works with the terminal of the container', async () => {
    // Proves a container with a terminal: size, input, one output, and its log.
    const script = 'read line; stty size; echo "<$line>"; echo err >&2; tty >/dev/null && exit 6';
    const container = await pod.shell(script, { container: { tty: true, stdin: true } });
    const session = new TestSession({ tty: true, stdin: true }, { width: 90, height: 20 });
    const end = container.attach(session);
    session.stdin!.write('hi\n');
    expect(await end).toEqual({ kind: 'success' });
    expect((await container.exited).exitCode).toBe(6);
    expect(session.out).toBe('hi\r\n20 90\r\n<hi>\r\nerr\r\n');
    expect(await pod.log()).toBe(session.out);
  });
});

describe('a client that does not read', () => {
  it('is sent away, and neither the container nor the others stop', async () => {
    // Proves the bound on output buffered for one client, and on the time the container waits for it.
    const attachments = new Attachments({ stdin: undefined, resize: () => undefined }, false, false, 50);
    const stuck = new TestSession({ stdout: new Writable({ highWaterMark: 1024, write: () => undefined }) });
    const fine = new TestSession();
    const results = [attachments.join(stuck), attachments.join(fine)];
    const chunk = Buffer.alloc(64 * 1024, 'x');
    for (let i = 0; i < 100; i++) await attachments.deliver('stdout', chunk);
    expect(await results[0]).toEqual({
      kind: 'failure',
      message: 'the client has not read its output for too long',
    });
    expect(stuck.stdout.writableLength).toBeLessThan(512 * 1024);
    expect(fine.out).toHaveLength(100 * chunk.length);
    attachments.close();
    expect(await results[1]).toEqual({ kind: 'success' });
  });

  it('slows the container as a pipe would', async () => {
    // Proves that a slow reader gets everything.
    const attachments = new Attachments({ stdin: undefined, resize: () => undefined }, false, false);
    let received = 0;
    const stdout = new Writable({
      write(chunk: Buffer, _encoding, done) {
        received += chunk.length;
        setTimeout(done, 2);
      },
    });
    const result = attachments.join(new TestSession({ stdout }));
    let waited = 0;
    for (let i = 0; i < 40; i++) {
      const wait = attachments.deliver('stdout', Buffer.alloc(64 * 1024));
      if (wait) waited++;
      await wait;
    }
    await new Promise<void>((resolve) => {
      stdout.end(resolve);
    });
    expect(received).toBe(40 * 64 * 1024);
    expect(waited).toBeGreaterThan(0);
    attachments.close();
    expect(await result).toEqual({ kind: 'success' });
  });
});
