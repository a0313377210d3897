/**
 * Limits of containers by control groups, where the agent may create some: `wherry/<agent>/<uid>/<container>`
 * below a parent group. A cgroup subtree has one manager, so the agent uses its own group as parent only if
 * no other manager is likely (it is the root of the visible tree, or owned by the agent's user); otherwise
 * the user has to name the parent.
 */
import { readFileSync } from 'node:fs';
import { access, constants, mkdir, readdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Container } from '../../api/generated/types.ts';
import { parseQuantity, toNumber } from '../../api/values/quantity.ts';
import { signalProcess } from '../process/signals.ts';

/** Maximum number of processes and threads of one container. */
const pidsMax = 8192;
const periodMicroseconds = 100_000;
/** The kernel's minimum for a CPU quota. */
const quotaMicrosecondsMin = 1_000;
/** Attempts to remove a group: after its processes were killed it takes a moment to become empty. */
const removeTries = 50;
const removeWaitMs = 20;

const controllers = ['memory', 'cpu', 'pids'] as const;
type Controller = (typeof controllers)[number];

export interface CgroupLimits {
  readonly memoryBytes?: number;
  readonly milliCpu?: number;
  /** The requested CPU: its share when processors are scarce. */
  readonly milliCpuRequest?: number;
}

/** The kernel's files about cgroups; tests use others. */
export interface CgroupSources {
  readonly mountinfo: string;
  readonly own: string;
}

const kernelSources: CgroupSources = { mountinfo: '/proc/self/mountinfo', own: '/proc/self/cgroup' };

/** One hierarchy for all controllers (cgroup v2), or one for each (v1). */
interface Hierarchy {
  readonly version: 1 | 2;
  readonly folders: ReadonlyMap<Controller, string>;
  /** Mount points, by controller. */
  readonly points: ReadonlyMap<Controller, string>;
}

export class Cgroups {
  private constructor(private readonly hierarchy: Hierarchy) {}

  /** The agent's own folders, one for each hierarchy. */
  get folders(): string[] {
    return [...new Set(this.hierarchy.folders.values())];
  }

  /** Undefined when limits cannot be set with cgroups here. */
  static async open(agent: string, parent?: string, sources = kernelSources): Promise<Cgroups | undefined> {
    try {
      const hierarchy = await findHierarchy(agent, parent, sources);
      return hierarchy && new Cgroups(hierarchy);
    } catch {
      return undefined;
    }
  }

  async create(uid: string, container: string, limits: CgroupLimits): Promise<Cgroup> {
    const { version, folders, points } = this.hierarchy;
    const own = new Map<Controller, string>();
    for (const [controller, folder] of folders) {
      const pod = join(folder, uid);
      await mkdir(join(pod, container), { recursive: true });
      if (version === 2) await enable(pod, [...folders.keys()]);
      own.set(controller, join(pod, container));
    }
    const cgroup = new Cgroup(version, own, points);
    await cgroup.limit(limits);
    return cgroup;
  }

  /** Removes the groups that an earlier agent has left of pods for which `keeps` is false. */
  async sweep(keeps: (uid: string) => boolean): Promise<void> {
    for (const folder of this.folders)
      for (const uid of await foldersIn(folder)) if (!keeps(uid)) await removeTree(join(folder, uid));
  }

  async removePod(uid: string): Promise<void> {
    await this.sweep((other) => other !== uid);
  }

  /** Removes the agent's group, and the parent of all agents' groups if this was the last. */
  async close(): Promise<void> {
    await this.sweep(() => false);
    for (const folder of this.folders)
      for (const path of [folder, dirname(folder)]) await rmdir(path).catch(() => undefined);
  }
}

export class Cgroup {
  constructor(
    private readonly version: 1 | 2,
    private readonly folders: ReadonlyMap<Controller, string>,
    /** Mount points of the hierarchies, by controller. */
    private readonly points: ReadonlyMap<Controller, string> = new Map(),
  ) {}

  /** Mounts that show a container its own groups instead of the machine's. */
  views(): { readonly path: string; readonly source: string; readonly readOnly: true }[] {
    const views = [...this.folders].flatMap(([controller, source]) => {
      const path = this.points.get(controller);
      return path === undefined ? [] : [{ path, source, readOnly: true as const }];
    });
    return [...new Map(views.map((view) => [view.path, view])).values()];
  }

  /**
   * Moves a process into the group right after its start. Later children start in the group; earlier ones are
   * found as children of the moved process. The kernel takes many milliseconds for a move, so the start does
   * not wait for it.
   */
  async join(pid: number): Promise<void> {
    const members = [pid];
    for (let at = 0; at < members.length && at < pidsMax; at++) {
      // Ignore errors: a process that has already ended needs no limits.
      for (const folder of new Set(this.folders.values()))
        await writeFile(join(folder, 'cgroup.procs'), String(members[at])).catch(() => undefined);
      members.push(...childrenOf(members[at]!));
    }
  }

  /** Sets the limits of a new group, or changes those of one in use. */
  async limit(limits: CgroupLimits): Promise<void> {
    for (const [controller, folder] of this.folders)
      for (const [file, value] of settings(this.version, controller, limits))
        await writeFile(join(folder, file), value);
  }

  /** Memory in use; undefined where the kernel does not account for it. */
  get memoryBytes(): number | undefined {
    const folder = this.folders.get('memory');
    if (!folder) return undefined;
    const text = tryRead(join(folder, this.version === 2 ? 'memory.current' : 'memory.usage_in_bytes'));
    return text === '' ? undefined : Number(text);
  }

  /** Whether the kernel enforces a memory limit. */
  get limitsMemory(): boolean {
    return this.folders.has('memory');
  }

  /** All processes in the group, including those that have left their session. */
  processes(): number[] {
    const [folder] = this.folders.values();
    return folder ? membersOf(folder) : [];
  }

  /** Whether the kernel's OOM killer has ended a process of the group. */
  get ranOutOfMemory(): boolean {
    const folder = this.folders.get('memory');
    if (!folder) return false;
    const text = tryRead(join(folder, this.version === 2 ? 'memory.events' : 'memory.oom_control'));
    return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0) > 0;
  }

  async remove(): Promise<void> {
    for (const folder of new Set(this.folders.values())) await removeTree(folder);
  }
}

async function findHierarchy(
  agent: string,
  parent: string | undefined,
  sources: CgroupSources,
): Promise<Hierarchy | undefined> {
  const mounts = parseMounts(await readFile(sources.mountinfo, 'utf8'));
  const own = parseOwn(await readFile(sources.own, 'utf8'));
  const folders = new Map<Controller, string>();
  const points = new Map<Controller, string>();
  for (const controller of controllers) {
    const mount = mounts.get(controller);
    const top = await divisible(mount, own.get(controller), parent);
    const folder = top && join(top, 'wherry', agent);
    if (!folder || !(await makes(folder))) continue;
    folders.set(controller, folder);
    points.set(controller, mount!.point);
  }
  if (folders.size) return { version: 1, folders, points };
  const mount = mounts.get('unified');
  const top = await divisible(mount, own.get(''), parent);
  return top === undefined ? undefined : unified(top, agent, mount!.point);
}

/** The parent group to create others in, if that is allowed. */
async function divisible(mount?: CgroupMount, own?: string, parent?: string): Promise<string | undefined> {
  if (!mount) return undefined;
  if (parent !== undefined) return join(mount.point, parent);
  // In a container the mount may start at the container's own group, while paths start at the machine's root group.
  if (own === undefined || !`${own}/`.startsWith(mount.root === '/' ? '/' : `${mount.root}/`))
    return undefined;
  const path = mount.root === '/' ? own : own.slice(mount.root.length) || '/';
  const folder = join(mount.point, path);
  return path === '/' || (await isMine(folder)) ? folder : undefined;
}

async function unified(top: string, agent: string, point: string): Promise<Hierarchy | undefined> {
  const there = (await readFile(join(top, 'cgroup.controllers'), 'utf8')).trim().split(' ');
  const usable = controllers.filter((controller) => there.includes(controller));
  const folder = join(top, 'wherry', agent);
  if (!usable.length || !(await makes(folder))) return undefined;
  // The kernel refuses this while processes are in the group itself.
  for (const path of [top, dirname(folder), folder]) await enable(path, usable);
  const each = (value: string) => new Map(usable.map((controller) => [controller, value]));
  return { version: 2, folders: each(folder), points: each(point) };
}

const enable = (folder: string, names: readonly Controller[]): Promise<void> =>
  writeFile(join(folder, 'cgroup.subtree_control'), names.map((name) => `+${name}`).join(' '));

const makes = (folder: string): Promise<boolean> =>
  mkdir(folder, { recursive: true })
    .then(() => access(folder, constants.W_OK))
    .then(
      () => true,
      () => false,
    );

async function isMine(folder: string): Promise<boolean> {
  const user = process.getuid?.();
  return user !== 0 && (await stat(folder)).uid === user;
}

interface CgroupMount {
  readonly point: string;
  /** The group visible at the mount point. */
  readonly root: string;
}

/** Mounts by controller; that of v2 as `unified`. */
function parseMounts(text: string): Map<string, CgroupMount> {
  const mounts = new Map<string, CgroupMount>();
  for (const line of text.split('\n')) {
    const [head = '', tail = ''] = line.split(' - ');
    const [, , , root = '/', point = ''] = head.split(' ');
    const [type, , options = ''] = tail.split(' ');
    if (type === 'cgroup2') mounts.set('unified', { point, root });
    if (type === 'cgroup') for (const option of options.split(',')) mounts.set(option, { point, root });
  }
  return mounts;
}

/** The process' own groups by controller; that of v2 under the empty name. */
function parseOwn(text: string): Map<string, string> {
  const own = new Map<string, string>();
  for (const line of text.split('\n')) {
    const parts = /^\d+:([^:]*):(.*)$/.exec(line);
    for (const name of parts?.[1]?.split(',') ?? []) own.set(name, parts![2]!);
  }
  return own;
}

function settings(version: 1 | 2, controller: Controller, limits: CgroupLimits): [string, string][] {
  const { memoryBytes, milliCpu, milliCpuRequest } = limits;
  if (controller === 'pids') return [['pids.max', String(pidsMax)]];
  if (controller === 'memory') {
    if (!memoryBytes) return [];
    return [[version === 2 ? 'memory.max' : 'memory.limit_in_bytes', String(Math.ceil(memoryBytes))]];
  }
  const shares =
    milliCpuRequest && Math.min(Math.max(2, Math.floor((milliCpuRequest * 1024) / 1000)), 262_144);
  if (version === 2) {
    const weight = shares && 1 + Math.floor(((shares - 2) * 9999) / 262_142);
    return [
      ...(weight ? ([['cpu.weight', String(weight)]] as [string, string][]) : []),
      ...(milliCpu
        ? ([['cpu.max', `${quotaOf(milliCpu)} ${periodMicroseconds}`]] as [string, string][])
        : []),
    ];
  }
  return [
    ...(shares ? ([['cpu.shares', String(shares)]] as [string, string][]) : []),
    ...(milliCpu
      ? ([
          ['cpu.cfs_period_us', String(periodMicroseconds)],
          ['cpu.cfs_quota_us', String(quotaOf(milliCpu))],
        ] as [string, string][])
      : []),
  ];
}

const quotaOf = (milliCpu: number): number =>
  Math.max(quotaMicrosecondsMin, Math.ceil((milliCpu * periodMicroseconds) / 1000));

const foldersIn = (folder: string): Promise<string[]> =>
  readdir(folder, { withFileTypes: true }).then(
    (entries) => entries.filter((entry) => entry.isDirectory()).map(({ name }) => name),
    () => [],
  );

/** Removes groups bottom-up with rmdir (their files cannot be deleted). Kills processes that are still inside. */
async function removeTree(folder: string): Promise<void> {
  for (const name of await foldersIn(folder)) await removeTree(join(folder, name));
  for (let tries = 0; tries < removeTries; tries++) {
    try {
      return await rmdir(folder);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EBUSY') return;
      for (const pid of membersOf(folder)) signalProcess(pid, 'SIGKILL');
      await new Promise((resolve) => setTimeout(resolve, removeWaitMs));
    }
  }
}

const membersOf = (folder: string): number[] =>
  tryRead(join(folder, 'cgroup.procs')).split('\n').filter(Boolean).map(Number);

const childrenOf = (pid: number): number[] =>
  tryRead(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean).map(Number);

function tryRead(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** The limits in the spec of a container. */
export function limitsOf({ resources }: Container): CgroupLimits {
  const { memory, cpu } = resources?.limits ?? {};
  const asked = resources?.requests?.['cpu'];
  return {
    ...(asked ? { milliCpuRequest: toNumber(parseQuantity(asked)) * 1000 } : {}),
    ...(memory ? { memoryBytes: toNumber(parseQuantity(memory)) } : {}),
    ...(cpu ? { milliCpu: toNumber(parseQuantity(cpu)) * 1000 } : {}),
  };
}
