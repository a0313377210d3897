/**
 * A pod in Docker or Podman. Its sandbox is a container; the files of images that are mounted as volumes are copied to
 * `pods/<uid>/images/<id>`.
 */
import { mkdir, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Pod } from '../../../api/generated/types.ts';
import { dialTcp } from '../../../streams/dial/dialing.ts';
import { dialError } from '../../../streams/dial/net-error.ts';
import { removeFolder } from '../../machine/folder-care.ts';
import { ownHostname } from '../../network/hosts-file.ts';
import { helperEnv } from '../../process/spawner.ts';
import type { EngineContext } from '../engine/container-engine.ts';
import { EnginePod, isScoreProblem, type NewRun, startFailure } from '../engine/engine-pod.ts';
import { containerName, labels, sandboxName } from '../engine/pod-identity.ts';
import { StartFailure } from '../runtime.ts';
import { type DockerApi, DockerError, isDone } from './docker-api.ts';
import { containerBody, type SandboxNetwork, sandboxBody } from './docker-bodies.ts';
import { DockerContainer, isRunning } from './docker-container.ts';
import type { DockerImages } from './docker-images.ts';
import { isOfContainer } from './docker-session.ts';
import type { InspectedContainer } from './docker-types.ts';

/** The state that all pods of an engine share. */
export interface DockerEngine extends EngineContext {
  readonly api: DockerApi;
  readonly architecture: string;
  readonly isPodman: boolean;
  readonly store: DockerImages;
}

export class DockerPod extends EnginePod<DockerEngine> {
  /** Host ports of published ports, by the port in the pod; only for containers on another (virtual) machine. */
  readonly #published = new Map<number, number>();

  override async dial(port: number): Promise<Duplex> {
    const { network, isElsewhere } = this.engine;
    const published = this.#published.get(port);
    if (published !== undefined) return dialTcp(['127.0.0.1'], published);
    if (network.join && !isElsewhere) return network.dial(this.uid, port);
    return dialTcp([this.ip], port);
  }

  override async reach(port: number): Promise<Duplex> {
    const { network, isElsewhere } = this.engine;
    const published = this.#published.get(port);
    if (published !== undefined)
      return dialTcp(['127.0.0.1'], published).catch((error: Error) => {
        throw dialError(this.ip, port, error.cause ?? error);
      });
    return network.join && !isElsewhere ? network.reach(this.uid, port) : dialTcp([this.ip], port);
  }

  protected override hostPortTarget(pod: Pod) {
    const network = this.#networkOf(pod);
    if (network !== 'bridge' && network !== 'published') return undefined;
    return (port: number) => {
      const published = this.#published.get(port);
      return published === undefined ? { ip: this.ip, port } : { ip: '127.0.0.1', port: published };
    };
  }

  protected override async startSandbox(pod: Pod, attempt: number): Promise<string> {
    const { engine } = this;
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
    return (await this.#run(containerName(pod, sandboxName, attempt), body)).Id;
  }

  protected override async isSandboxRunning(id: string): Promise<boolean> {
    try {
      return isRunning(await this.#inspect(id));
    } catch (error) {
      if (isDone(error)) return false;
      throw error;
    }
  }

  protected override async connect(pod: Pod, sandbox: string): Promise<string | undefined> {
    const { engine } = this;
    const { State, NetworkSettings } = await this.#inspect(sandbox);
    const network = this.#networkOf(pod);
    if (network === 'host') return engine.address;
    if (network === 'none') {
      if (await isOfContainer(State.Pid ?? 0, sandbox))
        return (await engine.network.join!(pod, State.Pid!)).ip;
      engine.isElsewhere = true;
      return undefined;
    }
    for (const [key, bindings] of Object.entries(NetworkSettings?.Ports ?? {}))
      for (const { HostPort } of bindings ?? [])
        if (HostPort) this.#published.set(Number.parseInt(key, 10), Number(HostPort));
    const [first] = Object.values(NetworkSettings?.Networks ?? {});
    const ip = NetworkSettings?.IPAddress || first?.IPAddress;
    if (!ip) throw new Error('the container engine has given the pod no address');
    return ip;
  }

  protected override async startRun(wanted: NewRun): Promise<DockerContainer> {
    const { engine } = this;
    const { launch, facts } = wanted;
    const { pod } = launch;
    const body = (): object =>
      containerBody({
        ...wanted,
        owner: engine.owner,
        hostname: engine.isPodman && !pod.spec?.hostNetwork ? ownHostname(pod) : undefined,
        lowScores: engine.lowScores,
      });
    const inspected = await this.#run(containerName(pod, facts.name, facts.attempt), body);
    return DockerContainer.of(engine, facts, inspected);
  }

  protected override async imageFolder(id: string): Promise<string> {
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

  #networkOf(pod: Pod): SandboxNetwork {
    const { network, isElsewhere } = this.engine;
    if (pod.spec?.hostNetwork) return 'host';
    if (isElsewhere) return 'published';
    return network.join ? 'none' : 'bridge';
  }

  #inspect(id: string): Promise<InspectedContainer> {
    return this.engine.api.json('GET', `/containers/${id}/json`);
  }

  /** Creates and starts a container. Throws `StartFailure`. */
  async #run(name: string, body: () => object): Promise<InspectedContainer> {
    // Read now: another container that starts at the same time may find out first that low scores do not work.
    const { api, calls, onError, lowScores } = this.engine;
    const { Id } = await this.#create(name, body);
    try {
      await api.json('POST', `/containers/${Id}/start`);
      return await this.#inspect(Id);
    } catch (error) {
      const { message } = error as Error;
      await calls.delete(Id, false).catch(onError);
      if (lowScores && isScoreProblem.test(message)) {
        this.engine.lowScores = false;
        return this.#run(name, body);
      }
      throw startFailure(message, error instanceof DockerError && error.status === 400);
    }
  }

  async #create(name: string, body: () => object): Promise<{ readonly Id: string }> {
    const { api, owner, calls } = this.engine;
    const create = () =>
      api.json<{ Id: string }>('POST', '/containers/create', { query: { name }, body: body() });
    try {
      return await create();
    } catch (error) {
      const taken =
        error instanceof DockerError && (error.status === 409 || /already in use/.test(error.message));
      if (!taken) throw new StartFailure('CreateContainerError', (error as Error).message);
    }
    // A container left by an agent that was killed between creating and starting it.
    const { Id, Config } = await this.#inspect(name);
    if (Config?.Labels?.[labels.node] !== owner.node)
      throw new StartFailure('CreateContainerError', `a container called ${name} belongs to another node`);
    await calls.delete(Id, false);
    return create().catch((error: Error) => {
      throw new StartFailure('CreateContainerError', error.message);
    });
  }
}
