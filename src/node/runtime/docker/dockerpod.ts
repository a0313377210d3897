/**
 * A pod in Docker or Podman: a sandbox container that holds its network and IPC namespaces, and the runs of its
 * containers. If the sandbox dies, its containers are killed, and the next start makes a new sandbox with the same
 * address.
 *
 *   pods/<uid>/address                                   the address of the pod, for the next agent
 *   pods/<uid>/containers/<name>/<attempt>.termination   the termination message of a run
 *   pods/<uid>/volume-subpaths/…                         sub paths of volumes (see subpathmounts.ts)
 *   pods/<uid>/images/<id>                               files of images that are mounted as volumes
 */
import { chmod, mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Pod } from '../../../api/generated/types.ts';
import { ownHostname } from '../../network/hostsfile.ts';
import type { PodNetwork } from '../../network/podnetwork.ts';
import { makeFolders, removeFolder } from '../../volumes/foldercare.ts';
import { containerRights } from '../engine/containerrights.ts';
import type { EngineImages } from '../engine/engineimages.ts';
import { containerName, labels, type Owner, sandboxName } from '../engine/podidentity.ts';
import { SubPathMounts } from '../engine/subpathmounts.ts';
import type { MemoryMounts } from '../memorymounts.ts';
import { type ContainerLaunch, type PodPlace, StartFailure } from '../runtime.ts';
import { helperEnv, type Spawner } from '../spawner.ts';
import { DockerError, isDone } from './dockerapi.ts';
import { containerBody, type SandboxNetwork, sandboxBody } from './dockerbodies.ts';
import { DockerContainer, isRunning, type RunContext, type RunFacts } from './dockercontainer.ts';
import type { DockerImages } from './dockerimages.ts';
import { isOfContainer } from './dockersession.ts';
import type { InspectedContainer, ListedContainer } from './dockertypes.ts';

/** What all pods of an engine share. */
export interface DockerEngine extends RunContext {
  readonly owner: Owner;
  readonly architecture: string;
  readonly isPodman: boolean;
  readonly images: EngineImages;
  readonly store: DockerImages;
  readonly network: PodNetwork;
  /** The address of the node, for pods that share its network. */
  readonly address: string;
  /** The folder of this runtime. */
  readonly folder: string;
  readonly spawner: Spawner;
  readonly memory: MemoryMounts;
  /** Whether processes may be protected from the kernel when memory is short; not allowed everywhere. */
  lowScores: boolean;
  /** Whether containers run on another machine, or a virtual one: then their namespaces are out of reach. */
  isElsewhere: boolean;
}

interface Sandbox {
  readonly id: string;
  readonly attempt: number;
}

export class DockerPod {
  readonly folder: string;
  /** Runs by container, oldest first. */
  readonly runs = new Map<string, DockerContainer[]>();
  /** Host ports of published ports, by the port in the pod; only where containers run elsewhere. */
  readonly published = new Map<number, number>();
  removing = false;
  readonly #subPaths: SubPathMounts;
  #sandbox: Sandbox | undefined;
  #making: Promise<void> | undefined;
  #lastAttempt = -1;
  #ip = '';

  constructor(
    private readonly engine: DockerEngine,
    readonly uid: string,
  ) {
    this.folder = join(engine.folder, 'pods', uid);
    this.#subPaths = new SubPathMounts(engine.spawner, join(this.folder, 'volume-subpaths'));
  }

  /** Mounts need the rights of root, and an engine on this machine. */
  get #mayMount(): boolean {
    return process.platform === 'linux' && process.getuid?.() === 0 && !this.engine.isElsewhere;
  }

  get ip(): string {
    return this.#ip;
  }

  /** Takes what an earlier agent has left: a running sandbox, and the runs of containers. */
  adoptSandbox(id: string, attempt: number, running: boolean): void {
    this.#lastAttempt = Math.max(this.#lastAttempt, attempt);
    if (running && attempt >= this.#lastAttempt) this.#keep({ id, attempt });
  }

  adoptRun(run: DockerContainer): void {
    const runs = this.runs.get(run.facts.name) ?? [];
    this.runs.set(
      run.facts.name,
      [...runs, run].sort((a, b) => a.attempt - b.attempt),
    );
  }

  /** The address it has had under an earlier agent. */
  savedAddress(): Promise<string> {
    return readFile(join(this.folder, 'address'), 'utf8').catch(() => '');
  }

  async open(pod: Pod): Promise<PodPlace> {
    const { memory, images } = this.engine;
    await makeFolders(this.folder, 0o700);
    await this.#connect(pod);
    return {
      folder: this.folder,
      ip: this.#ip,
      hostname: ownHostname(pod),
      ...(this.#mayMount
        ? {
            mountMemory: (path, mount) => memory.mount(path, mount),
            bindSubPath: (volume, place, name) => this.#subPaths.bind(volume, place, name),
          }
        : {}),
      imageFolder: async (image, policy) => this.#imageFolder(await images.present(pod, image, policy)),
    };
  }

  async start(launch: ContainerLaunch): Promise<DockerContainer> {
    const { pod, container, attempt, command } = launch;
    const { engine } = this;
    const name = container.name!;
    if (!command.length) throw new StartFailure('CreateContainerError', 'no command specified');
    if (pod.spec?.hostUsers === false)
      throw new StartFailure('CreateContainerError', 'user namespaces are not supported by the runtime');
    const folder = join(this.folder, 'containers', name);
    const rights = await containerRights(
      pod,
      container,
      launch.image?.engine?.user ?? '',
      join(engine.folder, 'seccomp'),
    );
    await this.#connect(pod);
    await this.#forgetOld(name, attempt - 1);
    await mkdir(folder, { recursive: true, mode: 0o711 });
    const terminationFile = join(folder, `${attempt}.termination`);
    await writeFile(terminationFile, '');
    // Writable for all, as the container may run as any user.
    await chmod(terminationFile, 0o666);
    const target = (container as { targetContainerName?: string }).targetContainerName;
    const body = (): object =>
      containerBody({
        owner: engine.owner,
        launch,
        rights,
        sandbox: this.#sandbox!.id,
        target: target ? this.runs.get(target)?.at(-1)?.id : undefined,
        terminationFile,
        hostname: engine.isPodman && !pod.spec?.hostNetwork ? ownHostname(pod) : undefined,
        lowScores: engine.lowScores,
      });
    const facts: RunFacts = {
      uid: this.uid,
      name,
      attempt,
      image: container.image ?? '',
      shownImageId: launch.image!.engine!.shownId,
      tty: container.tty === true,
      stdinOnce: container.stdinOnce === true,
      messagePolicy: container.terminationMessagePolicy ?? '',
      terminationFile,
    };
    const { inspected } = await this.#run(containerName(pod, name, attempt), body);
    const run = new DockerContainer(engine, facts, inspected);
    this.adoptRun(run);
    // It may have ended between its start and the first look at it.
    run.look();
    return run;
  }

  /** Removes everything that the engine has of the pod. */
  async remove(): Promise<void> {
    this.removing = true;
    await this.#making?.catch(() => undefined);
    const { api, events, network, memory, owner } = this.engine;
    if (this.#sandbox) events.forget(this.#sandbox.id);
    const filters = JSON.stringify({
      label: [`${labels.node}=${owner.node}`, `${labels.podUid}=${this.uid}`],
    });
    const found = await api.json<ListedContainer[]>('GET', '/containers/json', {
      query: { all: true, filters },
    });
    const isSandbox = ({ Labels }: ListedContainer): boolean => Labels?.[labels.container] === sandboxName;
    // The sandbox last: its containers use its namespaces.
    await Promise.all(found.filter((one) => !isSandbox(one)).map(({ Id }) => this.#delete(Id)));
    await network.detach(this.uid);
    await Promise.all(found.filter(isSandbox).map(({ Id }) => this.#delete(Id)));
    if (this.#mayMount) {
      await this.#subPaths.release();
      await memory.unmount(this.uid);
    }
    await removeFolder(this.folder);
  }

  /** Makes sure that there is a sandbox, and that it is connected. */
  #connect(pod: Pod): Promise<void> {
    this.#making ??= this.#makeSandbox(pod).finally(() => {
      this.#making = undefined;
    });
    return this.#making;
  }

  async #makeSandbox(pod: Pod): Promise<void> {
    const { engine } = this;
    if (this.removing) throw new StartFailure('CreateContainerError', 'the pod is being removed');
    if (this.#sandbox && this.#ip) return;
    const fresh = !this.#sandbox;
    if (fresh && this.#ip) {
      await engine.network.detach(this.uid);
      engine.network.reserve?.(this.uid, this.#ip);
    }
    const sandbox = this.#sandbox ?? (await this.#startSandbox(pod));
    const inspected = await engine.api.json<InspectedContainer>('GET', `/containers/${sandbox.id}/json`);
    const network = this.#networkOf(pod);
    const pid = inspected.State.Pid ?? 0;
    if (network === 'none' && !(await isOfContainer(pid, sandbox.id))) {
      engine.isElsewhere = true;
      this.#sandbox = undefined;
      engine.events.forget(sandbox.id);
      await this.#delete(sandbox.id);
      return this.#makeSandbox(pod);
    }
    this.#ip = await this.#address(pod, network, inspected);
    await writeFile(join(this.folder, 'address'), this.#ip);
  }

  #networkOf(pod: Pod): SandboxNetwork {
    const { network, isElsewhere } = this.engine;
    if (pod.spec?.hostNetwork) return 'host';
    if (isElsewhere) return 'published';
    return network.join ? 'none' : 'bridge';
  }

  async #address(
    pod: Pod,
    network: SandboxNetwork,
    { State, NetworkSettings }: InspectedContainer,
  ): Promise<string> {
    const { engine } = this;
    if (network === 'host') return engine.address;
    if (network === 'none') return (await engine.network.join!(pod, State.Pid!)).ip;
    for (const [key, bindings] of Object.entries(NetworkSettings?.Ports ?? {}))
      for (const { HostPort } of bindings ?? [])
        if (HostPort) this.published.set(Number.parseInt(key, 10), Number(HostPort));
    const [first] = Object.values(NetworkSettings?.Networks ?? {});
    const ip = NetworkSettings?.IPAddress || first?.IPAddress;
    if (!ip) throw new Error('the container engine has given the pod no address');
    return ip;
  }

  async #startSandbox(pod: Pod): Promise<Sandbox> {
    const { engine } = this;
    // Containers of a dead sandbox run on in namespaces that new ones cannot join.
    await Promise.all(
      [...this.runs.values()].flat().map(async (run) => {
        run.kill('SIGKILL');
        await run.exited;
      }),
    );
    const attempt = this.#lastAttempt + 1;
    const image = await engine.store.pause(engine.architecture);
    const body = (): object =>
      sandboxBody({
        owner: engine.owner,
        pod,
        attempt,
        image,
        network: this.#networkOf(pod),
        hostname: ownHostname(pod),
        lowScores: engine.lowScores,
      });
    const { inspected } = await this.#run(containerName(pod, sandboxName, attempt), body);
    return this.#keep({ id: inspected.Id, attempt });
  }

  #keep(sandbox: Sandbox): Sandbox {
    this.#sandbox = sandbox;
    this.#lastAttempt = sandbox.attempt;
    this.engine.events.watch(sandbox.id, () => void this.#lookAtSandbox(sandbox).catch(this.engine.onError));
    return sandbox;
  }

  async #lookAtSandbox(sandbox: Sandbox): Promise<void> {
    if (this.removing || this.#sandbox !== sandbox) return;
    const found = await this.engine.api
      .json<InspectedContainer>('GET', `/containers/${sandbox.id}/json`)
      .catch((error) => {
        if (isDone(error)) return undefined;
        throw error;
      });
    if ((found && isRunning(found)) || this.#sandbox !== sandbox) return;
    this.#sandbox = undefined;
    this.engine.events.forget(sandbox.id);
    for (const run of [...this.runs.values()].flat()) run.kill('SIGKILL');
    await this.#delete(sandbox.id);
  }

  /** Creates and starts a container. Throws `StartFailure`. */
  async #run(name: string, body: () => object): Promise<{ readonly inspected: InspectedContainer }> {
    const { api } = this.engine;
    const { Id } = await this.#create(name, body);
    try {
      await api.json('POST', `/containers/${Id}/start`);
      return { inspected: await api.json<InspectedContainer>('GET', `/containers/${Id}/json`) };
    } catch (error) {
      const { message } = error as Error;
      const status = error instanceof DockerError ? error.status : 0;
      await this.#delete(Id).catch(this.engine.onError);
      if (this.engine.lowScores && isScoreProblem.test(message)) {
        this.engine.lowScores = false;
        return this.#run(name, body);
      }
      if (
        status === 400 ||
        /executable file not found|no such file or directory|permission denied/.test(message)
      )
        throw new StartFailure(
          'ContainerCannotRun',
          message,
          message.includes('permission denied') ? 126 : 127,
        );
      throw new StartFailure('RunContainerError', message);
    }
  }

  async #create(name: string, body: () => object): Promise<{ readonly Id: string }> {
    const { api, owner } = this.engine;
    const create = () =>
      api.json<{ Id: string }>('POST', '/containers/create', { query: { name }, body: body() });
    try {
      return await create();
    } catch (error) {
      const taken =
        error instanceof DockerError && (error.status === 409 || /already in use/.test(error.message));
      if (!taken) throw new StartFailure('CreateContainerError', (error as Error).message);
    }
    // Left by an agent that was killed between creating and starting it.
    const { Id, Config } = await api.json<InspectedContainer>('GET', `/containers/${name}/json`);
    if (Config?.Labels?.[labels.node] !== owner.node)
      throw new StartFailure('CreateContainerError', `a container called ${name} belongs to another node`);
    await this.#delete(Id);
    return create().catch((error: Error) => {
      throw new StartFailure('CreateContainerError', error.message);
    });
  }

  /** Removes runs before `attempt`: only the last one is kept, for its log. */
  async #forgetOld(name: string, attempt: number): Promise<void> {
    const runs = this.runs.get(name) ?? [];
    const old = runs.filter((run) => run.attempt < attempt);
    this.runs.set(
      name,
      runs.filter((run) => run.attempt >= attempt),
    );
    for (const run of old) {
      await this.#delete(run.id).catch(this.engine.onError);
      await removeFolder(run.facts.terminationFile);
    }
  }

  async #delete(id: string): Promise<void> {
    await this.engine.api
      .json('DELETE', `/containers/${id}`, { query: { force: true, v: true } })
      .catch((error: unknown) => {
        // 409: its removal is under way.
        if (!isDone(error) && !(error instanceof DockerError && error.status === 409)) throw error;
      });
  }

  async #imageFolder(id: string): Promise<string> {
    const { spawner, store } = this.engine;
    const done = join(this.folder, 'images', id.replace(/^sha256:/, ''));
    if (await stat(done).catch(() => undefined)) return done;
    const scratch = `${done}.new`;
    await removeFolder(scratch);
    await mkdir(scratch, { recursive: true });
    const tar = spawner.tool('tar');
    if (!tar) throw new Error('there is no program "tar" on this machine');
    await store.archive(id, async (archive) => {
      const child = spawner.spawn([tar, '-xf', '-', '-C', scratch], {
        env: helperEnv,
        stdio: ['pipe', 'ignore', 'ignore'],
      });
      const ended = new Promise<number | null>((resolve, reject) => {
        child.once('error', reject).once('close', resolve);
      });
      await pipeline(archive, child.stdin!).catch(() => undefined);
      if (await ended) throw new Error('the files of the image cannot be unpacked');
    });
    await rename(scratch, done);
    return done;
  }
}

/** How runc and others say that a process may not get a lower score. */
const isScoreProblem = /final child's PID from pipe|oom_score_adj|oom score/i;
