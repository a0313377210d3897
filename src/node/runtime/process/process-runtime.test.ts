import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from 'lmdb';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { StartFailure } from '../runtime.ts';
import { commandsWith, ProcessPod, TestSession } from './process-pod.fixture.ts';

const isLinux = process.platform === 'linux';
const isRoot = process.getuid?.() === 0;

let pod: ProcessPod;
beforeAll(async () => {
  pod = await ProcessPod.make({ roots: 'folder' });
});
afterEach(() => pod.clear());
afterAll(() => pod.close());

describe('how containers end', () => {
  it('tells exit codes and signals', async () => {
    // Proves exit code, signal and reason for each kind of end.
    for (const [script, exit] of [
      ['exit 0', { exitCode: 0, reason: 'Completed' }],
      ['exit 3', { exitCode: 3, reason: 'Error' }],
      ['kill -TERM $$', { exitCode: 143, signal: 15, reason: 'Error' }],
      ['kill -KILL $$', { exitCode: 137, signal: 9, reason: 'Error' }],
    ] as const) {
      const container = await pod.shell(script);
      const end = await container.exited;
      expect({ ...end, finishedAt: undefined }).toEqual({ ...exit, finishedAt: undefined });
      expect(end.finishedAt.getTime()).toBeGreaterThanOrEqual(container.startedAt.getTime());
      expect(container.id).toMatch(/^[0-9a-f]{64}$/);
    }
  });

  it('asks the whole group to end, and lets it say good-bye', async () => {
    // Proves that SIGTERM reaches parent and child, that both may clean up, and that their last output is in the log.
    const script = `trap 'echo parent; wait; exit 5' TERM
      sh -c 'trap "echo child; exit" TERM; echo ready; sleep 60 & wait' &
      wait`;
    const container = await pod.shell(script);
    const log = pod.runtime.log('uid-1', 'main', 0)!;
    for await (const _ of log.read(
      { follow: true, timestamps: false, limitBytes: 5 },
      new AbortController().signal,
    ));
    container.kill('SIGTERM');
    expect((await container.exited).exitCode).toBe(5);
    const lines = (await pod.log()).trim().split('\n').sort();
    expect(lines).toEqual(['child', 'parent', 'ready']);
    expect(await pod.alive()).toEqual([]);
  });

  it('leaves nobody behind: children, and those who went into a session of their own', async () => {
    // Proves that all processes end with the main process, also a daemon that left its group and session.
    const session = new TestSession();
    const container = await pod.shell(`sleep 61 & (setsid sleep 62 &) ; sleep 63`);
    await container.exec(['sh', '-c', 'sleep 64 > /dev/null 2>&1 & echo started'], session);
    expect(session.out).toBe('started\n');
    if (isLinux) expect((await pod.alive()).length).toBeGreaterThanOrEqual(4);
    container.kill('SIGKILL');
    expect(await container.exited).toMatchObject({ exitCode: 137, signal: 9 });
    expect(await pod.alive()).toEqual([]);
  });

  it.runIf(isLinux)('leaves nobody behind who has left session, environment and parents', async () => {
    // Proves that a daemon with a cleared environment, its own session and another parent ends with its
    // container: with and without cgroups and namespaces.
    for (const options of [{ roots: 'folder', cgroups: false }, {}] as const) {
      const own = await ProcessPod.make(options);
      const seconds = `3600.${randomInt(1e9)}`;
      const container = await own.shell(
        `env -i setsid sh -c 'cd /; sleep ${seconds} >/dev/null 2>&1 &'; sleep 600`,
      );
      await expect.poll(() => commandsWith(seconds)).toHaveLength(1);
      container.kill('SIGKILL');
      await container.exited;
      expect(commandsWith(seconds)).toEqual([]);
      // The same for an exec command.
      const other = await own.start({ container: { name: 'other' } });
      await other.exec(['sh', '-c', `env -i setsid sleep ${seconds} >/dev/null 2>&1 &`], new TestSession());
      await expect.poll(() => commandsWith(seconds)).toHaveLength(1);
      other.kill('SIGKILL');
      await other.exited;
      expect(commandsWith(seconds)).toEqual([]);
      await own.close();
    }
  });

  it('ends when only the main process has, whoever holds its output', async () => {
    // Proves that a child that holds the pipe does not keep a container alive.
    const container = await pod.shell('sleep 60 & echo done');
    expect((await container.exited).exitCode).toBe(0);
    expect(await pod.log()).toBe('done\n');
  });

  it('says that there is nothing to run', async () => {
    // Proves that a container without a command, from an image without one, waits with a reason instead of failing.
    const failure = await pod.start({ command: [], container: { image: 'scratch' } }).catch((error) => error);
    expect(failure).toMatchObject({ reason: 'CreateContainerError' });
    expect(failure.message).toMatch(/^no command specified: image "scratch" has none/);
  });

  it('says what cannot be run', async () => {
    // Proves failed starts (missing, not executable, a folder), and that nothing is left of them.
    const failure = async (program: string): Promise<unknown> =>
      pod.start({ command: [program] }).catch((error) => error);
    expect(await failure('no-such-program')).toMatchObject({
      reason: 'ContainerCannotRun',
      exitCode: 127,
      message: 'exec: "no-such-program": executable file not found in $PATH',
    });
    expect(await failure('/etc/passwd')).toMatchObject({
      reason: 'ContainerCannotRun',
      exitCode: 126,
      message: 'exec: "/etc/passwd": permission denied',
    });
    expect(await failure('/nowhere/x')).toMatchObject({ exitCode: 127 });
    expect(await failure('/etc')).toMatchObject({ exitCode: 126 });
    expect(await failure('/etc')).toBeInstanceOf(StartFailure);
    await pod.start({ command: ['nothing'], container: { name: 'none' } }).catch(() => undefined);
    expect(await readdir(join(pod.folder, 'pods/uid-1/containers/none'))).toEqual([]);
  });
});

describe('what a container gets', () => {
  it('is its environment and nothing of the agent', async () => {
    // Proves that the environment has exactly the given variables and the runtime's own.
    process.env['AGENT_SECRET'] = 'x';
    const env = { PATH: process.env['PATH']!, ONE: '1', 'dotted.name': 'yes' };
    const container = await pod.start({ command: ['env'], env });
    await container.exited;
    delete process.env['AGENT_SECRET'];
    const names = (await pod.log())
      .trim()
      .split('\n')
      .map((line) => line.split('=')[0]);
    expect(names.sort()).toEqual(
      ['HOME', 'ONE', 'PATH', 'WHERRY_CONTAINER', 'WHERRY_ROOT', 'dotted.name'].sort(),
    );
  });

  it.runIf(isLinux)('is no descriptor beyond the first three', async () => {
    // Proves that children do not inherit files that the agent has open without close-on-exec (a store, a terminal).
    const store = open({ path: join(pod.folder, 'store') });
    await store.put('key', 'secret');
    const script = 'ls -l /proc/self/fd | grep -v "^total"';
    const container = await pod.shell(`${script}; sleep 60`);
    const sessions = [new TestSession({ tty: true }), new TestSession({ tty: true }), new TestSession()];
    const first = container.exec(['sh', '-c', `${script}; read line`], sessions[0]!);
    await sessions[0]!.until(/\/fd\r\n/);
    await container.exec(['sh', '-c', script], sessions[1]!);
    await container.exec(['sh', '-c', script], sessions[2]!);
    sessions[0]!.leave();
    await first;
    container.kill('SIGKILL');
    await container.exited;
    for (const text of [await pod.log(), ...sessions.map(({ out }) => out)]) {
      expect(text).not.toContain('store');
      for (const line of text.trim().split(/\r?\n/)) {
        const [, number, target] = / (\d+) -> (.*)$/.exec(line)!;
        // Descriptor 3 is the listed folder itself; the others point at /dev/null.
        if (Number(number) > 2) expect(target).toMatch(/^(\/dev\/null|\/proc\/\d+\/fd)$/);
      }
    }
    await store.close();
  });

  it('is real pipes, which can be opened by name', async () => {
    // Proves that /dev/stdout, /dev/stderr and /dev/stdin work as programs expect.
    const container = await pod.shell('echo a > /dev/stdout; echo b > /dev/stderr; sleep 60');
    const session = new TestSession({ stdin: true });
    session.stdin!.end('typed');
    expect(await container.exec(['sh', '-c', 'cat /dev/stdin; echo e > /dev/stderr'], session)).toEqual({
      kind: 'success',
    });
    expect([session.out, session.err]).toEqual(['typed', 'e\n']);
    // Also when the input has ended long before it is opened.
    const late = new TestSession({ stdin: true });
    late.stdin!.end();
    expect(await container.exec(['sh', '-c', 'sleep 0.1; cat /dev/stdin; echo end'], late)).toEqual({
      kind: 'success',
    });
    expect(late.out).toBe('end\n');
    expect((await pod.log({ follow: true, limitBytes: 4 })).split('\n').sort()).toEqual(['', 'a', 'b']);
  });

  it('has a working directory: given, found, or made', async () => {
    // Proves the default, a folder of the machine, one in the root, and a missing one.
    const where = async (workingDir: string | undefined): Promise<string> => {
      const container = await pod.start({ command: ['pwd'], workingDir });
      await container.exited;
      return (await pod.log()).trim();
    };
    const root = join(pod.folder, 'pods/uid-1/containers/main/0.root');
    expect(await where(undefined)).toBe(root);
    expect(await where('/usr')).toBe('/usr');
    expect(await where('/not/there')).toBe(join(root, 'not/there'));
  });

  it.runIf(isRoot && isLinux)('runs as the user it asks for', async () => {
    // Proves user, group, supplementary groups, no-new-privs and dropped capabilities, for exec as well.
    const container = await pod.shell(
      'id -u; id -g; id -G; grep -E "NoNewPrivs|CapBnd" /proc/self/status; sleep 60',
      {
        spec: {
          containers: [],
          securityContext: { runAsUser: 4321, runAsGroup: 4322, fsGroup: 77, supplementalGroups: [78] },
        },
        container: { securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } } },
      },
    );
    const session = new TestSession();
    await container.exec(['id', '-u'], session);
    expect(session.out).toBe('4321\n');
    const log = await pod.log({ follow: true, limitBytes: 60 });
    expect(log).toMatch(/^4321\n4322\n4322 77 78\nCapBnd:\s0000000000000000\nNoNewPrivs:\s1\n$/);
  });

  it.runIf(isRoot)('gets to its folder as another user, below a data folder that is closed', async () => {
    // Proves that other users may pass through the data folder, but not list it.
    const dataDir = await mkdtemp(join(tmpdir(), 'wherry-data-'));
    const own = await ProcessPod.make({ folder: join(dataDir, 'node'), roots: 'folder' });
    const spec = { containers: [], securityContext: { runAsUser: 4321 } };
    const container = await own.shell(`cd "$WHERRY_ROOT" && id -u && ls ${dataDir} || exit 9`, { spec });
    expect((await container.exited).exitCode).toBe(9);
    expect(await own.log()).toMatch(/^4321\n.*Permission denied\n$/);
    await own.close();
    await rm(dataDir, { recursive: true });
  });

  it.runIf(isRoot && isLinux)('never runs its own loader settings with the rights of the agent', async () => {
    // Proves that LD_PRELOAD and the like are set only after the change of user.
    const library = join(pod.folder, 'missing.so');
    const container = await pod.start({
      command: ['sh', '-c', 'echo "$LD_PRELOAD"'],
      env: { PATH: process.env['PATH']!, LD_PRELOAD: library },
      spec: { containers: [], securityContext: { runAsUser: 4321 } },
    });
    expect((await container.exited).exitCode).toBe(0);
    const log = await pod.log();
    expect(log).toContain(`${library}\n`);
    // The loader complains once per program: for the shell, and for none of those before it.
    expect(log.match(/object '[^']*missing.so' from LD_PRELOAD cannot be preloaded/g)).toHaveLength(1);
  });

  it.runIf(isRoot)('refuses root where the pod forbids it', async () => {
    // Proves runAsNonRoot, with and without runAsUser.
    const start = (securityContext: object): Promise<unknown> =>
      pod.shell('true', { container: { securityContext } }).catch((error) => error);
    expect(await start({ runAsNonRoot: true, runAsUser: 0 })).toMatchObject({
      reason: 'CreateContainerError',
      message: "container's runAsUser breaks non-root policy",
    });
    const image = { entrypoint: [], args: [], user: 'root' };
    const container = { securityContext: { runAsNonRoot: true } };
    await expect(pod.shell('true', { container, image })).rejects.toMatchObject({
      reason: 'CreateContainerError',
      message: 'container has runAsNonRoot and image will run as root',
    });
  });
});

describe('termination messages', () => {
  it('come from the file, and from its end', async () => {
    // Proves the default path, another path, and the bound of 4096 bytes.
    const message = async (script: string, container = {}): Promise<string | undefined> =>
      (await (await pod.shell(script, { container })).exited).message;
    expect(await message('echo bye > "$WHERRY_ROOT/dev/termination-log"')).toBe('bye\n');
    expect(await message('echo x > "$WHERRY_ROOT/tmp/why"', { terminationMessagePath: '/tmp/why' })).toBe(
      'x\n',
    );
    expect(await message('echo nothing')).toBeUndefined();
    const long = await message('seq 1 5000 > "$WHERRY_ROOT/dev/termination-log"');
    expect(long).toHaveLength(4096);
    expect(long!.endsWith('4999\n5000\n')).toBe(true);
  });

  it('fall back to the log after a failure', async () => {
    // Proves FallbackToLogsOnError: only on failure, at most 80 lines and 2048 bytes, and only without a
    // message file.
    const container = { terminationMessagePolicy: 'FallbackToLogsOnError' };
    const message = async (script: string): Promise<string | undefined> =>
      (await (await pod.shell(script, { container })).exited).message;
    expect(await message('seq 1 200; exit 1')).toBe(
      `${Array.from({ length: 80 }, (_, i) => i + 121).join('\n')}\n`,
    );
    expect(await message('seq 100000 100999; exit 1')).toHaveLength(560);
    expect(await message(`head -c 9000 /dev/zero | tr '\\0' x; exit 1`)).toBe('x'.repeat(2048));
    expect(await message('echo fine')).toBeUndefined();
    expect(await message('echo log; echo said > "$WHERRY_ROOT/dev/termination-log"; exit 1')).toBe('said\n');
  });
});

describe('logs', () => {
  it('are kept for the last two runs', async () => {
    // Proves that each run has its own log, and that older ones are deleted.
    for (let attempt = 0; attempt < 4; attempt++)
      await (await pod.shell(`echo run ${attempt}`, { attempt })).exited;
    expect(pod.runtime.log('uid-1', 'main', 1)).toBeUndefined();
    expect(await pod.log({}, 2)).toBe('run 2\n');
    expect(await pod.log({}, 3)).toBe('run 3\n');
    expect(pod.runtime.log('uid-1', '../main', 3)).toBeUndefined();
  });

  it('are followed until the container ends', async () => {
    // Proves that a follower gets lines as they are written, and ends with the container.
    const container = await pod.shell('echo one; read go; echo two; echo err >&2', {
      container: { stdin: true },
    });
    const follower = pod.log({ follow: true });
    const first = await pod.log({ follow: true, limitBytes: 4 });
    expect(first).toBe('one\n');
    const session = new TestSession({ stdin: true });
    void container.attach(session);
    session.stdin!.write('\n');
    expect((await follower).split('\n').sort()).toEqual(['', 'err', 'one', 'two']);
    await container.exited;
  });
});

describe('usage', () => {
  it('counts what all processes of a container use', async () => {
    // Proves CPU time, memory and log size of a container and its children.
    const busy = `node -e "while(process.cpuUsage().user<250e3); console.log('hot'); setInterval(()=>0,1000)"`;
    const container = await pod.shell(`${busy} & wait`);
    await pod.log({ follow: true, limitBytes: 4 });
    const [used] = await pod.runtime.usage();
    expect(used).toMatchObject({
      uid: 'uid-1',
      container: 'main',
      startedAt: container.startedAt,
      logBytes: 44,
    });
    expect(used!.cpuNanoseconds).toBeGreaterThan(200e6);
    expect(used!.rssBytes).toBeGreaterThan(20e6);
    container.kill('SIGKILL');
    await container.exited;
    expect(await pod.runtime.usage()).toEqual([]);
  });

  it.runIf(isLinux)('ends a container that takes more memory than it may', async () => {
    // Proves OOMKilled without cgroups, and that a container below its limit is left alone.
    const own = await ProcessPod.make({ roots: 'folder', cgroups: false });
    const small = await own.shell('sleep 60', {
      container: { name: 'small', resources: { limits: { memory: '64Mi' } } },
    });
    const big = await own.start({
      command: ['node', '-e', 'const a=[]; setInterval(() => a.push(Buffer.alloc(8e6, 1)), 5)'],
      container: { name: 'big', resources: { limits: { memory: '200Mi' } } },
    });
    expect(await big.exited).toMatchObject({ exitCode: 137, reason: 'OOMKilled' });
    expect((await own.runtime.usage()).map(({ container }) => container)).toEqual(['small']);
    small.kill('SIGKILL');
    expect(await small.exited).toMatchObject({ exitCode: 137, reason: 'Error' });
    await own.close();
  });
});

describe('limits', () => {
  it.runIf(isLinux)('of a container that runs can be others', async () => {
    // Proves that a new memory limit is enforced, and refused where the container already uses more.
    const own = await ProcessPod.make({ roots: 'folder', cgroups: false });
    const grows =
      'const a=[]; process.on("SIGUSR1", () => setInterval(() => a.push(Buffer.alloc(8e6, 1)), 5))';
    const limited = (memory: string) => ({ name: 'main', resources: { limits: { memory } } });
    const container = await own.start({
      command: ['node', '-e', `${grows}; setInterval(() => 0, 1000); console.log('hot')`],
      container: limited('2Gi'),
    });
    await own.log({ follow: true, limitBytes: 4 });
    await expect(own.runtime.resize('uid-1', limited('1Mi'))).rejects.toThrow(
      /^attempting to set pod memory limit \(1048576\) below current usage \(\d+\)$/,
    );
    await own.runtime.resize('uid-1', limited('200Mi'));
    container.kill('SIGUSR1');
    expect(await container.exited).toMatchObject({ exitCode: 137, reason: 'OOMKilled' });
    await own.close();
  });
});

describe('pods', () => {
  it('are removed with everything', async () => {
    // Proves that removal ends what runs, leaves no folder, and is idempotent.
    const own = await ProcessPod.make({ roots: 'folder' });
    const container = await own.shell('trap "" TERM; sleep 60');
    await own.runtime.removePod('uid-1');
    expect((await container.exited).exitCode).toBe(137);
    expect(existsSync(join(own.folder, 'pods/uid-1'))).toBe(false);
    await own.runtime.removePod('uid-1');
    await expect(own.runtime.dial('uid-1', 80)).rejects.toThrow('not on this node');
    await expect(own.shell('true')).resolves.toBeDefined();
    await own.close();
  });

  it('cannot have users of their own', async () => {
    // Proves that a pod that may be root because of them is not given the root of the machine.
    const own = { ...pod.pod, metadata: { name: 'own', uid: 'uid-own' } };
    const spec = { ...own.spec, hostUsers: false };
    const words = "Failed to create pod sandbox: can't set `spec.hostUsers: false`,";
    await expect(pod.runtime.preparePod({ ...own, spec })).rejects.toThrow(
      `${words} runtime does not support user namespaces`,
    );
    const classed = { ...spec, runtimeClassName: 'fast' };
    await expect(pod.runtime.preparePod({ ...own, spec: classed })).rejects.toThrow(
      `${words} RuntimeClass handler "process" does not support user namespaces`,
    );
  });

  it('cannot get out of their folder by their names', async () => {
    // Proves that hostile uids and container names are refused.
    const bad = { metadata: { name: 'x', uid: '../../etc' }, spec: { containers: [] } };
    await expect(pod.runtime.preparePod(bad)).rejects.toThrow('cannot be the name of a folder');
    await expect(pod.start({ container: { name: '../x' } })).rejects.toBeInstanceOf(StartFailure);
    await pod.runtime.removePod('..');
    expect(existsSync(pod.folder)).toBe(true);
  });

  it('are reached at their ports', async () => {
    // Proves a connection through the runtime, and the message of a refused one.
    const server = createServer((socket) => socket.end('hello'));
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const { port } = server.address() as { port: number };
    const socket = await pod.runtime.dial('uid-1', port);
    let text = '';
    for await (const chunk of socket) text += chunk;
    expect(text).toBe('hello');
    socket.destroy();
    await new Promise((resolve) => server.close(resolve));
    await expect(pod.runtime.dial('uid-1', port)).rejects.toThrow('connection refused');
    await expect(pod.runtime.reach('uid-1', port)).rejects.toThrow(
      `dial tcp 127.0.0.1:${port}: connect: connection refused`,
    );
    await expect(pod.runtime.reach('other', port)).rejects.toThrow('not on this node');
  });
});

describe('a new agent in the same folder', () => {
  it('removes what is gone and keeps the logs of what is not', async () => {
    // Proves recovery: roots of dead containers and folders of pods that are no longer bound are removed.
    const before = await ProcessPod.make({ roots: 'folder' });
    await (await before.shell('echo kept')).exited;
    const pods = join(before.folder, 'pods');
    await mkdir(join(pods, 'uid-2/containers'), { recursive: true });
    await mkdir(join(pods, 'uid-1/containers/main/0.root/x'), { recursive: true });
    await writeFile(join(pods, 'uid-1/containers/main/0.termination'), '');
    await before.runtime.close();
    const again = await ProcessPod.make({ folder: before.folder, roots: 'folder' });
    expect(await readdir(pods)).toEqual(['uid-1']);
    expect(await readdir(join(pods, 'uid-1/containers/main'))).toEqual(['0.log']);
    expect(await again.log()).toBe('kept\n');
    await again.close();
  });
});
