import { once } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { RunningContainer } from '../runtime.ts';
import { ProcessPod, TestSession } from './process-pod.fixture.ts';

let pod: ProcessPod;
let container: RunningContainer;
beforeAll(async () => {
  pod = await ProcessPod.make({ roots: 'folder' });
  container = await pod.start({ env: { PATH: process.env['PATH']!, WHO: 'me' } });
});
afterEach(() => expect(pod.errors).toEqual([]));
afterAll(() => pod.close());

const mebibyte = 1024 * 1024;

describe('a command beside a container', () => {
  it('has its own streams and code, and the environment of the container', async () => {
    // Proves separate outputs, exit code, variables, working directory, and that a missing stdin is empty.
    const session = new TestSession();
    const command = ['sh', '-c', 'cat; echo out $WHO; pwd; echo err >&2; exit 7'];
    expect(await container.exec(command, session)).toEqual({ kind: 'exit', code: 7 });
    expect(session.out).toMatch(/^out me\n.*\/0\.root\n$/);
    expect(session.err).toBe('err\n');
  });

  it('tells signals as a shell does', async () => {
    // Proves exit code 128 + signal.
    expect(await container.exec(['sh', '-c', 'kill -TERM $$'], new TestSession())).toEqual({
      kind: 'exit',
      code: 143,
    });
  });

  it('is told when it cannot be run', async () => {
    // Proves exit codes 127 and 126 with a message on stderr.
    const missing = new TestSession();
    expect(await container.exec(['nosuch'], missing)).toEqual({ kind: 'exit', code: 127 });
    expect(missing.err).toBe('exec: "nosuch": executable file not found in $PATH\n');
    const refused = new TestSession({ tty: true });
    expect(await container.exec(['/etc/passwd'], refused)).toEqual({ kind: 'exit', code: 126 });
    expect(refused.out).toBe('exec: "/etc/passwd": permission denied\r\n');
    expect(await container.exec([], new TestSession())).toEqual({ kind: 'exit', code: 127 });
  });

  it('gets its input, and the end of it', async () => {
    // Proves that a filter ends when its input does.
    const session = new TestSession({ stdin: true });
    session.stdin!.end('abc');
    expect(await container.exec(['cat'], session)).toEqual({ kind: 'success' });
    expect(session.out).toBe('abc');
  });

  it('loses nothing of what it writes just before it ends', async () => {
    // Proves complete output over many runs, with pipes and with a terminal.
    for (const tty of [false, true]) {
      const sessions = Array.from({ length: 8 }, () => new TestSession({ tty }));
      await Promise.all(sessions.map((session) => container.exec(['seq', '1', '20000'], session)));
      const lengths = sessions.map(({ out }) => out.replaceAll('\r', '').length);
      expect(lengths).toEqual(Array(8).fill(108_894));
    }
  });

  it('passes 200 MB out and in, without holding them', async () => {
    // Proves that 200 MB pass in both directions with bounded memory, however slow the client is.
    const bytes = 200_000_000;
    let most = 0;
    const before = process.memoryUsage();
    const held = (): void => {
      const { arrayBuffers, heapUsed } = process.memoryUsage();
      most = Math.max(most, arrayBuffers - before.arrayBuffers + heapUsed - before.heapUsed);
    };
    let received = 0;
    const stdout = new Writable({
      highWaterMark: 64 * 1024,
      write(chunk: Buffer, _encoding, done) {
        received += chunk.length;
        if (received % 64 === 0) held();
        setImmediate(done);
      },
    });
    const out = new TestSession({ stdout });
    expect(await container.exec(['head', '-c', String(bytes), '/dev/zero'], out)).toEqual({
      kind: 'success',
    });
    stdout.end();
    await once(stdout, 'finish');
    expect(received).toBe(bytes);

    let given = 0;
    const source = new Readable({
      read() {
        if (given >= bytes) this.push(null);
        else this.push(Buffer.alloc(100_000));
        given += 100_000;
        if (given % 10_000_000 === 0) held();
      },
    });
    const session = new TestSession({ stdin: true });
    source.pipe(session.stdin!);
    await container.exec(['wc', '-c'], session);
    expect(session.out.trim()).toBe(String(bytes));
    expect(most).toBeLessThan(128 * mebibyte);
  });

  it('ends although it never reads its input', async () => {
    // Proves that unread input is dropped and does not delay the end.
    const session = new TestSession({ stdin: true });
    const source = Readable.from(
      (function* () {
        for (let i = 0; i < 320; i++) yield Buffer.alloc(100_000);
      })(),
    );
    source.pipe(session.stdin!);
    expect(await container.exec(['sh', '-c', 'sleep 0.2; echo over'], session)).toEqual({ kind: 'success' });
    expect(session.out).toBe('over\n');
  });

  it('is left without pipes when its client goes, and is ended when the agent says so', async () => {
    // Proves what happens when the client goes: a command that writes gets a broken pipe, others continue,
    // the agent's own are killed.
    const writing = new TestSession();
    const first = container.exec(['sh', '-c', 'while echo on; do sleep 0.05; done; sleep 3'], writing);
    await writing.until(/on/);
    writing.leave();
    expect(await first).toEqual({ kind: 'failure', message: 'the client has gone' });
    const silent = new TestSession();
    const second = container.exec(['sh', '-c', 'echo $$; exec sleep 77'], silent, { killWhenGone: true });
    const pid = Number((await silent.until(/(\d+)\n/))[1]);
    silent.leave();
    await second;
    await expect.poll(async () => (await pod.alive()).includes(pid)).toBe(false);
    const kept = new TestSession();
    const third = container.exec(['sh', '-c', 'echo $$; exec sleep 78'], kept);
    const keptPid = Number((await kept.until(/(\d+)\n/))[1]);
    kept.leave();
    await third;
    expect(await pod.alive()).toContain(keptPid);
  });

  it('is not run in a container that has ended', async () => {
    // Proves the error after the container has ended, and that commands end with their container.
    const other = await pod.shell('sleep 60', { container: { name: 'other' } });
    const session = new TestSession();
    const running = other.exec(['sh', '-c', 'echo up; sleep 60'], session);
    await session.until(/up/);
    other.kill('SIGKILL');
    expect(await running).toEqual({ kind: 'exit', code: 137 });
    await other.exited;
    expect(await other.exec(['true'], new TestSession())).toEqual({
      kind: 'failure',
      message: 'the container is not running',
    });
  });
});

describe('a command with a terminal', () => {
  it('knows the size from the beginning, and its changes', async () => {
    // Proves the initial size, a resize that reaches the program, and the default size.
    const session = new TestSession({ tty: true, stdin: true }, { width: 101, height: 33 });
    const script = 'stty size; trap "stty size; exit 9" WINCH; echo ready; while :; do sleep 0.05; done';
    const result = container.exec(['sh', '-c', script], session);
    await session.until(/ready/);
    session.resize({ width: 0, height: 0 });
    session.resize({ width: 55, height: 44 });
    expect(await result).toEqual({ kind: 'exit', code: 9 });
    expect(session.out).toBe('33 101\r\nready\r\n44 55\r\n');
    const plain = new TestSession({ tty: true });
    await container.exec(['sh', '-c', 'stty size; echo $TERM; echo err >&2'], plain);
    expect(plain.out).toBe('24 80\r\nxterm\r\nerr\r\n');
  });

  it('is interrupted by Ctrl-C, and goes on', async () => {
    // Proves that the terminal is the program's controlling terminal: Ctrl-C ends the command, not the shell.
    const session = new TestSession({ tty: true, stdin: true });
    const result = container.exec(['sh', '-i'], session);
    session.stdin!.write('echo rea""dy; sleep 100\n');
    await session.until(/ready/);
    await expect.poll(() => pod.commands()).toContain('sleep 100');
    session.stdin!.write('\x03');
    session.stdin!.write('echo still he""re; exit 4\n');
    expect(await result).toEqual({ kind: 'exit', code: 4 });
    expect(session.out).toContain('still here');
  });

  it('is hung up when its client goes', async () => {
    // Proves that a shell and its children end with the terminal.
    const session = new TestSession({ tty: true, stdin: true });
    const result = container.exec(['sh', '-c', 'echo pid $$; sleep 90; true'], session);
    const pid = Number((await session.until(/pid (\d+)/))[1]);
    session.leave();
    expect((await result).kind).toBe('failure');
    await expect.poll(async () => (await pod.alive()).includes(pid)).toBe(false);
  });

  it('does not stop the agent when it does not read', async () => {
    // Proves that a full terminal blocks only its own input.
    const session = new TestSession({ tty: true, stdin: true });
    const result = container.exec(['sh', '-c', 'stty raw -echo; echo raw; sleep 0.5; echo end'], session);
    await session.until(/raw/);
    session.stdin!.write(Buffer.alloc(4 * mebibyte, 'x'));
    let turns = 0;
    const timer = setInterval(() => turns++, 10);
    expect(await result).toEqual({ kind: 'success' });
    clearInterval(timer);
    expect(turns).toBeGreaterThan(5);
    expect(session.out).toContain('end');
  });

  it('passes much output to a slow client', async () => {
    // Proves back-pressure through a terminal, without losing a byte.
    let received = 0;
    const stdout = new Writable({
      highWaterMark: 1024,
      write(chunk: Buffer, _encoding, done) {
        received += chunk.length;
        setTimeout(done, 1);
      },
    });
    const script = 'stty -opost; head -c 2000000 /dev/zero';
    expect(await container.exec(['sh', '-c', script], new TestSession({ tty: true, stdout }))).toEqual({
      kind: 'success',
    });
    stdout.end();
    await once(stdout, 'finish');
    expect(received).toBe(2_000_000);
  });
});
