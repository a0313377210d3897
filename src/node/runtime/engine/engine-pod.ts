/**
 * A pod in a container engine: a sandbox that holds its network and IPC namespaces, and the runs of its containers. If
 * the sandbox dies, its containers are killed, and the next start makes a new sandbox with the same address.
 *
 *   pods/<uid>/address                                   the address of the pod, for the next agent
 *   pods/<uid>/containers/<name>/<attempt>.termination   the termination message of a run
 *   pods/<uid>/volume-subpaths/…                         sub paths of volumes (see sub-path-mounts.ts)
 */

import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { Pod } from '../../../api/generated/types.ts';
import { platform } from '../../../platform.ts';
import { makeFolders, removeFolder } from '../../machine/folder-care.ts';
import { HostPorts, type HostPortTarget } from '../../network/host-ports.ts';
import { ownHostname } from '../../network/hosts-file.ts';
import { type ContainerLaunch, type PodPlace, StartFailure } from '../runtime.ts';
import type { EngineContext } from './container-engine.ts';
import { type ContainerRights, containerRights } from './container-rights.ts';
import type { EngineContainer, RunFacts } from './engine-container.ts';
import { labels, sandboxName } from './pod-identity.ts';
import { SubPathMounts } from './sub-path-mounts.ts';

export interface Sandbox {
  readonly id: string;
  readonly attempt: number;
}

/** The parts needed to make a container. */
export interface NewRun {
  readonly launch: ContainerLaunch;
  readonly rights: ContainerRights;
  readonly sandbox: Sandbox;
  readonly facts: RunFacts;
  /** The container whose processes an ephemeral container sees. */
  readonly target: string | undefined;
}

export abstract class EnginePod<E extends EngineContext = EngineContext> {
  readonly folder: string;
  /** Runs by container, oldest first. */
  readonly runs = new Map<string, EngineContainer[]>();
  removing = false;
  readonly #subPaths: SubPathMounts;
  #sandbox: Sandbox | undefined;
  #making: Promise<void> | undefined;
  #lastAttempt = -1;
  #hostPorts: HostPorts | undefined;
  #ip = '';

  constructor(
    protected readonly engine: E,
    readonly uid: string,
  ) {
    this.folder = join(engine.folder, 'pods', uid);
    this.#subPaths = new SubPathMounts(engine.spawner, join(this.folder, 'volume-subpaths'));
  }

  /** Whether the agent may mount: that needs root rights, and an engine on this machine. */
  get #mayMount(): boolean {
    return platform.isLinuxRoot && !this.engine.isElsewhere;
  }

  get ip(): string {
    return this.#ip;
  }

  /** A connection to a port of the pod: at its loopback address if the agent can enter its network. */
  abstract dial(port: number): Promise<Duplex>;
  /** A connection to a port of the pod at its address; the error names that address. */
  abstract reach(port: number): Promise<Duplex>;
  /** How the agent reaches a port of the pod; undefined where the network serves host ports, or none is needed. */
  protected abstract hostPortTarget(pod: Pod): ((port: number) => HostPortTarget) | undefined;
  /** Makes a sandbox; returns its id. Throws `StartFailure`. */
  protected abstract startSandbox(pod: Pod, attempt: number): Promise<string>;
  protected abstract isSandboxRunning(id: string): Promise<boolean>;
  /** Connects a sandbox, if the engine has not done so; undefined when the pod needs a sandbox of another kind. */
  protected abstract connect(pod: Pod, sandbox: string): Promise<string | undefined>;
  /** Makes and starts a container. Throws `StartFailure`. */
  protected abstract startRun(wanted: NewRun): Promise<EngineContainer>;
  /** The folder with the files of an image. */
  protected imageFolder?(id: string): Promise<string>;
  /** Whether the engine mounts images itself. */
  protected get mountsImages(): boolean {
    return false;
  }

  /** Why images cannot be mounted as volumes; undefined where they can. */
  protected get imageProblem(): string | undefined {
    return undefined;
  }

  /** Adopts what an earlier agent left: a running sandbox, and the runs of containers. */
  adoptSandbox(id: string, attempt: number, running: boolean): void {
    this.#lastAttempt = Math.max(this.#lastAttempt, attempt);
    if (running && attempt >= this.#lastAttempt) this.#keep({ id, attempt });
  }

  adoptRun(run: EngineContainer): void {
    const runs = this.runs.get(run.facts.name) ?? [];
    this.runs.set(
      run.facts.name,
      [...runs, run].sort((a, b) => a.attempt - b.attempt),
    );
  }

  /** The pod's address under an earlier agent. */
  savedAddress(): Promise<string> {
    return readFile(join(this.folder, 'address'), 'utf8').catch(() => '');
  }

  terminationFile(container: string, attempt: number): string {
    return join(this.folder, 'containers', container, `${attempt}.termination`);
  }

  async open(pod: Pod): Promise<PodPlace> {
    const { memory, images } = this.engine;
    await makeFolders(this.folder, 0o700);
    await this.#connect(pod);
    return {
      folder: this.folder,
      ip: this.#ip,
      hostname: ownHostname(pod),
      imageProblem: this.imageProblem,
      ...(this.#mayMount
        ? {
            mountMemory: (path, mount) => memory.mount(path, mount),
            bindSubPath: (volume, place, name) => this.#subPaths.bind(volume, place, name),
          }
        : {}),
      ...(this.imageFolder
        ? {
            imageFolder: async (image, policy) => this.imageFolder!(await images.present(pod, image, policy)),
          }
        : {}),
      ...(this.mountsImages ? { imageToMount: (image, policy) => images.present(pod, image, policy) } : {}),
    };
  }

  async start(launch: ContainerLaunch): Promise<EngineContainer> {
    const { pod, container, attempt, command } = launch;
    const { engine } = this;
    const name = container.name!;
    if (!command.length) throw new StartFailure('CreateContainerError', 'no command specified');
    const rights = await containerRights(
      pod,
      container,
      launch.image?.engine?.user ?? '',
      join(engine.folder, 'seccomp'),
    );
    await this.#connect(pod);
    await this.#forgetOld(name, attempt - 1);
    await mkdir(join(this.folder, 'containers', name), { recursive: true, mode: 0o711 });
    const terminationFile = this.terminationFile(name, attempt);
    await writeFile(terminationFile, '');
    // Writable for all, as the container may run as any user.
    await chmod(terminationFile, 0o666);
    const target = (container as { targetContainerName?: string }).targetContainerName;
    const run = await this.startRun({
      launch,
      rights,
      sandbox: this.#sandbox!,
      target: target ? this.runs.get(target)?.at(-1)?.id : undefined,
      facts: {
        uid: this.uid,
        name,
        attempt,
        image: container.image ?? '',
        shownImageId: launch.image!.engine!.shownId,
        messagePolicy: container.terminationMessagePolicy ?? '',
        terminationFile,
      },
    });
    this.adoptRun(run);
    // It may have ended between its start and this check.
    run.look();
    return run;
  }

  /** Stops serving the pod; its containers keep running. */
  async close(): Promise<void> {
    await this.#hostPorts?.close();
  }

  /** Removes everything of the pod from the engine. */
  async remove(): Promise<void> {
    this.removing = true;
    await this.#making?.catch(() => undefined);
    await this.close();
    const { calls, events, network, memory, owner } = this.engine;
    if (this.#sandbox) events.forget(this.#sandbox.id);
    const found = await calls.list({ [labels.node]: owner.node, [labels.podUid]: this.uid });
    const isSandbox = (one: (typeof found)[number]): boolean => one.labels[labels.container] === sandboxName;
    // The sandbox last: its containers use its namespaces.
    await Promise.all(found.filter((one) => !isSandbox(one)).map(({ id }) => calls.delete(id, false)));
    await network.detach(this.uid);
    await Promise.all(found.filter(isSandbox).map(({ id }) => calls.delete(id, true)));
    if (this.#mayMount) {
      await this.#subPaths.release();
      await memory.unmount(this.uid);
    }
    await removeFolder(this.folder);
  }

  /** Ensures that there is a connected sandbox. */
  #connect(pod: Pod): Promise<void> {
    this.#making ??= this.#makeSandbox(pod).finally(() => {
      this.#making = undefined;
    });
    return this.#making;
  }

  async #makeSandbox(pod: Pod): Promise<void> {
    const { network, events, calls } = this.engine;
    if (this.removing) throw new StartFailure('CreateContainerError', 'the pod is being removed');
    if (this.#sandbox && this.#ip) return;
    if (!this.#sandbox && this.#ip) {
      await network.detach(this.uid);
      network.reserve?.(this.uid, this.#ip);
    }
    const sandbox = this.#sandbox ?? (await this.#startSandbox(pod));
    const ip = await this.connect(pod, sandbox.id);
    if (ip === undefined) {
      this.#sandbox = undefined;
      events.forget(sandbox.id);
      await calls.delete(sandbox.id, true);
      return this.#makeSandbox(pod);
    }
    this.#ip = ip;
    await writeFile(join(this.folder, 'address'), ip);
    await this.#serveHostPorts(pod);
  }

  async #serveHostPorts(pod: Pod): Promise<void> {
    const { address, onError } = this.engine;
    await this.close();
    const target = this.hostPortTarget(pod);
    this.#hostPorts = target && new HostPorts(pod, target, address, onError);
    await this.#hostPorts?.settled();
  }

  async #startSandbox(pod: Pod): Promise<Sandbox> {
    // Containers of a dead sandbox run on in namespaces that new ones cannot join.
    await Promise.all(
      [...this.runs.values()].flat().map(async (run) => {
        run.kill('SIGKILL');
        await run.exited;
      }),
    );
    const attempt = this.#lastAttempt + 1;
    return this.#keep({ id: await this.startSandbox(pod, attempt), attempt });
  }

  #keep(sandbox: Sandbox): Sandbox {
    this.#sandbox = sandbox;
    this.#lastAttempt = sandbox.attempt;
    this.engine.events.watch(sandbox.id, () => void this.#lookAtSandbox(sandbox).catch(this.engine.onError));
    return sandbox;
  }

  async #lookAtSandbox(sandbox: Sandbox): Promise<void> {
    if (this.removing || this.#sandbox !== sandbox) return;
    if ((await this.isSandboxRunning(sandbox.id)) || this.#sandbox !== sandbox) return;
    this.#sandbox = undefined;
    this.engine.events.forget(sandbox.id);
    for (const run of [...this.runs.values()].flat()) run.kill('SIGKILL');
    await this.engine.calls.delete(sandbox.id, true);
  }

  /** Removes runs before `attempt`: only the last one is kept, for its log. */
  async #forgetOld(name: string, attempt: number): Promise<void> {
    const runs = this.runs.get(name) ?? [];
    this.runs.set(
      name,
      runs.filter((run) => run.attempt >= attempt),
    );
    for (const run of runs.filter((one) => one.attempt < attempt)) {
      await this.engine.calls.delete(run.id, false).catch(this.engine.onError);
      await removeFolder(run.facts.terminationFile);
      await this.forgotten(run);
    }
  }

  /** Called when a run is no longer kept. */
  protected async forgotten(_run: EngineContainer): Promise<void> {
    // Most engines leave nothing behind.
  }
}

/** Turns an engine's message about a program that cannot be started into a failure. */
export function startFailure(message: string, isRefusal = false): StartFailure {
  if (isRefusal || /executable file not found|no such file or directory|permission denied/.test(message))
    return new StartFailure('ContainerCannotRun', message, message.includes('permission denied') ? 126 : 127);
  return new StartFailure('RunContainerError', message);
}

/** How runc and others report that a process may not get a lower OOM score. */
export const isScoreProblem = /final child's PID from pipe|oom_score_adj|oom score/i;
