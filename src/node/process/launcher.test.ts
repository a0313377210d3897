/** Proves that programs of the launcher are as those that the agent starts itself, and that none of them is lost. */
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { devNull, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { platform } from '../../platform.ts';
import { optimized } from '../../switches.ts';
import { IDLE_MS, Launcher, launcherCommand } from './launcher.ts';
import { Spawner } from './spawner.ts';
import type { ProgramFiles, StartedProgram, StartOptions } from './started-program.ts';

const shell = (script: string): readonly string[] => ['/bin/sh', '-c', script];
const env = { PATH: '/usr/bin:/bin', GREETING: 'hello' };
const nobody = { id: 0 };

/** Whether a program runs: without a parent that asks how it has ended, it is still listed. */
const isAlive = (pid: number): boolean => {
  try {
    return !/^State:\s*Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
};

async function useLauncher() {
  const spawner = new Spawner();
  const child = spawner.spawn(launcherCommand, {
    env,
    detached: true,
    stdio: ['ignore', 'ignore', 'ignore'],
    hasChannel: true,
  });
  spawner.close();
  const launcher = new Launcher(child);
  const ended = once(child, 'exit');
  child.channel!.ref();
  expect(await once(child, 'message')).toEqual([nobody, undefined]);
  expect(launcher.isReady).toBe(true);
  const folder = mkdtempSync(join(tmpdir(), 'wherry-launcher-'));
  onTestFinished(async () => {
    launcher.close();
    await ended;
    rmSync(folder, { recursive: true });
  });
  const [output, errors] = [join(folder, 'output'), join(folder, 'errors')];
  /** Starts a program whose output and errors go to files. */
  const launch = async (
    command: readonly string[],
    options: Partial<StartOptions> = {},
  ): Promise<StartedProgram> => {
    const opened = [openSync(output, 'w'), openSync(errors, 'w')] as const;
    const files: ProgramFiles = options.files ?? [undefined, ...opened];
    try {
      return await launcher.launch(command, { env, cwd: folder, detached: true, ...options, files });
    } finally {
      for (const file of opened) closeSync(file);
    }
  };
  return {
    child,
    launcher,
    folder,
    launch,
    ended,
    told: () => readFileSync(output, 'utf8'),
    errors: () => readFileSync(errors, 'utf8'),
  };
}

describe.runIf(platform.isLinux)('a program of the launcher', () => {
  it('has its environment, its folder and its files, and no others', async () => {
    const { launch, folder, told, errors } = await useLauncher();
    const { pid, exited } = await launch(
      shell(
        'echo "$$ $GREETING $(pwd)"; env | wc -l; echo to errors >&2; readlink /proc/$$/fd/[3-9] /proc/$$/fd/??*; cat; exit 3',
      ),
    );
    expect(await exited).toEqual({ code: 3, signal: null });
    const [first, variables, ...inherited] = told().trim().split('\n');
    expect(first).toBe(`${pid} hello ${folder}`);
    expect(Number(variables)).toBe(3);
    expect(errors()).toBe('to errors\n');
    expect(inherited.filter((name) => name !== devNull)).toEqual([]);
  });

  it('is in a session of its own', async () => {
    const { launch, told } = await useLauncher();
    const { pid, exited } = await launch(shell('cut -d" " -f5,6 /proc/$$/stat'));
    await exited;
    expect(told()).toBe(`${pid} ${pid}\n`);
  });

  it('ends by a signal', async () => {
    const { launch } = await useLauncher();
    const { pid, exited } = await launch(['sleep', '1000']);
    process.kill(pid, 'SIGTERM');
    expect(await exited).toEqual({ code: null, signal: 'SIGTERM' });
  });

  it('that cannot be started is an error, and others can be', async () => {
    const { launch } = await useLauncher();
    await expect(launch(['/no/such/program'])).rejects.toThrow('ENOENT');
    await expect(launch(['true'], { cwd: '/no/such/folder' })).rejects.toThrow('ENOENT');
    await expect(launch(['true'], { files: [undefined, 9999, 9999] })).rejects.toThrow('ENOENT');
    await expect(launch(['tr\0ue'])).rejects.toThrow('null bytes');
    const { exited } = await launch(['true']);
    expect(await exited).toEqual({ code: 0, signal: null });
  });

  it('is ended when the launcher is killed, and none can be started any more', async () => {
    const { child, launcher, launch, ended } = await useLauncher();
    const { pid, exited } = await launch(['sleep', '1000']);
    child.kill('SIGKILL');
    await ended;
    expect(await exited).toEqual({ code: null, signal: 'SIGKILL' });
    expect(launcher.isReady).toBe(false);
    await vi.waitFor(() => expect(isAlive(pid)).toBe(false));
    await expect(launch(['true'])).rejects.toThrow();
  });
});

describe.runIf(platform.isLinux)('the launcher', () => {
  it('ends when it has had no program for a while', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { launcher, launch, ended } = await useLauncher();
    const { pid, exited } = await launch(['sleep', '1000']);
    await vi.advanceTimersByTimeAsync(IDLE_MS);
    expect(launcher.isGone).toBe(false);
    process.kill(pid);
    await exited;
    await vi.advanceTimersByTimeAsync(IDLE_MS - 1);
    expect(launcher.isGone).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await ended;
    expect(launcher.isGone).toBe(true);
  });

  it.runIf(optimized).each([
    ['that clients ask for all at once', 'client', true],
    ['that come often', 'agent', false],
  ] as const)('starts commands %s, and ends with the spawner', async (_, asker, isAtOnce) => {
    const spawner = new Spawner();
    const file = openSync(devNull, 'r+');
    const parents = new Set<number>();
    const start = async (): Promise<void> => {
      const options = { env, cwd: '/', files: [undefined, file, file] as const, detached: true };
      const { pid, exited } = await spawner.start(['sleep', '1000'], options, asker);
      parents.add(Number(/^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]));
      process.kill(-pid, 'SIGKILL');
      expect(await exited).toEqual({ code: null, signal: 'SIGKILL' });
    };
    await start();
    expect(parents).toEqual(new Set([process.pid]));
    await vi.waitFor(
      async () => {
        if (isAtOnce) await Promise.all(Array.from({ length: 4 }, start));
        else await start();
        expect(parents.size).toBe(2);
      },
      { timeout: 20_000 },
    );
    closeSync(file);
    spawner.close();
    parents.delete(process.pid);
    const [launcher] = parents;
    await vi.waitFor(() => expect(isAlive(launcher!)).toBe(false));
  });
});
