/**
 * The process runtime: containers are processes of this machine.
 *
 * Files in the agent's folder, besides those of the reaper:
 *
 *   pods/<uid>/containers/<name>/<attempt>.log          output (see log-file.ts), of the last two attempts
 *   pods/<uid>/containers/<name>/<attempt>.root         the root of a running container (see container-root.ts)
 *   pods/<uid>/containers/<name>/<attempt>.tmp          its folder /tmp
 *   pods/<uid>/containers/<name>/<attempt>.termination  its termination message
 *   pipes/                                              unused pipes (see pipe-stock.ts)
 *
 * The agent uses the rest of `pods/<uid>`, for volumes and the like.
 */
import { chmodSync } from 'node:fs';
import { chmod, mkdir, readdir, realpath, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { Container, Pod } from '../../../api/generated/types.ts';
import { platform } from '../../../platform.ts';
import { finishedLog, forgetLogs, LogWriter } from '../../logs/log-file.ts';
import type { LogFolder } from '../../logs/log-folder.ts';
import { FileLog } from '../../logs/log-reader.ts';
import { messagePathDefault } from '../../logs/termination-message.ts';
import { type Cgroup, Cgroups, limitsOf } from '../../machine/cgroup.ts';
import { makeFolders, removeFolder } from '../../machine/folder-care.ts';
import { ownHostname } from '../../network/hosts-file.ts';
import type { PodAttachment, PodNetwork } from '../../network/pod-network.ts';
import { PipeStock } from '../../process/pipe-stock.ts';
import { bySession, listProcesses, type ProcessEntry } from '../../process/process-table.ts';
import { agentTag, ProcessTags } from '../../process/process-tag.ts';
import { identityOf, Reaper } from '../../process/reaper.ts';
import { Spawner } from '../../process/spawner.ts';
import type { ImageTable } from '../images.ts';
import { MemoryMounts } from '../memory-mounts.ts';
import {
  type ContainerLaunch,
  type ContainerLog,
  type ContainerUsage,
  type ImageCommand,
  type ImageRequest,
  type PodPlace,
  type RunningContainer,
  type Runtime,
  StartFailure,
} from '../runtime.ts';
import { refuseOwnUsers } from '../user-namespaces.ts';
import { type ContainerParts, ContainerProcess } from './container-process.ts';
import { type Program, type ProgramOptions, startProgram } from './container-program.ts';
import { type ContainerRoot, FolderRoot, type RootRequest } from './container-root.ts';
import { containerUser } from './container-user.ts';
import { processVariables, splitEnvironment } from './container-variables.ts';
import { ImageFolders } from './image-folders.ts';
import { MemoryWatch } from './memory-watch.ts';
import { NamespaceRoot, type NamespaceTools, probeNamespaces } from './namespace-root.ts';
import { temporaryMounts } from './own-tmp.ts';
import { PodSysctls } from './pod-sysctls.ts';
import { programProblem } from './program-lookup.ts';

export interface ProcessRuntimeOptions {
  /** The agent's own folder. */
  readonly folder: string;
  readonly network: PodNetwork;
  readonly images: ImageTable;
  readonly now: () => number;
  readonly onError: (error: Error) => void;
  /** `folder`: use link folders for mounts even where namespaces are possible. */
  readonly roots?: 'auto' | 'folder';
  /** The cgroup to create those of containers in, if the agent's own may not be used. */
  readonly cgroupParent?: string;
  /** Whether to set limits with cgroups where possible. */
  readonly cgroups?: boolean;
  readonly log?: { readonly segmentBytes?: number; readonly segments?: number };
  /** Where links to the logs are created for log shippers. */
  readonly logFolder?: LogFolder;
}

interface PreparedPod {
  readonly place: PodPlace;
  readonly attachment: PodAttachment;
  readonly sysctls: PodSysctls | undefined;
  readonly containers: Set<ContainerProcess>;
  /** Starts under way; removal of the pod waits for them. */
  readonly starting: Set<Promise<unknown>>;
  removing: boolean;
}

/** The facilities of the machine, determined once. */
interface Means {
  readonly reaper: Reaper;
  readonly tags: ProcessTags;
  readonly memory: MemoryMounts;
  readonly namespaces: NamespaceTools | undefined;
  readonly cgroups: Cgroups | undefined;
}

const safeName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/;

export class ProcessRuntime implements Runtime {
  readonly name = 'process';
  readonly version = '1.0.0';
  readonly simulated = false;
  readonly #spawner = new Spawner();
  readonly #pipes: PipeStock;
  readonly #memory: MemoryWatch;
  readonly #images: ImageFolders;
  readonly #pods = new Map<string, PreparedPod>();
  /** The highest CPU time seen: the time of an unreaped process is lost, and the sum must not decrease. */
  readonly #cpu = new WeakMap<ContainerProcess, number>();
  #means: Promise<Means> | undefined;
  #closed = false;

  constructor(private readonly options: ProcessRuntimeOptions) {
    this.#pipes = new PipeStock(join(options.folder, 'pipes'), this.#spawner);
    this.#memory = new MemoryWatch(this.#spawner, options.onError);
    this.#images = new ImageFolders(options.images, join(options.folder, 'images'), this.#spawner);
  }

  resolveImage({ container }: ImageRequest): Promise<ImageCommand> {
    return this.options.images.resolveFor(container);
  }

  async preparePod(pod: Pod): Promise<PodPlace> {
    const uid = checked(pod.metadata.uid);
    const known = this.#pods.get(uid);
    if (known) return known.place;
    refuseOwnUsers(pod, this.name);
    const means = await this.#ready();
    const folder = join(this.options.folder, 'pods', uid);
    for (const path of [this.options.folder, join(this.options.folder, 'pods'), folder])
      await this.#makeFolder(path, means);
    const attachment = await this.options.network.attach(pod);
    const sysctls = await PodSysctls.set(pod, attachment, means.namespaces, this.#spawner);
    // With concurrent calls, the first to finish wins.
    const other = this.#pods.get(uid);
    if (other) {
      sysctls?.close();
      return other.place;
    }
    const imageFolder = (image: string): Promise<string> => this.#images.folderOf(image);
    const place = { folder, ip: attachment.ip, imageFolder, ...this.#abilities(pod, means) };
    const containers = new Set<ContainerProcess>();
    this.#pods.set(uid, {
      place,
      attachment,
      sysctls,
      containers,
      starting: new Set(),
      removing: false,
    });
    return place;
  }

  start(launch: ContainerLaunch): Promise<RunningContainer> {
    const pod = this.#pods.get(launch.pod.metadata.uid ?? '');
    if (!pod || pod.removing || this.#closed)
      return Promise.reject(new StartFailure('CreateContainerError', 'the pod has no place on this node'));
    const started = this.#start(launch, pod).catch((error: Error) => {
      throw error instanceof StartFailure ? error : new StartFailure('RunContainerError', error.message);
    });
    const settled = started.then(
      () => undefined,
      () => undefined,
    );
    pod.starting.add(settled);
    void settled.then(() => pod.starting.delete(settled));
    return started;
  }

  dial(uid: string, port: number): Promise<Duplex> {
    if (!this.#pods.has(uid)) return Promise.reject(new Error('the pod is not on this node'));
    return this.options.network.dial(uid, port);
  }

  reach(uid: string, port: number): Promise<Duplex> {
    if (!this.#pods.has(uid)) return Promise.reject(new Error('the pod is not on this node'));
    return this.options.network.reach(uid, port);
  }

  async resize(uid: string, container: Container): Promise<void> {
    for (const running of this.#pods.get(uid)?.containers ?? [])
      if (running.parts.container.name === container.name) await this.#limit(running, container);
  }

  log(uid: string, container: string, attempt: number): ContainerLog | undefined {
    for (const running of this.#pods.get(uid)?.containers ?? [])
      if (running.parts.container.name === container && running.parts.attempt === attempt) return running.log;
    if (!safeName.test(uid) || !safeName.test(container)) return undefined;
    const source = finishedLog(this.#containerFolder(uid, container), attempt);
    return source && new FileLog(source);
  }

  async usage(): Promise<readonly ContainerUsage[]> {
    const containers = [...this.#pods.values()].flatMap((pod) => [...pod.containers]);
    if (!containers.length) return [];
    const sessions = bySession(await listProcesses(this.#spawner));
    return containers.map((container) => {
      const members = [...container.sessions].flatMap((session) => sessions.get(session) ?? []);
      const { uid, container: spec, log } = container.parts;
      const cpu = Math.max(this.#cpu.get(container) ?? 0, total(members, 'cpuNanoseconds'));
      this.#cpu.set(container, cpu);
      return {
        uid,
        container: spec.name!,
        startedAt: container.startedAt,
        cpuNanoseconds: cpu,
        rssBytes: total(members, 'rssBytes'),
        pageFaults: total(members, 'pageFaults'),
        majorPageFaults: total(members, 'majorPageFaults'),
        logBytes: log.bytes,
      };
    });
  }

  async removePod(uid: string): Promise<void> {
    if (!safeName.test(uid)) return;
    const pod = this.#pods.get(uid);
    if (pod) {
      pod.removing = true;
      await Promise.all(pod.starting);
      await end(pod);
    }
    await this.options.network.detach(uid);
    const { cgroups, memory } = await this.#ready();
    await cgroups?.removePod(uid);
    await memory.unmount(uid);
    await removeFolder(join(this.options.folder, 'pods', uid));
    await this.options.logFolder?.forget(uid);
    this.#pods.delete(uid);
  }

  async recover(bound: ReadonlySet<string>): Promise<void> {
    const { reaper, cgroups, memory } = await this.#ready();
    const { folder, network, onError } = this.options;
    await reaper.endLeftovers();
    await cgroups?.sweep(() => false);
    await network.recover(bound);
    const pods = join(folder, 'pods');
    for (const uid of await namesIn(pods)) {
      if (!bound.has(uid)) {
        await memory.unmount(uid).catch(onError);
        await removeFolder(join(pods, uid)).catch(onError);
      } else await this.#removeRoots(join(pods, uid, 'containers'));
    }
    await this.#images.clear().catch(onError);
    await this.options.logFolder?.prune();
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const pods = [...this.#pods.values()];
    await Promise.all(pods.flatMap((pod) => [...pod.starting]));
    await Promise.all(pods.map(end));
    this.#memory.close();
    const means = await this.#means?.catch(() => undefined);
    await means?.memory.unmount().catch(this.options.onError);
    await means?.cgroups?.close();
    await means?.reaper.close();
    await this.options.network.close();
    await this.#pipes.close();
    this.#spawner.close();
  }

  #ready(): Promise<Means> {
    this.#means ??= this.#findMeans().catch((error) => {
      this.#means = undefined;
      throw error;
    });
    return this.#means;
  }

  async #findMeans(): Promise<Means> {
    const { onError, roots, cgroups, cgroupParent } = this.options;
    await makeFolders(this.options.folder, 0o700);
    // Resolved, because the kernel's mount table has paths without links.
    const folder = await realpath(this.options.folder);
    const spawner = this.#spawner;
    const identity = await identityOf(folder);
    const tag = agentTag(identity);
    const groups =
      cgroups === false || !platform.isLinux ? undefined : await Cgroups.open(identity, cgroupParent);
    return {
      reaper: new Reaper({ spawner, folder, identity, tag, groups: groups?.folders ?? [], onError }),
      tags: new ProcessTags(spawner, tag),
      memory: new MemoryMounts(spawner, join(folder, 'pods')),
      namespaces: roots === 'folder' ? undefined : await probeNamespaces(spawner),
      cgroups: groups,
    };
  }

  /** Optional facilities of a pod, if namespaces are available. */
  #abilities(pod: Pod, { namespaces, memory }: Means): Partial<PodPlace> {
    if (!namespaces) return {};
    return {
      hostname: namespaces.hostnames ? ownHostname(pod) : undefined,
      mountMemory: (path, mount) => memory.mount(path, mount),
    };
  }

  /** Makes a folder. Without namespaces, containers of other users must be able to pass through it to their roots. */
  async #makeFolder(path: string, { namespaces }: Means): Promise<void> {
    await mkdir(path, { recursive: true, mode: 0o700 });
    const shared = !namespaces && process.getuid?.() === 0;
    await chmod(path, shared ? 0o711 : 0o700);
    if (shared && path === this.options.folder) await letThrough(dirname(path));
  }

  #containerFolder(uid: string, container: string): string {
    return join(this.options.folder, 'pods', uid, 'containers', container);
  }

  async #start(launch: ContainerLaunch, pod: PreparedPod): Promise<RunningContainer> {
    const { container, attempt } = launch;
    const { now, onError } = this.options;
    if (!launch.command.length)
      throw new StartFailure(
        'CreateContainerError',
        `no command specified: image "${container.image ?? ''}" has none, and the container has neither command nor args`,
      );
    const means = await this.#ready();
    const uid = checked(launch.pod.metadata.uid);
    const folder = this.#containerFolder(uid, checked(container.name));
    const path = (kind: 'root' | 'termination' | 'tmp'): string => join(folder, `${attempt}.${kind}`);
    const user = containerUser(launch.pod, container, this.#spawner, launch.image?.user);
    await mkdir(folder, { recursive: true, mode: 0o711 });
    for (const kind of ['root', 'tmp'] as const) await removeFolder(path(kind));
    await makeTerminationFile(path('termination'));
    const undo: (() => Promise<unknown>)[] = [
      () => removeFolder(path('root')),
      () => removeFolder(path('tmp')),
      () => removeFolder(path('termination')),
    ];
    try {
      // Created before its root, where the container sees its own groups.
      const cgroup = await this.#makeCgroup(uid, container, means);
      undo.unshift(async () => cgroup?.remove());
      const root = await this.#makeRoot(launch, path, cgroup, means);
      undo.unshift(() => root.release());
      const tag = means.tags.next();
      const mark = means.reaper.mark(uid, container.name!, tag);
      const env = processVariables(launch, root, mark.text, user);
      const problem = await programProblem(launch.command[0] ?? '', root, env);
      if (problem) throw new StartFailure('ContainerCannotRun', problem.message, problem.exitCode);
      await forgetLogs(folder, attempt - 1);
      let showLog = (): void => undefined;
      const rotated = (): void => showLog();
      const log = new LogWriter(folder, attempt, { now, onError, rotated, ...this.options.log });
      await log.open();
      undo.unshift(() => log.end());
      const splitEnv = splitEnvironment(env, user);
      const running = await this.#launch(launch, pod, {
        ...{ uid, container, attempt, root, user, env, splitEnv, log, cgroup, mark, now, onError },
        wrap: (command) => means.tags.wrap(tag, pod.attachment.wrap(pod.sysctls?.wrap(command) ?? command)),
        ownFolders: [path('root'), path('tmp')],
        terminationFile: path('termination'),
        reaper: means.reaper,
        run: (options) => this.#run(options),
      });
      const run = { pod: launch.pod, container: container.name!, attempt, id: running.id };
      showLog = () => void this.options.logFolder?.show(run, log.segments);
      showLog();
      return running;
    } catch (error) {
      for (const step of undo) await step().catch(onError);
      throw error;
    }
  }

  /** Starts the program of a container whose root, cgroup and log are ready. */
  async #launch(
    { command }: ContainerLaunch,
    pod: PreparedPod,
    parts: Omit<ContainerParts, 'program'>,
  ): Promise<RunningContainer> {
    const { container, root, user, splitEnv, cgroup, reaper } = parts;
    const line = root.enter({ command, user, lateVariables: splitEnv.late });
    if (pod.removing || this.#closed) throw new StartFailure('RunContainerError', 'the pod is being removed');
    this.#spawner.look();
    const program = await this.#run({
      command: parts.wrap(line.command),
      cwd: line.cwd,
      env: splitEnv.early,
      tty: container.tty === true,
      stdin: container.stdin === true,
      spawned: (pid) => {
        reaper.add(pid);
        void cgroup?.join(pid);
      },
    });
    return this.#running(pod, { ...parts, program });
  }

  #running(pod: PreparedPod, parts: ContainerParts): RunningContainer {
    const running = new ContainerProcess(parts);
    pod.containers.add(running);
    void running.exited.then(() => pod.containers.delete(running));
    const { memoryBytes } = limitsOf(parts.container);
    if (memoryBytes && !parts.cgroup?.limitsMemory) this.#memory.add(running, memoryBytes);
    return running;
  }

  /** Refuses a limit below current usage: the kernel or the memory watch would kill the container at once. */
  async #limit(running: ContainerProcess, container: Container): Promise<void> {
    const { cgroup } = running.parts;
    const limits = limitsOf(container);
    const { memoryBytes } = limits;
    if (memoryBytes) {
      const used = cgroup?.memoryBytes ?? (await this.#memory.used(running));
      if (used > memoryBytes)
        throw new Error(`attempting to set pod memory limit (${memoryBytes}) below current usage (${used})`);
    }
    await cgroup?.limit(limits);
    if (memoryBytes && !cgroup?.limitsMemory) this.#memory.add(running, memoryBytes);
  }

  #run(options: ProgramOptions): Promise<Program> {
    return startProgram(this.#spawner, this.#pipes, options);
  }

  async #makeRoot(
    launch: ContainerLaunch,
    path: (kind: 'root' | 'termination' | 'tmp') => string,
    cgroup: Cgroup | undefined,
    { namespaces }: Means,
  ): Promise<ContainerRoot> {
    const { mounts, workingDir, container, place, image } = launch;
    const messagePath = container.terminationMessagePath || messagePathDefault;
    const message = { path: messagePath, source: path('termination'), readOnly: false };
    const { hostname } = place;
    const folder = path('root');
    const readOnly = container.securityContext?.readOnlyRootFilesystem;
    // After the volumes of the pod, which may be mounted over these files.
    const files = Object.entries(image?.paths ?? {}).map(([path, source]) => ({
      path,
      source,
      readOnly: true,
    }));
    const all = [...mounts, message, ...files];
    const request: RootRequest = { folder, workingDir, hostname, readOnly, mounts: all };
    if (!namespaces) return FolderRoot.make(request, this.#spawner.tool('env'));
    const own = [...(await temporaryMounts(launch, path('tmp'))), ...(cgroup?.views() ?? [])];
    return NamespaceRoot.make({ ...request, mounts: [...all, ...own] }, namespaces, this.#spawner);
  }

  /** Creates the container's cgroup. A failure is reported, but does not stop the container from running. */
  async #makeCgroup(uid: string, container: Container, { cgroups }: Means): Promise<Cgroup | undefined> {
    try {
      return await cgroups?.create(uid, container.name!, limitsOf(container));
    } catch (error) {
      this.options.onError(new Error(`limits of container ${container.name}: ${(error as Error).message}`));
      return undefined;
    }
  }

  async #removeRoots(containers: string): Promise<void> {
    for (const name of await namesIn(containers))
      for (const entry of await namesIn(join(containers, name)))
        if (/\.(root|tmp|termination)$/.test(entry))
          await removeFolder(join(containers, name, entry)).catch(this.options.onError);
  }
}

async function end(pod: PreparedPod): Promise<void> {
  for (const container of pod.containers) container.kill('SIGKILL');
  await Promise.all([...pod.containers].map(({ exited }) => exited));
  pod.sysctls?.close();
}

/**
 * Checks a name that becomes a folder. The API validates names, too; this is the last check against path
 * traversal.
 */
function checked(name: string | undefined): string {
  if (name === undefined || !safeName.test(name))
    throw new StartFailure('CreateContainerError', `${JSON.stringify(name)} cannot be the name of a folder`);
  return name;
}

/** Lets other users pass through a private data folder (mode 711), without being able to list it. */
async function letThrough(folder: string): Promise<void> {
  const { mode } = await stat(folder);
  if ((mode & 0o777) === 0o700) await chmod(folder, 0o711);
}

/** Writable for all, as the container may run as any user. */
async function makeTerminationFile(path: string): Promise<void> {
  await writeFile(path, '');
  chmodSync(path, 0o666);
}

const total = (
  entries: readonly ProcessEntry[],
  field: 'cpuNanoseconds' | 'rssBytes' | 'pageFaults' | 'majorPageFaults',
): number => entries.reduce((sum, entry) => sum + entry[field], 0);

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);
