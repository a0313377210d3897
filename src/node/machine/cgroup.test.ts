import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ProcessPod, TestSession } from '../runtime/process/process-pod.fixture.ts';
import { type CgroupSources, Cgroups } from './cgroup.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wherry-cgroup-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** A fake cgroup file system of plain folders: stores settings as files and enforces nothing. */
async function machine(mounts: readonly string[], own: readonly string[]): Promise<CgroupSources> {
  const sources = { mountinfo: join(folder, 'mountinfo'), own: join(folder, 'own') };
  await writeFile(sources.mountinfo, mounts.map((line) => line.replaceAll('AT', folder)).join('\n'));
  await writeFile(sources.own, own.join('\n'));
  return sources;
}

const read = (path: string): Promise<string> => readFile(join(folder, path), 'utf8');
const limits = { memoryBytes: 64 * 1024 * 1024, milliCpu: 250 };

describe('control groups', () => {
  it('are set in version 2', async () => {
    // Proves the files and values of cgroup v2, with controllers enabled at each level.
    const sources = await machine(['30 1 0:26 / AT/cg rw - cgroup2 cgroup rw'], ['0::/']);
    await mkdir(join(folder, 'cg'));
    await writeFile(join(folder, 'cg/cgroup.controllers'), 'cpuset cpu io memory pids\n');
    const cgroups = await Cgroups.open('agent', undefined, sources);
    const group = await cgroups!.create('uid', 'web', limits);
    expect(group.limitsMemory).toBe(true);
    for (const path of ['cg', 'cg/wherry', 'cg/wherry/agent', 'cg/wherry/agent/uid'])
      expect(await read(`${path}/cgroup.subtree_control`)).toBe('+memory +cpu +pids');
    const own = 'cg/wherry/agent/uid/web';
    expect(await read(`${own}/memory.max`)).toBe('67108864');
    expect(await read(`${own}/cpu.max`)).toBe('25000 100000');
    expect(await read(`${own}/pids.max`)).toBe('8192');
    expect(group.ranOutOfMemory).toBe(false);
    await writeFile(join(folder, own, 'memory.events'), 'low 0\noom 1\noom_kill 1\n');
    expect(group.ranOutOfMemory).toBe(true);
    await writeFile(join(folder, own, 'cgroup.procs'), '12\n345\n');
    expect(group.processes()).toEqual([12, 345]);
    // New limits while the group is in use.
    await group.limit({ memoryBytes: 128 * 1024 * 1024, milliCpu: 500 });
    expect(await read(`${own}/memory.max`)).toBe('134217728');
    expect(await read(`${own}/cpu.max`)).toBe('50000 100000');
    expect(group.memoryBytes).toBeUndefined();
    await writeFile(join(folder, own, 'memory.current'), '4096\n');
    expect(group.memoryBytes).toBe(4096);
  });

  it('are set in version 1, for the controllers the agent may use', async () => {
    // Proves the files of cgroup v1, and that a group of another manager is not used unless told to.
    const sources = await machine(
      [
        '31 1 0:27 / AT/cpu rw - cgroup cgroup rw,cpu,cpuacct',
        '32 1 0:28 / AT/memory rw - cgroup cgroup rw,memory',
        '33 1 0:29 /box AT/pids rw - cgroup cgroup rw,pids',
      ],
      ['3:pids:/box', '2:memory:/somebody/else', '1:cpu,cpuacct:/', '0::/'],
    );
    await mkdir(join(folder, 'memory/somebody/else'), { recursive: true });
    const cgroups = await Cgroups.open('agent', undefined, sources);
    const group = await cgroups!.create('uid', 'web', limits);
    expect(group.limitsMemory).toBe(process.getuid?.() !== 0);
    expect(await read('cpu/wherry/agent/uid/web/cpu.cfs_quota_us')).toBe('25000');
    expect(await read('pids/wherry/agent/uid/web/pids.max')).toBe('8192');
    if (process.getuid?.() === 0) expect(await readdir(join(folder, 'memory/somebody/else'))).toEqual([]);
    const asked = await Cgroups.open('agent', '/somebody/else', sources);
    const other = await asked!.create('uid', 'web', limits);
    expect(other.limitsMemory).toBe(true);
    expect(await read('memory/somebody/else/wherry/agent/uid/web/memory.limit_in_bytes')).toBe('67108864');
    await writeFile(
      join(folder, 'memory/somebody/else/wherry/agent/uid/web/memory.oom_control'),
      'oom_kill_disable 0\nunder_oom 0\noom_kill 2\n',
    );
    expect(other.ranOutOfMemory).toBe(true);
  });

  it('are not there where nothing can be set', async () => {
    // Proves that a machine without cgroups, or without rights to them, is not an error.
    expect(await Cgroups.open('a', undefined, await machine([], []))).toBeUndefined();
    const missing = { mountinfo: join(folder, 'no'), own: join(folder, 'no') };
    expect(await Cgroups.open('a', undefined, missing)).toBeUndefined();
    const empty = await machine(['30 1 0:26 / AT/cg rw - cgroup2 cgroup rw'], ['0::/']);
    await mkdir(join(folder, 'cg'));
    await writeFile(join(folder, 'cg/cgroup.controllers'), '\n');
    expect(await Cgroups.open('a', undefined, empty)).toBeUndefined();
  });

  it('hold real containers where this machine allows, and leave nothing', async ({ skip }) => {
    // Proves on a real kernel: all processes of a container are in its group, and the groups are removed with
    // the pod.
    const probe = await Cgroups.open('probe');
    await probe?.close();
    if (!probe) return skip();
    const pod = await ProcessPod.make({ roots: 'folder' });
    const container = await pod.start({
      command: ['cat'],
      container: { stdin: true, resources: { limits: { cpu: '500m' } } },
    });
    const session = new TestSession();
    // By now the main process is in the group, and so are its new children.
    await container.exec(['sh', '-c', 'sleep 0.2; cat /proc/self/cgroup'], session);
    expect(session.out).toContain('/uid-1/main\n');
    const identity = await readFile(join(pod.folder, 'agent-id'), 'utf8');
    container.kill('SIGKILL');
    await container.exited;
    await pod.runtime.removePod('uid-1');
    await pod.close();
    const left = (await readFile('/proc/self/mountinfo', 'utf8'))
      .split('\n')
      .filter((line) => / - cgroup2? /.test(line))
      .map((line) => join(line.split(' ')[4]!, 'wherry', identity))
      .filter(existsSync);
    expect(left).toEqual([]);
    expect(pod.errors).toEqual([]);
  });
});
