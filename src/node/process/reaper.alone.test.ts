import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { build } from 'esbuild';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { commandsWith, ProcessPod } from '../runtime/process/process-pod.fixture.ts';
import { bootId, findProcesses, listProcesses, parsePs, parseStat, startOf } from './process-table.ts';
import { signalProcess } from './signals.ts';
import { Spawner } from './spawner.ts';

const isLinux = process.platform === 'linux';

/** An agent in its own process: containers with children, a daemon among them, and an exec command. */
const agentCode = `
import { ProcessPod, TestSession } from '../runtime/process/process-pod.fixture.ts';
const pod = await ProcessPod.make({ folder: process.argv[2], roots: 'folder', cgroups: false });
await pod.shell('sleep 301 & (setsid sleep 302 &); sleep 303', { container: { name: 'one' } });
const container = await pod.shell('trap "" TERM HUP INT; sleep 304; sleep 305', { container: { name: 'two' } });
void container.exec(['sh', '-c', 'sleep 306'], new TestSession());
await pod.shell('env -i setsid sh -c "cd /; sleep $1 >/dev/null 2>&1 &"; exec sleep 308'.replace('$1', process.argv[3]), {
  container: { name: 'four' },
});
const terminal = await container.exec(['true'], new TestSession({ tty: true }));
const failed = await pod.shell('true', { container: { name: 'three', tty: true } }).catch((error) => error);
console.log(JSON.stringify({ terminal, failed: failed.message, reason: failed.reason }));
setInterval(() => undefined, 1000);
`;

let script: string;
let codeFolder: string;
beforeAll(async () => {
  codeFolder = await mkdtemp(join(tmpdir(), 'wherry-agent-'));
  script = join(codeFolder, 'agent.mjs');
  await build({
    stdin: { contents: agentCode, resolveDir: import.meta.dirname, loader: 'ts' },
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    outfile: script,
    logLevel: 'silent',
  });
});
afterAll(() => rm(codeFolder, { recursive: true, force: true }));

describe.runIf(isLinux)('an agent that is killed', () => {
  let folder: string;
  let agent: ChildProcess;
  let said: string;
  let identity: string;
  /** Sleep time of a daemon that has left session, environment and parent: its command line identifies it. */
  let hidden: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'wherry-killed-'));
    hidden = `3600.${randomInt(1e9)}`;
    agent = spawn(process.execPath, [script, folder, hidden], { stdio: ['ignore', 'pipe', 'inherit'] });
    said = await new Promise<string>((resolve, reject) => {
      createInterface({ input: agent.stdout! }).once('line', resolve);
      agent.once('exit', () => reject(new Error('the agent has ended by itself')));
    });
    identity = await readFile(join(folder, 'agent-id'), 'utf8');
  });
  afterEach(async () => {
    if (agent.exitCode === null && agent.signalCode === null) await kill();
    for (const pid of await alive()) signalProcess(pid, 'SIGKILL');
    await rm(folder, { recursive: true, force: true });
  });

  const alive = (): Promise<number[]> =>
    findProcesses(new Set(), { text: `WHERRY_CONTAINER=${identity}/`, prefix: true });
  const kill = (): Promise<unknown> => {
    const gone = new Promise((resolve) => agent.once('close', resolve));
    agent.kill('SIGKILL');
    return gone;
  };

  it('takes everything with it', async () => {
    // Proves that the reaper ends children, daemons and commands, and then itself, when the agent is gone.
    // Also proves the message for a missing optional package, which this copy of the agent's code cannot
    // find.
    const missing = 'a terminal needs the optional package @lydell/node-pty';
    expect(JSON.parse(said)).toEqual({
      terminal: { kind: 'failure', message: missing },
      failed: missing,
      reason: 'RunContainerError',
    });
    const names = async (): Promise<string[]> => {
      const lines = await Promise.all(
        (await alive()).map((pid) => readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '')),
      );
      return lines.map((line) => line.replaceAll('\0', ' ').trim()).filter((line) => /^sleep/.test(line));
    };
    await expect
      .poll(async () => (await names()).sort())
      .toEqual([301, 302, 303, 304, 306, 308].map((n) => `sleep ${n}`));
    await expect.poll(() => commandsWith(hidden)).toHaveLength(1);
    await kill();
    await expect.poll(alive).toEqual([]);
    await expect.poll(() => commandsWith(hidden)).toEqual([]);
    const reapers = { text: `WHERRY_REAPS=${identity}`, prefix: false };
    await expect.poll(() => findProcesses(new Set(), reapers)).toEqual([]);
  });

  it('leaves a list that the next one clears, when its reaper was killed as well', async () => {
    // Proves recovery by file and mark, and that a pid that was reused by another process is left alone.
    const [reaper] = await findProcesses(new Set(), { text: `WHERRY_REAPS=${identity}`, prefix: false });
    await expect.poll(async () => (await alive()).length).toBeGreaterThan(4);
    await expect.poll(() => commandsWith(hidden)).toHaveLength(1);
    agent.kill('SIGSTOP');
    signalProcess(reaper!, 'SIGKILL');
    await kill();
    expect((await alive()).length).toBeGreaterThan(4);
    const path = join(folder, 'processes.json');
    const list = JSON.parse(await readFile(path, 'utf8')) as { processes: object[] };
    expect(list.processes).toHaveLength(4);
    expect(commandsWith(hidden)).toHaveLength(1);
    const stranger = spawn('sleep', ['307'], { detached: true, stdio: 'ignore' });
    list.processes.push({ pid: stranger.pid, start: '1' });
    await writeFile(path, JSON.stringify(list));
    const next = await ProcessPod.make({ folder, roots: 'folder', cgroups: false });
    expect(await alive()).toEqual([]);
    expect(commandsWith(hidden)).toEqual([]);
    expect(signalProcess(stranger.pid!, 0)).toBe(true);
    stranger.kill('SIGKILL');
    await next.runtime.close();
  });
});

describe.runIf(isLinux)('a reaper', () => {
  it('is replaced when it is killed, and knows what there is', async () => {
    // Proves that a killed reaper is replaced.
    const pod = await ProcessPod.make({ roots: 'folder' });
    await pod.start();
    const identity = await readFile(join(pod.folder, 'agent-id'), 'utf8');
    const mark = { text: `WHERRY_REAPS=${identity}`, prefix: false };
    const [first] = await findProcesses(new Set(), mark);
    signalProcess(first!, 'SIGKILL');
    await expect
      .poll(async () => (await findProcesses(new Set(), mark)).filter((pid) => pid !== first))
      .toHaveLength(1);
    await pod.close();
    expect(await findProcesses(new Set(), mark)).toEqual([]);
    expect(pod.errors).toEqual([]);
  });
});

describe('the process table', () => {
  it('reads what the kernel tells, whatever a process is called', () => {
    // Proves the fields, with a process name that contains parentheses.
    const fields = `S 7 8 9 0 -1 4194304 100 200 3 4 50 60 7 8 20 0 1 0 123456 1000 25 ${'0 '.repeat(28)}`;
    expect(parseStat(`4242 (a) R (b) ${fields}`)).toMatchObject({
      pid: 4242,
      dead: false,
      session: 9,
      cpuNanoseconds: 1.25e9,
      pageFaults: 300,
      majorPageFaults: 7,
      startTicks: '123456',
    });
  });

  // busybox's ps has other options; systems without /proc do not have it.
  it.skipIf(spawnSync('ps', ['-axo', 'pid=']).status !== 0)(
    'reads ps where there is nothing else',
    async () => {
      // Proves times of all lengths, and that the output of the real ps is parsed.
      const text = '  12  12  2048 00:01\n 13 12 10 1-02:03:04\n 14 14 0 12:34.56\nodd line\n';
      expect(
        parsePs(text).map(({ pid, session, rssBytes, cpuNanoseconds }) => [
          pid,
          session,
          rssBytes,
          cpuNanoseconds / 1e9,
        ]),
      ).toEqual([
        [12, 12, 2_097_152, 1],
        [13, 12, 10_240, 93_784],
        [14, 14, 0, 754.56],
      ]);
      const spawner = new Spawner();
      const { stdout } = await spawner.run(['ps', '-axo', 'pid=,pgid=,rss=,time=']);
      expect(parsePs(stdout).map(({ pid }) => pid)).toContain(process.pid);
      spawner.close();
    },
  );

  it('knows this process', async () => {
    // Proves the list and the start time with the test's own process.
    const spawner = new Spawner();
    const own = (await listProcesses(spawner)).find(({ pid }) => pid === process.pid);
    expect(own!.rssBytes / process.memoryUsage.rss()).toBeCloseTo(1, 0);
    expect(await startOf(process.pid, spawner)).toBeTruthy();
    expect(await startOf(2 ** 22 + 1, spawner)).toBeUndefined();
    if (isLinux) expect(bootId()).toMatch(/^[0-9a-f-]{36}$/);
    spawner.close();
  });
});
