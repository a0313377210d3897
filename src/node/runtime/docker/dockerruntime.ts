/**
 * Pods in containers of Docker or Podman. Containers outlive the agent: the next one finds them by their labels. Nothing
 * is concluded from an engine that does not answer; what is asked of it then fails, and is tried again.
 */
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { Container, Pod, Secret } from '../../../api/generated/types.ts';
import { dialTcp } from '../../../streams/dialing.ts';
import type { PodNetwork } from '../../network/podnetwork.ts';
import { makeFolders, removeFolder } from '../../volumes/foldercare.ts';
import { agentLabel } from '../engine/agentlabel.ts';
import { engineLimits } from '../engine/containerlimits.ts';
import { EngineImages } from '../engine/engineimages.ts';
import { identityOf, labels } from '../engine/podidentity.ts';
import { MemoryMounts } from '../memorymounts.ts';
import { identityOf as agentIdentity } from '../reaper.ts';
import {
  type AdoptedContainer,
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
import { Spawner } from '../spawner.ts';
import type { DockerApi } from './dockerapi.ts';
import { limitsBody } from './dockerbodies.ts';
import { DockerContainer } from './dockercontainer.ts';
import { DockerEvents } from './dockerevents.ts';
import { DockerGarbage } from './dockergarbage.ts';
import { DockerImages } from './dockerimages.ts';
import { type DockerEngine, DockerPod } from './dockerpod.ts';
import type { DockerVersion, InspectedContainer, ListedContainer } from './dockertypes.ts';

const safeUid = /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/;

export interface DockerRuntimeOptions {
  readonly api: DockerApi;
  /** The folder of this runtime; nothing else uses it. */
  readonly folder: string;
  /** Not closed with the runtime. */
  readonly network: PodNetwork;
  /** The address of the node, for pods that share its network. */
  readonly address: string;
  /** Whether containers are left running when the runtime is closed, for the next agent. */
  readonly lasting: boolean;
  readonly secret: (namespace: string, name: string) => Promise<Secret | undefined>;
  readonly now: () => number;
  readonly onError: (error: Error) => void;
}

export class DockerRuntime implements Runtime {
  readonly name = 'docker';
  readonly simulated = false;
  readonly #spawner = new Spawner();
  readonly #pods = new Map<string, DockerPod>();
  readonly #places = new Map<string, Promise<PodPlace>>();
  #bound: ReadonlySet<string> = new Set();
  #opening: Promise<DockerEngine> | undefined;
  #engine: DockerEngine | undefined;
  #garbage: DockerGarbage | undefined;
  #version = '';
  #closed = false;

  constructor(private readonly options: DockerRuntimeOptions) {}

  get version(): string {
    return this.#version;
  }

  async resolveImage(request: ImageRequest): Promise<ImageCommand> {
    return (await this.#ready()).images.resolve(request);
  }

  preparePod(pod: Pod): Promise<PodPlace> {
    const uid = checked(pod.metadata.uid);
    let place = this.#places.get(uid);
    if (!place) {
      place = this.#prepare(pod, uid);
      this.#places.set(uid, place);
      // Forget a failed attempt, so that it can be repeated.
      place.catch(() => this.#places.delete(uid));
    }
    return place;
  }

  adopt(uid: string, container: string): AdoptedContainer | undefined {
    return this.#pods.get(uid)?.runs.get(container)?.at(-1);
  }

  async start(launch: ContainerLaunch): Promise<RunningContainer> {
    const pod = this.#pods.get(launch.pod.metadata.uid ?? '');
    if (!pod || pod.removing || this.#closed)
      throw new StartFailure('CreateContainerError', 'the pod has no place on this node');
    checked(launch.container.name);
    return pod.start(launch);
  }

  async resize(uid: string, container: Container): Promise<void> {
    const run = this.#pods
      .get(uid)
      ?.runs.get(container.name ?? '')
      ?.at(-1);
    if (!run || run.over) return;
    const { memoryBytes, cpuQuota } = engineLimits(container);
    const used = (await run.usage())?.rssBytes ?? 0;
    if (memoryBytes && used > memoryBytes)
      throw new Error(`attempting to set pod memory limit (${memoryBytes}) below current usage (${used})`);
    const { api } = await this.#ready();
    // 0 means "as it is" here; what is no longer limited is set to -1.
    const body = {
      ...limitsBody(container),
      CpuQuota: cpuQuota || -1,
      ...(memoryBytes ? {} : { Memory: 0, MemorySwap: -1 }),
    };
    await api.json('POST', `/containers/${run.id}/update`, { body });
  }

  async dial(uid: string, port: number): Promise<Duplex> {
    const pod = this.#pods.get(uid);
    if (!pod) throw new Error('the pod is not on this node');
    const published = pod.published.get(port);
    if (published !== undefined) return dialTcp(['127.0.0.1'], published);
    if (this.options.network.join && !this.#engine?.isElsewhere) return this.options.network.dial(uid, port);
    return dialTcp([pod.ip], port);
  }

  log(uid: string, container: string, attempt: number): ContainerLog | undefined {
    return this.#pods
      .get(uid)
      ?.runs.get(container)
      ?.find((run) => run.attempt === attempt)?.log;
  }

  async usage(): Promise<readonly ContainerUsage[]> {
    const runs = [...this.#pods.values()].flatMap((pod) => [...pod.runs.values()].flat());
    const usage = await Promise.all(runs.filter((run) => !run.over).map((run) => run.usage()));
    return usage.filter((one) => one !== undefined);
  }

  async removePod(uid: string): Promise<void> {
    if (!safeUid.test(uid)) return;
    const engine = await this.#ready();
    const pod = this.#pods.get(uid) ?? new DockerPod(engine, uid);
    pod.removing = true;
    await this.#places.get(uid)?.catch(() => undefined);
    await pod.remove();
    this.#places.delete(uid);
    this.#pods.delete(uid);
  }

  async recover(bound: ReadonlySet<string>): Promise<void> {
    this.#bound = bound;
    // An engine that does not answer is asked again with the first pod.
    await this.#ready().catch(this.options.onError);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const engine = await this.#opening?.catch(() => undefined);
    this.#garbage?.close();
    if (engine && !this.options.lasting)
      await Promise.allSettled([...this.#pods.values()].map((pod) => pod.remove()));
    engine?.events.close();
    this.options.api.close();
    this.#spawner.close();
  }

  async #prepare(pod: Pod, uid: string): Promise<PodPlace> {
    const engine = await this.#ready();
    let known = this.#pods.get(uid);
    if (!known) {
      known = new DockerPod(engine, uid);
      this.#pods.set(uid, known);
    }
    return known.open(pod);
  }

  #ready(): Promise<DockerEngine> {
    if (this.#closed) return Promise.reject(new Error('the runtime is closed'));
    this.#opening ??= this.#open().catch((error) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #open(): Promise<DockerEngine> {
    const { api, folder, network, address, secret, lasting, now, onError } = this.options;
    await api.negotiate();
    const version = await api.json<DockerVersion>('GET', '/version');
    this.#version = version.Version ?? '';
    await makeFolders(join(folder, 'pods'), 0o700);
    await mkdir(join(folder, 'seccomp'), { recursive: true });
    const node = await agentIdentity(folder);
    const store = new DockerImages(api, node);
    const file = join(folder, 'images.json');
    const engine: DockerEngine = {
      api,
      events: new DockerEvents(api, node),
      owner: { node, agent: lasting ? undefined : await agentLabel() },
      architecture: version.Arch ?? '',
      isPodman: version.Components?.some(({ Name }) => /podman/i.test(Name ?? '')) === true,
      images: new EngineImages({ store, file, secret, now, onError }),
      store,
      network,
      address,
      folder,
      spawner: this.#spawner,
      memory: new MemoryMounts(this.#spawner, join(folder, 'pods')),
      lowScores: true,
      isElsewhere: false,
      now,
      onError,
    };
    await this.#adoptAll(engine);
    this.#engine = engine;
    this.#garbage = new DockerGarbage(engine, (uid) => this.#bound.has(uid) || this.#pods.has(uid));
    await this.#garbage.endAbandoned().catch(onError);
    this.#garbage.start();
    return engine;
  }

  /** Finds the containers of an earlier agent, and removes those of pods that are not bound to this node any more. */
  async #adoptAll(engine: DockerEngine): Promise<void> {
    const { api, folder, onError } = { ...this.options, ...engine };
    const filters = JSON.stringify({ label: [`${labels.node}=${engine.owner.node}`] });
    const found = await api.json<ListedContainer[]>('GET', '/containers/json', {
      query: { all: true, filters },
    });
    const strangers = new Set<string>();
    for (const { Id, Labels } of found) {
      const identity = identityOf(Labels ?? {});
      if (!identity) await api.json('DELETE', `/containers/${Id}`, { query: { force: true } }).catch(onError);
      else if (!this.#bound.has(identity.uid)) strangers.add(identity.uid);
      else await this.#adoptOne(engine, Id, identity.uid).catch(onError);
    }
    for (const uid of await readdir(join(folder, 'pods')).catch(() => []))
      if (!this.#bound.has(uid)) strangers.add(uid);
    for (const uid of strangers) {
      if (safeUid.test(uid)) await new DockerPod(engine, uid).remove().catch(onError);
      else await removeFolder(join(folder, 'pods', uid)).catch(onError);
    }
    for (const pod of this.#pods.values()) {
      const ip = await pod.savedAddress();
      if (ip) engine.network.reserve?.(pod.uid, ip);
    }
  }

  async #adoptOne(engine: DockerEngine, id: string, uid: string): Promise<void> {
    const inspected = await engine.api.json<InspectedContainer>('GET', `/containers/${id}/json`);
    const { Config, State } = inspected;
    const of = Config?.Labels ?? {};
    const { container: name, attempt, isSandbox } = identityOf(of)!;
    let pod = this.#pods.get(uid);
    if (!pod) {
      pod = new DockerPod(engine, uid);
      this.#pods.set(uid, pod);
    }
    if (isSandbox) return pod.adoptSandbox(id, attempt, State.Running === true);
    // Created but never started.
    if (State.Status === 'created')
      return engine.api.json('DELETE', `/containers/${id}`, { query: { force: true, v: true } });
    const facts = {
      uid,
      name,
      attempt,
      image: of[labels.image] ?? '',
      shownImageId: of[labels.imageId] ?? '',
      tty: Config?.Tty === true,
      stdinOnce: Config?.StdinOnce === true,
      messagePolicy: of[labels.messagePolicy] ?? '',
      terminationFile: join(pod.folder, 'containers', name, `${attempt}.termination`),
    };
    pod.adoptRun(new DockerContainer(engine, facts, inspected));
  }
}

function checked(name: string | undefined): string {
  if (name === undefined || !safeUid.test(name))
    throw new StartFailure('CreateContainerError', `${JSON.stringify(name)} cannot be the name of a folder`);
  return name;
}
