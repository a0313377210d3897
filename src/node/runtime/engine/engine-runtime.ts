/**
 * Pods in the containers of an engine. Containers outlive the agent: the next agent finds them by their labels. While
 * the engine does not answer, nothing is assumed; calls fail then, and are tried again.
 */
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import type { Container, Pod, Secret } from '../../../api/generated/types.ts';
import { makeFolders, removeFolder } from '../../machine/folder-care.ts';
import type { PodNetwork } from '../../network/pod-network.ts';
import { identityOf as agentIdentity } from '../../process/reaper.ts';
import { Spawner } from '../../process/spawner.ts';
import { MemoryMounts } from '../memory-mounts.ts';
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
import { refuseOwnUsers } from '../user-namespaces.ts';
import { agentLabel } from './agent-label.ts';
import type { EngineBase, EngineContext, FoundContainer } from './container-engine.ts';
import { type EngineLimits, engineLimits } from './container-limits.ts';
import type { EngineContainer, RunFacts } from './engine-container.ts';
import { EngineGarbage } from './engine-garbage.ts';
import { EngineImages, type ImageStore } from './engine-images.ts';
import type { EnginePod } from './engine-pod.ts';
import { identityOf, labels } from './pod-identity.ts';

const safeUid = /^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$/;

export interface EngineRuntimeOptions {
  /** The folder of this runtime; nothing else uses it. */
  readonly folder: string;
  /** Not closed with the runtime. */
  readonly network: PodNetwork;
  /** The address of the node, for pods that share its network. */
  readonly address: string;
  /** Whether containers are left running when the runtime is closed, for the next agent. */
  readonly lasting: boolean;
  readonly secret: (namespace: string, name: string) => Promise<Secret | undefined>;
  /** Secrets of the node, with which images of every pod are pulled. */
  readonly nodeSecrets?: readonly Secret[] | undefined;
  readonly now: () => number;
  readonly onError: (error: Error) => void;
}

export abstract class EngineRuntime<E extends EngineContext> implements Runtime {
  abstract readonly name: string;
  readonly simulated = false;
  readonly system = 'linux';
  readonly #spawner = new Spawner();
  readonly #pods = new Map<string, EnginePod>();
  readonly #places = new Map<string, Promise<PodPlace>>();
  #bound: ReadonlySet<string> = new Set();
  #opening: Promise<E> | undefined;
  #garbage: EngineGarbage | undefined;
  #version = '';
  #closed = false;

  constructor(protected readonly options: EngineRuntimeOptions) {}

  get version(): string {
    return this.#version;
  }

  /** Connects to the engine. */
  protected abstract connect(base: EngineBase): Promise<E>;
  protected abstract disconnect(): void;
  protected abstract podOf(engine: E, uid: string): EnginePod;
  /** A container of an earlier agent; undefined when it has gone meanwhile. */
  protected abstract adopted(engine: E, id: string, facts: RunFacts): Promise<EngineContainer | undefined>;
  /** Changes the limits of a running container. */
  protected abstract update(engine: E, id: string, limits: EngineLimits): Promise<void>;

  async resolveImage(request: ImageRequest): Promise<ImageCommand> {
    return (await this.ready()).images.resolve(request);
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
    return this.#last(uid, container);
  }

  async start(launch: ContainerLaunch): Promise<RunningContainer> {
    const pod = this.#pods.get(launch.pod.metadata.uid ?? '');
    if (!pod || pod.removing || this.#closed)
      throw new StartFailure('CreateContainerError', 'the pod has no place on this node');
    checked(launch.container.name);
    return pod.start(launch);
  }

  async resize(uid: string, container: Container): Promise<void> {
    const run = this.#last(uid, container.name ?? '');
    if (!run || run.over) return;
    const limits = engineLimits(container);
    const used = (await run.usage())?.rssBytes ?? 0;
    if (limits.memoryBytes && used > limits.memoryBytes)
      throw new Error(
        `attempting to set pod memory limit (${limits.memoryBytes}) below current usage (${used})`,
      );
    await this.update(await this.ready(), run.id, limits);
  }

  async dial(uid: string, port: number): Promise<Duplex> {
    return this.#present(uid).dial(port);
  }

  async reach(uid: string, port: number): Promise<Duplex> {
    return this.#present(uid).reach(port);
  }

  log(uid: string, container: string, attempt: number): ContainerLog | undefined {
    return this.#pods
      .get(uid)
      ?.runs.get(container)
      ?.find((run) => run.attempt === attempt)?.log;
  }

  async usage(): Promise<readonly ContainerUsage[]> {
    const usage = await Promise.all(this.running().map((run) => run.usage()));
    return usage.filter((one) => one !== undefined);
  }

  async removePod(uid: string): Promise<void> {
    if (!safeUid.test(uid)) return;
    const engine = await this.ready();
    const pod = this.#pods.get(uid) ?? this.podOf(engine, uid);
    pod.removing = true;
    await this.#places.get(uid)?.catch(() => undefined);
    await pod.remove();
    this.#places.delete(uid);
    this.#pods.delete(uid);
  }

  async recover(bound: ReadonlySet<string>): Promise<void> {
    this.#bound = bound;
    // If the engine does not answer, it is asked again with the first pod.
    await this.ready().catch(this.options.onError);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const engine = await this.#opening?.catch(() => undefined);
    this.#garbage?.close();
    if (engine && !this.options.lasting)
      await Promise.allSettled([...this.#pods.values()].map((pod) => pod.remove()));
    await Promise.all([...this.#pods.values()].map((pod) => pod.close()));
    engine?.events.close();
    this.disconnect();
    this.#spawner.close();
  }

  protected running(): EngineContainer[] {
    const runs = [...this.#pods.values()].flatMap((pod) => [...pod.runs.values()].flat());
    return runs.filter((run) => !run.over);
  }

  protected ready(): Promise<E> {
    if (this.#closed) return Promise.reject(new Error('the runtime is closed'));
    this.#opening ??= this.#open().catch((error) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  protected imagesOf(store: ImageStore): EngineImages {
    const { folder, secret, nodeSecrets, now, onError } = this.options;
    return new EngineImages({ store, file: join(folder, 'images.json'), secret, nodeSecrets, now, onError });
  }

  /** The pod; throws when it is not on this node. */
  #present(uid: string): EnginePod {
    const pod = this.#pods.get(uid);
    if (!pod) throw new Error('the pod is not on this node');
    return pod;
  }

  #last(uid: string, container: string): EngineContainer | undefined {
    return this.#pods.get(uid)?.runs.get(container)?.at(-1);
  }

  async #prepare(pod: Pod, uid: string): Promise<PodPlace> {
    refuseOwnUsers(pod, this.name);
    return this.#pod(await this.ready(), uid).open(pod);
  }

  #pod(engine: E, uid: string): EnginePod {
    const known = this.#pods.get(uid) ?? this.podOf(engine, uid);
    this.#pods.set(uid, known);
    return known;
  }

  async #open(): Promise<E> {
    const { folder, network, address, lasting, now, onError } = this.options;
    await makeFolders(join(folder, 'pods'), 0o700);
    await mkdir(join(folder, 'seccomp'), { recursive: true });
    const engine = await this.connect({
      owner: { node: await agentIdentity(folder), agent: lasting ? undefined : await agentLabel(), folder },
      network,
      address,
      folder,
      spawner: this.#spawner,
      memory: new MemoryMounts(this.#spawner, join(folder, 'pods')),
      lowScores: true,
      isElsewhere: false,
      now,
      onError,
    });
    this.#version = engine.version;
    await this.#adoptAll(engine);
    this.#garbage = new EngineGarbage(engine, {
      isKnown: (uid) => this.#bound.has(uid) || this.#pods.has(uid),
      removePod: (uid) => this.podOf(engine, uid).remove(),
    });
    await this.#garbage.endAbandoned().catch(onError);
    this.#garbage.start();
    return engine;
  }

  /** Adopts the containers of an earlier agent, and removes those of pods that are no longer bound to this node. */
  async #adoptAll(engine: E): Promise<void> {
    const { folder, calls, network, onError, owner } = engine;
    const strangers = new Set<string>();
    for (const found of await calls.list({ [labels.node]: owner.node })) {
      const identity = identityOf(found.labels);
      if (!identity) await calls.delete(found.id, false).catch(onError);
      else if (!this.#bound.has(identity.uid)) strangers.add(identity.uid);
      else await this.#adoptOne(engine, found).catch(onError);
    }
    for (const uid of await readdir(join(folder, 'pods')).catch(() => []))
      if (!this.#bound.has(uid)) strangers.add(uid);
    for (const uid of strangers) {
      if (safeUid.test(uid)) await this.podOf(engine, uid).remove().catch(onError);
      else await removeFolder(join(folder, 'pods', uid)).catch(onError);
    }
    for (const pod of this.#pods.values()) {
      const ip = await pod.savedAddress();
      if (ip) network.reserve?.(pod.uid, ip);
    }
  }

  async #adoptOne(engine: E, { id, labels: of, state }: FoundContainer): Promise<void> {
    const { uid, container: name, attempt, isSandbox } = identityOf(of)!;
    const pod = this.#pod(engine, uid);
    if (isSandbox) return pod.adoptSandbox(id, attempt, state === 'running');
    // It was created but never started.
    if (state === 'created') return engine.calls.delete(id, false);
    const run = await this.adopted(engine, id, {
      uid,
      name,
      attempt,
      image: of[labels.image] ?? '',
      shownImageId: of[labels.imageId] ?? '',
      messagePolicy: of[labels.messagePolicy] ?? '',
      terminationFile: pod.terminationFile(name, attempt),
    });
    if (run) pod.adoptRun(run);
  }
}

function checked(name: string | undefined): string {
  if (name === undefined || !safeUid.test(name))
    throw new StartFailure('CreateContainerError', `${JSON.stringify(name)} cannot be the name of a folder`);
  return name;
}
