/**
 * Removes what is no longer needed: containers of deleted pods, old runs and sandboxes, containers of killed agents
 * without a folder, and, when the disk is nearly full, images that this agent has pulled.
 */

import { composedKey } from '../../../composed-key.ts';
import { diskOf } from '../../machine/machine.ts';
import { isAbandoned } from './agent-label.ts';
import type { EngineContext, FoundContainer } from './container-engine.ts';
import { identityOf, labels } from './pod-identity.ts';

const containersMs = 60_000;
const imagesMs = 300_000;
/** Images are removed from this fullness of the disk on, until it is below the second. */
const fullFrom = 0.85;
const fullUntil = 0.8;
/** An image stays for this long after its last use. */
const unusedMs = 120_000;

export interface GarbagePods {
  isKnown(uid: string): boolean;
  removePod(uid: string): Promise<void>;
}

/** How full the disk of a folder is, from 0 to 1; 0 when that is not known. */
async function fullnessOf(folder: string): Promise<number> {
  const disk = folder ? await diskOf(folder) : undefined;
  return disk ? 1 - disk.availableBytes / disk.capacityBytes : 0;
}

/** Ended sandboxes without containers, except the newest of each pod, which holds the number of the next one. */
function deadSandboxes(all: readonly FoundContainer[]): string[] {
  const used = new Set(all.map(({ sandbox }) => sandbox));
  const newest = new Map<string, number>();
  const sandboxes = all.flatMap((one) => {
    const identity = identityOf(one.labels);
    return identity?.isSandbox ? [{ ...one, ...identity }] : [];
  });
  for (const { uid, attempt } of sandboxes) newest.set(uid, Math.max(attempt, newest.get(uid) ?? 0));
  return sandboxes
    .filter(({ id, state, uid, attempt }) => state === 'ended' && !used.has(id) && attempt < newest.get(uid)!)
    .map(({ id }) => id);
}

export class EngineGarbage {
  #timers: NodeJS.Timeout[] = [];
  #working: Promise<void> = Promise.resolve();

  constructor(
    private readonly engine: EngineContext,
    private readonly pods: GarbagePods,
    private readonly fullness = fullnessOf,
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
    for (const { id, labels: of } of await this.engine.calls.list({}))
      if (await isAbandoned(of[labels.agent] ?? ''))
        await this.engine.calls.delete(id, identityOf(of)?.isSandbox === true);
  }

  async collectContainers(): Promise<void> {
    const { calls, owner } = this.engine;
    const gone = new Set<string>();
    const ended = new Map<string, { readonly id: string; readonly attempt: number }[]>();
    const all = await calls.list({ [labels.node]: owner.node });
    for (const { id, labels: of, state } of all) {
      const identity = identityOf(of);
      if (!identity) continue;
      const { uid, container, attempt, isSandbox } = identity;
      if (!this.pods.isKnown(uid)) gone.add(uid);
      else if (!isSandbox && state === 'ended') {
        const key = composedKey(uid, container);
        ended.set(key, [...(ended.get(key) ?? []), { id, attempt }]);
      }
    }
    for (const uid of gone) await this.pods.removePod(uid);
    // Keep the newest two: the last run, and the one before it if the last one has ended, too.
    for (const runs of ended.values())
      for (const { id } of runs.sort((a, b) => b.attempt - a.attempt).slice(2)) await calls.delete(id, false);
    for (const id of deadSandboxes(all)) await calls.delete(id, true);
  }

  async collectImages(): Promise<void> {
    const { calls, images, now } = this.engine;
    const folder = await calls.imageFolder();
    if ((await this.fullness(folder)) < fullFrom) return;
    const used = new Set((await calls.list({})).map(({ imageId }) => imageId));
    for (const { id, usedAt } of await images.pulledImages()) {
      if ((await this.fullness(folder)) < fullUntil) return;
      if (used.has(id) || now() - usedAt < unusedMs) continue;
      // The record of an image that remains says which pods may use it.
      if (await calls.removeImage(id)) await images.forget(id);
    }
  }

  #inTurn(work: () => Promise<void>): void {
    this.#working = this.#working.then(work).catch(this.engine.onError);
  }
}
