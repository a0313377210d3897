/**
 * Limits of containers by control groups, where the agent may make some: `wherry/<uid>/<container>` below a group
 * that is the agent's to divide. Control groups have one manager per subtree, so the agent's own group is taken only
 * when it is plainly nobody else's (the top of what the agent can see, or owned by its user); otherwise somebody has
 * to say which one to use.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { access, constants, mkdir, readdir, readFile, rmdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Processes and threads of one container. */
const pidsMax = 8192;
const periodMicroseconds = 100_000;
/** The kernel refuses shorter shares. */
const quotaMicrosecondsMin = 1_000;
/** A group whose processes have been killed is empty soon. */
const removeTries = 50;
const removeWaitMs = 20;

const controllers = ['memory', 'cpu', 'pids'] as const;
type Controller = (typeof controllers)[number];

export interface Limits {
  readonly memoryBytes?: number;
  readonly milliCpu?: number;
}

/** Where the kernel tells of groups; tests tell of others. */
export interface CgroupSources {
  readonly mountinfo: string;
  readonly own: string;
}

const kernelSources: CgroupSources = { mountinfo: '/proc/self/mountinfo', own: '/proc/self/cgroup' };

/** One folder for all controllers (version 2), or one for each (version 1). */
interface Hierarchy {
  readonly version: 1 | 2;
  readonly folders: ReadonlyMap<Controller, string>;
}

export class Cgroups {
  private constructor(private readonly hierarchy: Hierarchy) {}

  /** Undefined when no limit can be set this way. */
  static async open(parent?: string, sources = kernelSources): Promise<Cgroups | undefined> {
    try {
      const hierarchy = await findHierarchy(parent, sources);
      return hierarchy && new Cgroups(hierarchy);
    } catch {
      return undefined;
    }
  }

  async create(uid: string, container: string, limits: Limits): Promise<Cgroup> {
    const { version, folders } = this.hierarchy;
    const own = new Map<Controller, string>();
    for (const [controller, folder] of folders) {
      const pod = join(folder, uid);
      await mkdir(join(pod, container), { recursive: true });
      if (version === 2) await enable(pod, [...folders.keys()]);
      own.set(controller, join(pod, container));
    }
    for (const [controller, folder] of own)
      for (const [file, value] of settings(version, controller, limits))
        await writeFile(join(folder, file), value);
    return new Cgroup(version, own);
  }

  /** Removes what an earlier agent has left of a pod, or of all pods that are not to be kept. */
  async sweep(keeps: (uid: string) => boolean): Promise<void> {
    for (const folder of new Set(this.hierarchy.folders.values()))
      for (const uid of await foldersIn(folder)) if (!keeps(uid)) await removeTree(join(folder, uid));
  }

  async removePod(uid: string): Promise<void> {
    await this.sweep((other) => other !== uid);
  }

  /** Removes the folder of all, if nothing else is in it. */
  async close(): Promise<void> {
    for (const folder of new Set(this.hierarchy.folders.values())) await rmdir(folder).catch(() => undefined);
  }
}

export class Cgroup {
  constructor(
    private readonly version: 1 | 2,
    private readonly folders: ReadonlyMap<Controller, string>,
  ) {}

  /** At once after the start of the process; children it has already are taken along. */
  join(pid: number): void {
    for (const member of [pid, ...childrenOf(pid)])
      for (const folder of new Set(this.folders.values()))
        tryWrite(join(folder, 'cgroup.procs'), String(member));
  }

  /** Whether a memory limit is kept by the kernel. */
  get limitsMemory(): boolean {
    return this.folders.has('memory');
  }

  /** Everybody in it, also those who have left their session. */
  processes(): number[] {
    const [folder] = this.folders.values();
    const text = folder ? tryRead(join(folder, 'cgroup.procs')) : '';
    return text.split('\n').filter(Boolean).map(Number);
  }

  /** Whether the kernel has ended a process of it for its memory. */
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
  parent: string | undefined,
  sources: CgroupSources,
): Promise<Hierarchy | undefined> {
  const mounts = parseMounts(await readFile(sources.mountinfo, 'utf8'));
  const own = parseOwn(await readFile(sources.own, 'utf8'));
  const folders = new Map<Controller, string>();
  for (const controller of controllers) {
    const mount = mounts.get(controller);
    const path = parent ?? own.get(controller);
    if (!mount || path === undefined) continue;
    const folder = join(mount, path);
    if (
      (parent !== undefined || path === '/' || (await isMine(folder))) &&
      (await makes(join(folder, 'wherry')))
    )
      folders.set(controller, join(folder, 'wherry'));
  }
  if (folders.size) return { version: 1, folders };
  return findUnified(mounts.get('unified'), parent ?? own.get(''), parent !== undefined);
}

async function findUnified(mount?: string, path?: string, given = false): Promise<Hierarchy | undefined> {
  if (mount === undefined || path === undefined) return undefined;
  const folder = join(mount, path);
  if (!given && path !== '/' && !(await isMine(folder))) return undefined;
  const there = (await readFile(join(folder, 'cgroup.controllers'), 'utf8')).trim().split(' ');
  const usable = controllers.filter((controller) => there.includes(controller));
  if (!usable.length) return undefined;
  // Refused while processes live in the group itself.
  await enable(folder, usable);
  if (!(await makes(join(folder, 'wherry')))) return undefined;
  await enable(join(folder, 'wherry'), usable);
  return { version: 2, folders: new Map(usable.map((controller) => [controller, join(folder, 'wherry')])) };
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

/** Mount points by controller, and of version 2 as `unified`. */
function parseMounts(text: string): Map<string, string> {
  const mounts = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [head = '', tail = ''] = line.split(' - ');
    const point = head.split(' ')[4] ?? '';
    const [type, , options = ''] = tail.split(' ');
    if (type === 'cgroup2') mounts.set('unified', point);
    if (type === 'cgroup') for (const option of options.split(',')) mounts.set(option, point);
  }
  return mounts;
}

/** Own groups by controller, and of version 2 under the empty name. */
function parseOwn(text: string): Map<string, string> {
  const own = new Map<string, string>();
  for (const line of text.split('\n')) {
    const parts = /^\d+:([^:]*):(.*)$/.exec(line);
    for (const name of parts?.[1]?.split(',') ?? []) own.set(name, parts![2]!);
  }
  return own;
}

function settings(version: 1 | 2, controller: Controller, limits: Limits): [string, string][] {
  const { memoryBytes, milliCpu } = limits;
  if (controller === 'pids') return [['pids.max', String(pidsMax)]];
  if (controller === 'memory') {
    if (!memoryBytes) return [];
    return [[version === 2 ? 'memory.max' : 'memory.limit_in_bytes', String(Math.ceil(memoryBytes))]];
  }
  if (!milliCpu) return [];
  const quota = Math.max(quotaMicrosecondsMin, Math.ceil((milliCpu * periodMicroseconds) / 1000));
  if (version === 2) return [['cpu.max', `${quota} ${periodMicroseconds}`]];
  return [
    ['cpu.cfs_period_us', String(periodMicroseconds)],
    ['cpu.cfs_quota_us', String(quota)],
  ];
}

const foldersIn = (folder: string): Promise<string[]> =>
  readdir(folder, { withFileTypes: true }).then(
    (entries) => entries.filter((entry) => entry.isDirectory()).map(({ name }) => name),
    () => [],
  );

/** Groups are removed as empty folders, from below; their files are not to be touched. */
async function removeTree(folder: string): Promise<void> {
  for (const name of await foldersIn(folder)) await removeTree(join(folder, name));
  for (let tries = 0; tries < removeTries; tries++) {
    try {
      return await rmdir(folder);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EBUSY') return;
      await new Promise((resolve) => setTimeout(resolve, removeWaitMs));
    }
  }
}

const childrenOf = (pid: number): string[] =>
  tryRead(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean);

function tryRead(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** A process that has ended already needs no limits. */
function tryWrite(path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch {
    // It has gone.
  }
}
