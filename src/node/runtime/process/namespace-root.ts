/**
 * A root in a mount namespace: the container sees the machine's file system with its mounts at their paths; other
 * processes do not see these mounts. Missing mount points are not created on the machine. Instead every folder on the
 * way to one is rebuilt: an empty folder into which each entry of the real one is bind-mounted, with room for more.
 *
 *   /data       →  / is rebuilt
 *   /etc/config →  / and /etc are rebuilt
 *
 * New files directly in a rebuilt folder are private to the container and vanish with it; existing entries are the
 * machine's own files.
 *
 * A container with its own host name has a UTS namespace, too. A read-only root is read-only everywhere but in its
 * mounts, /proc, /sys and /dev: what it has of the machine is bound as read-only, mount by mount of the table, and does
 * not follow what is mounted on the machine later.
 *
 * A short-lived shell assembles the root and pivots into it; the agent keeps a file descriptor of each namespace, and
 * commands enter through that. When agent and container have ended, the kernel removes the namespaces and all mounts.
 */

import { close, closeSync, constants, openSync } from 'node:fs';
import { chmod, lstat, mkdir, mkdtemp, open, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, posix } from 'node:path';
import { promisify } from 'node:util';
import { platform } from '../../../platform.ts';
import { mountsBelow } from '../../machine/folder-care.ts';
import { helperEnv, type Spawner } from '../../process/spawner.ts';
import { resolveSubPath } from '../../volumes/sub-path.ts';
import { type Mount, StartFailure } from '../runtime.ts';
import {
  type ContainerRoot,
  type EntryLine,
  isWithin,
  mountOf,
  type RootEntry,
  type RootRequest,
  sortedMounts,
} from './container-root.ts';
import { entriesMax, rebuildFolder } from './rebuilt-folder.ts';

const closed = promisify(close);

/** Time limit for setting up a root, which takes some 30 ms. */
const setupMs = 20_000;
const messageBytesMax = 2_000;
/** Folders whose content stays writable in a read-only root. */
const kernelFolders = ['/proc', '/sys', '/dev'];
/** File system types that are hidden from containers: files of other containers, and automounts. */
const hiddenTypes: ReadonlySet<string> = new Set(['overlay', 'nsfs', 'autofs']);

/**
 * $1: the new root, $2: table of what is bound from the machine, $3: the mounts, $4: the host name, or empty, $5: not
 * empty for a root that is read-only. That is done before the mounts are there, so that these stay as they are: the
 * table says what of the machine is read-only, the root itself remains. What is mounted on the machine later must not
 * come in, as it would be writable.
 * An entry of the machine may vanish meanwhile, so its failure is ignored; a mount must not fail. The new
 * root itself is excluded from what is bound into it.
 */
const script = `
set -e
[ -z "$4" ] || echo "$4" 2>/dev/null > /proc/sys/kernel/hostname || hostname "$4"
mount --bind "$1" "$1"
mount --make-unbindable "$1"
mount -a -T "$2" >/dev/null 2>&1 || true
if [ -n "$5" ]; then
  mount --make-rprivate "$1"
  mount --make-unbindable "$1"
  mount -o remount,bind,ro "$1"
fi
mount -a -T "$3"
cd "$1"
pivot_root . .
umount -l .
mount --make-private /
echo ready
read -r line || true
`;

export interface NamespaceTools {
  readonly unshare: string;
  readonly nsenter: string;
  readonly env: string;
  /** Whether a root can have its own host name. */
  readonly hostnames: boolean;
}

/** The tools that are needed; undefined if one is missing or does not work here. */
export async function probeNamespaces(spawner: Spawner): Promise<NamespaceTools | undefined> {
  const [unshare, nsenter, env] = ['unshare', 'nsenter', 'env'].map((name) => spawner.tool(name));
  if (!platform.isLinuxRoot || !unshare || !nsenter || !env) return undefined;
  for (const hostnames of [true, false]) {
    const tools = { unshare, nsenter, env, hostnames };
    if (await canMake(tools, spawner)) return tools;
  }
  return undefined;
}

/** Makes a root, and checks that it works. */
async function canMake(tools: NamespaceTools, spawner: Spawner): Promise<boolean> {
  const hostname = tools.hostnames ? 'wherry-probe' : undefined;
  const folder = await mkdtemp(join(tmpdir(), 'wherry-probe-'));
  let root: NamespaceRoot | undefined;
  try {
    const mounts = [{ path: '/wherry-probe/folder', source: folder, readOnly: true }];
    root = await NamespaceRoot.make(
      { folder: join(folder, 'root'), mounts, workingDir: '/', hostname },
      tools,
      spawner,
    );
    const line = root.enter({
      command: [
        '/bin/sh',
        '-c',
        'test -d /wherry-probe/folder/root && { test -z "$1" || test "$1" = "$(cat /proc/sys/kernel/hostname)"; }',
        'sh',
        hostname ?? '',
      ],
      user: { prefix: [], dropsRights: false },
      lateVariables: [],
    });
    return (await spawner.run(line.command)).code === 0;
  } catch {
    return false;
  } finally {
    await root?.release();
    await rm(folder, { recursive: true, force: true });
  }
}

/** A mount at its real path, with symbolic links resolved as far as the path exists. */
interface MountTarget {
  readonly mount: Mount;
  readonly exists: boolean;
  /** The nearest existing folder on the machine. */
  readonly ancestor: string;
  readonly isFolder: boolean;
}

export class NamespaceRoot implements ContainerRoot {
  readonly path = '/';
  #held: Held | undefined;

  private constructor(
    held: Held,
    readonly workingDir: string,
    private readonly mounts: readonly Mount[],
    private readonly tools: NamespaceTools,
  ) {
    this.#held = held;
  }

  static async make(request: RootRequest, tools: NamespaceTools, spawner: Spawner): Promise<NamespaceRoot> {
    const { folder } = request;
    await mkdir(folder, { recursive: true });
    const workingDir = posix.resolve('/', request.workingDir ?? '/');
    const mounts = await withWorkingDir(request, workingDir);
    const targets = await Promise.all(sortedMounts(mounts).map(targetOf));
    // Sort again: resolving links may have changed which mount contains which.
    targets.sort((a, b) => (a.mount.path < b.mount.path ? -1 : 1));
    const root = join(folder, 'root');
    const outer = targets.filter((target) => !enclosing(target, targets));
    const bound = await buildFolders(root, outer, request.readOnly ? await machineMounts(root) : undefined);
    for (const target of targets) await makePoint(root, target, targets);
    const own = targets.map(({ mount }) =>
      tableLine(mount.source, join(root, mount.path), mount.readOnly ? 'rbind,ro' : 'rbind'),
    );
    await writeFile(join(folder, 'machine'), bound.join(''));
    await writeFile(join(folder, 'mounts'), own.join(''));
    const hostname = tools.hostnames ? request.hostname : undefined;
    await spawner.ready();
    const held = await assemble({ folder, hostname, readOnly: request.readOnly }, tools, spawner);
    // Under the requested paths and the resolved ones.
    const seen = [...sortedMounts(mounts), ...targets.map(({ mount }) => mount)];
    return new NamespaceRoot(held, workingDir, sortedMounts(seen), tools);
  }

  hostPath(path: string): string {
    const found = mountOf(posix.resolve('/', path), this.mounts);
    return found ? join(found.mount.source, found.rest) : path;
  }

  enter({ command, user, lateVariables }: RootEntry): EntryLine {
    const { nsenter, env } = this.tools;
    if (!this.#held) throw new Error('the container has ended');
    if (command[0]!.includes('='))
      throw new StartFailure(
        'ContainerCannotRun',
        `exec: ${JSON.stringify(command[0])}: a name with = cannot be run`,
      );
    const door = (descriptor: number): string => `/proc/${process.pid}/fd/${descriptor}`;
    const { mount, hostname } = this.#held;
    return {
      command: [
        nsenter,
        `--mount=${door(mount)}`,
        ...(hostname === undefined ? [] : [`--uts=${door(hostname)}`]),
        '--',
        ...user.prefix,
        // nsenter changes the working directory, so it is set after entering, when the container's own exists.
        ...[env, '-C', this.workingDir, ...lateVariables],
        ...command,
      ],
      cwd: '/',
    };
  }

  async release(): Promise<void> {
    const held = Object.values(this.#held ?? {});
    this.#held = undefined;
    // With the last one the kernel removes all mounts, which takes a while.
    for (const descriptor of held) await closed(descriptor);
  }
}

/** A working directory that does not exist becomes an empty folder inside the container. */
async function withWorkingDir(
  { folder, mounts }: RootRequest,
  workingDir: string,
): Promise<readonly Mount[]> {
  const volume = mountOf(workingDir, sortedMounts(mounts));
  if (volume) {
    if (volume.rest) await resolveSubPath(volume.mount.source, volume.rest, true);
    return mounts;
  }
  if (
    await stat(workingDir).then(
      () => true,
      () => false,
    )
  )
    return mounts;
  const source = join(folder, 'work');
  await mkdir(source);
  await chmod(source, 0o777);
  return [...mounts, { path: workingDir, source, readOnly: false }];
}

async function targetOf(mount: Mount): Promise<MountTarget> {
  const isFolder = await stat(mount.source).then(
    (found) => found.isDirectory(),
    () => {
      throw new StartFailure('CreateContainerError', `cannot mount ${mount.path}: its source does not exist`);
    },
  );
  const missing: string[] = [];
  for (let known = mount.path; ; known = dirname(known)) {
    const real = await realpath(known).catch(() => undefined);
    if (real === undefined) {
      if (await lstat(known).catch(() => undefined))
        throw new StartFailure(
          'CreateContainerError',
          `cannot mount at ${mount.path}: ${known} leads nowhere`,
        );
      missing.unshift(basename(known));
      continue;
    }
    const path = join(real, ...missing);
    if (missing.length && (isWithin(real, '/proc') || isWithin(real, '/sys')))
      throw new StartFailure(
        'CreateContainerError',
        `cannot mount at ${mount.path}: ${real} belongs to the kernel`,
      );
    return { mount: { ...mount, path }, exists: !missing.length, ancestor: real, isFolder };
  }
}

const enclosing = (target: MountTarget, targets: readonly MountTarget[]): MountTarget | undefined =>
  targets.findLast((other) => other !== target && isWithin(target.mount.path, other.mount.path));

/** Mount points of the machine that a read-only root shows, each of which is bound on its own. */
async function machineMounts(root: string): Promise<string[]> {
  const mounts = await mountsBelow('/');
  return mounts
    .filter(({ point, type }) => !hiddenTypes.has(type) && !isWithin(point, dirname(root)))
    .map(({ point }) => point)
    .sort();
}

/**
 * Rebuilds every folder on the way to a missing mount point; returns the table of what is bound into them.
 * @param mounts for a root that is read-only: the mount points of the machine, outer ones first
 */
async function buildFolders(
  root: string,
  targets: readonly MountTarget[],
  mounts?: readonly string[],
): Promise<string[]> {
  const rebuilt = new Set(['/']);
  for (const { exists, ancestor } of targets)
    for (let folder = ancestor; !exists && folder !== '/'; folder = dirname(folder)) rebuilt.add(folder);
  const covered = new Set(targets.map(({ mount }) => mount.path));
  const lines: string[] = [];
  for (const folder of [...rebuilt].sort()) {
    const bound = await rebuildFolder(root, folder, rebuilt);
    if (lines.length + bound.length > entriesMax)
      throw new StartFailure('CreateContainerError', `cannot mount below ${folder}: it holds too much`);
    for (const path of bound) {
      if (covered.has(path)) continue;
      if (!mounts || kernelFolders.some((one) => isWithin(path, one))) {
        lines.push(tableLine(path, join(root, path), 'rbind'));
        continue;
      }
      const below = mounts.filter((point) => point !== path && isWithin(point, path));
      for (const point of [path, ...below]) lines.push(tableLine(point, join(root, point), 'bind,ro'));
    }
  }
  return lines;
}

/** Creates the mount point. Inside another mount it is created in that mount's source, as container runtimes do. */
async function makePoint(root: string, target: MountTarget, targets: readonly MountTarget[]): Promise<void> {
  const { mount, isFolder, exists } = target;
  const outer = enclosing(target, targets);
  if (!outer) {
    if (exists) return;
    const point = join(root, mount.path);
    await mkdir(isFolder ? point : dirname(point), { recursive: true });
    if (!isFolder) await writeFile(point, '', { flag: 'a' });
    return;
  }
  const rest = mount.path.slice(outer.mount.path.length + 1);
  if (isFolder) {
    await resolveSubPath(outer.mount.source, rest, true);
    return;
  }
  const parent = await resolveSubPath(outer.mount.source, dirname(rest), true);
  const { O_CREAT, O_WRONLY, O_NOFOLLOW } = constants;
  await (await open(join(parent, basename(rest)), O_CREAT | O_WRONLY | O_NOFOLLOW, 0o666)).close();
}

/** A line in the format of /etc/fstab. */
const tableLine = (source: string, target: string, options: string): string =>
  `${escaped(source)} ${escaped(target)} none ${options} 0 0\n`;

const escaped = (path: string): string =>
  path.replace(/[\s\\]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`);

/** File descriptors that keep the namespaces alive. */
interface Held {
  readonly mount: number;
  readonly hostname?: number;
}

function hold(pid: number, hostname: string | undefined): Held {
  const mount = openSync(`/proc/${pid}/ns/mnt`, 'r');
  if (!hostname) return { mount };
  try {
    return { mount, hostname: openSync(`/proc/${pid}/ns/uts`, 'r') };
  } catch (error) {
    closeSync(mount);
    throw error;
  }
}

/** Runs the script; resolves with the namespaces it has made. */
function assemble(
  { folder, hostname, readOnly }: Pick<RootRequest, 'folder' | 'hostname' | 'readOnly'>,
  tools: NamespaceTools,
  spawner: Spawner,
): Promise<Held> {
  const root = join(folder, 'root');
  const namespaces = ['--mount', '--propagation', 'slave', ...(hostname ? ['--uts'] : [])];
  const child = spawner.spawn(
    [tools.unshare, ...namespaces, '/bin/sh', '-c', script, 'sh'].concat(
      root,
      join(folder, 'machine'),
      join(folder, 'mounts'),
      hostname ?? '',
      readOnly ? 'ro' : '',
    ),
    { env: helperEnv, stdio: ['pipe', 'pipe', 'pipe'], cwd: '/' },
  );
  let said = '';
  let complaint = '';
  return new Promise<Held>((resolve, reject) => {
    let held: Held | undefined;
    const timer = setTimeout(() => child.kill('SIGKILL'), setupMs);
    for (const stream of [child.stdin!, child.stdout!, child.stderr!]) stream.on('error', () => undefined);
    child.stdout!.on('data', (chunk: Buffer) => {
      said = (said + chunk.toString('latin1')).slice(0, messageBytesMax);
      if (held || !said.includes('ready\n')) return;
      try {
        held = hold(child.pid!, hostname);
      } catch (error) {
        complaint += (error as Error).message;
      }
      child.stdin!.end();
    });
    child.stderr!.on('data', (chunk: Buffer) => {
      complaint = (complaint + chunk.toString('utf8')).slice(0, messageBytesMax);
    });
    child.once('error', (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.once('close', () => {
      clearTimeout(timer);
      if (held) return resolve(held);
      const why = complaint.replaceAll(root, '').trim().replaceAll('\n', '; ') || 'no answer';
      reject(new StartFailure('CreateContainerError', `cannot mount: ${why}`));
    });
  });
}
