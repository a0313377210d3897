/**
 * Removes what is no longer needed: containers of pods that are gone, runs that are no longer kept, containers of agents
 * that were killed and left no folder, and, when the disk is nearly full, images that this agent has pulled.
 */
import { diskOf } from '../../agent/machine.ts';
import { isAbandoned } from '../engine/agentlabel.ts';
import { identityOf, labels } from '../engine/podidentity.ts';
import { DockerError, isDone } from './dockerapi.ts';
import { type DockerEngine, DockerPod } from './dockerpod.ts';
import type { DockerInfo, ListedContainer } from './dockertypes.ts';

const containersMs = 60_000;
const imagesMs = 300_000;
/** Images are removed when the disk is this full, until it is less than that full. */
const fullFrom = 0.85;
const fullUntil = 0.8;
/** An image stays for this long after its last use. */
const unusedMs = 120_000;

export class DockerGarbage {
  #timers: NodeJS.Timeout[] = [];
  #working: Promise<void> = Promise.resolve();

  constructor(
    private readonly engine: DockerEngine,
    private readonly isKnown: (uid: string) => boolean,
  ) {}

  start(): void {
    this.#timers = [
      setInterval(() => this.#inTurn(() => this.collectContainers()), containersMs),
      setInterval(() => this.#inTurn(() => this.collectImages()), imagesMs),
    ];
    for (const timer of this.#timers) timer.unref();
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  /** Ends containers of killed agents that have left no folder behind. */
  async endAbandoned(): Promise<void> {
    for (const { Id, Labels } of await this.#list(labels.agent))
      if (await isAbandoned(Labels?.[labels.agent] ?? '')) await this.#delete(Id);
  }

  async collectContainers(): Promise<void> {
    const { engine } = this;
    const gone = new Set<string>();
    const ended = new Map<string, { readonly id: string; readonly attempt: number }[]>();
    for (const { Id, Labels, State } of await this.#list(`${labels.node}=${engine.owner.node}`)) {
      const identity = identityOf(Labels ?? {});
      if (!identity) continue;
      const { uid, container, attempt, isSandbox } = identity;
      if (!this.isKnown(uid)) gone.add(uid);
      else if (!isSandbox && State !== 'running' && State !== 'created') {
        const key = `${uid}/${container}`;
        ended.set(key, [...(ended.get(key) ?? []), { id: Id, attempt }]);
      }
    }
    for (const uid of gone) await new DockerPod(engine, uid).remove();
    // The newest two: the last run, and the one before it if the last one has ended, too.
    for (const runs of ended.values())
      for (const { id } of runs.sort((a, b) => b.attempt - a.attempt).slice(2)) await this.#delete(id);
  }

  async collectImages(): Promise<void> {
    const { api, images, store, now } = this.engine;
    const { DockerRootDir: root = '' } = await api.json<DockerInfo>('GET', '/info');
    const fullness = async (): Promise<number> => {
      const disk = root ? await diskOf(root) : undefined;
      return disk ? 1 - disk.availableBytes / disk.capacityBytes : 0;
    };
    if ((await fullness()) < fullFrom) return;
    const used = new Set((await this.#list()).map(({ ImageID }) => ImageID));
    for (const { id, usedAt } of await images.pulledImages()) {
      if ((await fullness()) < fullUntil) return;
      if (used.has(id) || now() - usedAt < unusedMs) continue;
      await store.remove(id);
      await images.forget(id);
    }
  }

  #inTurn(work: () => Promise<void>): void {
    this.#working = this.#working.then(work).catch(this.engine.onError);
  }

  #list(label?: string): Promise<ListedContainer[]> {
    const filters = label === undefined ? undefined : JSON.stringify({ label: [label] });
    return this.engine.api.json('GET', '/containers/json', { query: { all: true, filters } });
  }

  async #delete(id: string): Promise<void> {
    await this.engine.api
      .json('DELETE', `/containers/${id}`, { query: { force: true, v: true } })
      .catch((error: unknown) => {
        if (!isDone(error) && !(error instanceof DockerError && error.status === 409)) throw error;
      });
  }
}
