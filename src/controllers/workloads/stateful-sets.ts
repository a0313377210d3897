/**
 * The stateful set controller: keeps pods with stable names and their own claims, in order if the set asks for that,
 * and replaces those of old revisions from the last to the first.
 */

import { StatusError } from '../../api/errors/errors.ts';
import type { Pod, StatefulSet } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import type { LabelSelector } from '../../api/kind/label-selector.ts';
import { decodeObject } from '../../api/model/decode.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Registry } from '../../registry/registry.ts';
import { collectionOf, targetOf } from '../../registry/target.ts';
import { create } from '../../registry/verbs/create.ts';
import { remove } from '../../registry/verbs/delete.ts';
import type { Entry } from '../../registry/view/entry.ts';
import {
  type Controller,
  fromKey,
  isNamespaceTerminating,
  keyOf,
  observe,
  type RunningController,
  running,
  type SharedContext,
  writeStatus,
} from '../shared/controller.ts';
import { recorderFor } from '../shared/event-sink.ts';
import { FailureBackoff } from '../shared/failure-backoff.ts';
import { type IndexedPod, nextAvailableInMs } from '../shared/indexed-pod.ts';
import { changePod, claimPods, refersTo } from '../shared/ownership.ts';
import { objectSelector, Selectors } from '../shared/selectors.ts';
import { slowStart } from '../shared/slow-start.ts';
import { WorkQueue } from '../shared/work-queue.ts';
import { type Revision, RevisionHistory, type RevisionList } from './revision-history.ts';
import { StatefulClaims } from './stateful-claims.ts';
import {
  hasIdentity,
  identify,
  ordinalOf,
  placeIn,
  podNameOf,
  revisionNameOf,
  statefulPod,
} from './stateful-identity.ts';
import { isOrdered, type PlanStage, planOf, type Step } from './stateful-plan.ts';
import { type SetRevisions, statusOf } from './stateful-status.ts';

export const statefulSetController: Controller = {
  name: 'statefulset',
  writer: 'statefulset-controller',
  start: (context) => new StatefulSets(context).start(),
};

const selectorOf = ({ spec }: StatefulSet): LabelSelector | undefined => objectSelector(spec?.selector);

/** A stateful set in one pass. */
interface Look {
  readonly entry: Entry;
  readonly set: StatefulSet;
  readonly selector: LabelSelector;
  readonly current: Revision;
  readonly update: Revision;
}

class StatefulSets {
  readonly #registry: Registry;
  readonly #kind: Kind;
  readonly #podKind: Kind;
  readonly #recorder: EventRecorder;
  readonly #claims: StatefulClaims;
  readonly #queue: WorkQueue;
  readonly #history: RevisionHistory;
  readonly #selectors = new Selectors(selectorOf);
  /** Back-off of pods that fail, by set and name. */
  readonly #failures = new FailureBackoff();

  constructor(private readonly context: SharedContext) {
    const { registry, onError } = context;
    this.#registry = registry;
    this.#kind = registry.kinds.resource('apps/v1', 'statefulsets')!;
    this.#podKind = registry.kinds.resource('v1', 'pods')!;
    this.#recorder = recorderFor(context, 'statefulset-controller');
    this.#claims = new StatefulClaims(context, this.#kind, this.#recorder);
    this.#history = new RevisionHistory(context);
    this.#queue = new WorkQueue({
      timers: context.registry.timers,
      work: (key) => this.#sync(key),
      onError: (_, error) => onError(error),
      // Retry periodically: a quota may get room, or a name become free, without a change of the set.
      triesMax: Number.POSITIVE_INFINITY,
    });
  }

  start(): RunningController {
    const observations = [
      observe(this.context, 'apps/statefulsets', (entry, previous) => {
        this.#selectors.observe(entry, previous);
        if (entry) this.#queue.add(keyOf(entry.namespace, entry.name));
        else this.#failures.forget(keyOf(previous!.namespace, previous!.name));
      }),
      // A pod may have been waiting for the deletion of a claim.
      observe(this.context, 'core/persistentvolumeclaims', (entry, previous) => {
        if (!entry && previous) this.#selected(previous.namespace, previous.labels);
      }),
      this.#history.observe(this.context, this.#kind, (key) => this.#queue.add(key)),
      this.context.pods.observe((pod, previous) => this.#podChanged(pod, previous)),
    ];
    return running(observations, [this.#queue], this.#recorder);
  }

  #podChanged(pod: IndexedPod | undefined, previous: IndexedPod | undefined): void {
    for (const { namespace, controller } of [pod, previous].filter((one) => one !== undefined))
      if (refersTo(controller, this.#kind)) this.#queue.add(keyOf(namespace, controller?.name ?? ''));
    if (pod && !pod.controller && !pod.marked) this.#selected(pod.namespace, pod.labels);
    // A pod of another owner may have had a name that a set needs.
    if (!pod && previous && !refersTo(previous.controller, this.#kind)) {
      const place = placeIn(previous.name);
      if (place) this.#queue.add(keyOf(previous.namespace, place.set));
    }
  }

  #selected(namespace: string, labels: Readonly<Record<string, string>> | undefined): void {
    for (const name of this.#selectors.selecting(namespace, labels)) this.#queue.add(keyOf(namespace, name));
  }

  async #sync(key: string): Promise<void> {
    await this.#registry.view.caughtUp();
    const entry = this.#registry.view.collection('apps/statefulsets').get(...fromKey(key));
    if (!entry) return;
    const set = entry.peek() as StatefulSet;
    const { deletionTimestamp, finalizers } = set.metadata;
    // An owner that is orphaning its pods is ignored.
    if (deletionTimestamp && finalizers?.includes('orphan')) return;
    const selector = selectorOf(set);
    if (!selector) return;
    try {
      if (deletionTimestamp) await this.#report(key, entry, set, selector, knownRevisions(set));
      else await this.#look(key, entry, set, selector);
    } catch (error) {
      if (!isNamespaceTerminating(error)) throw error;
    }
  }

  async #look(key: string, entry: Entry, set: StatefulSet, selector: LabelSelector): Promise<void> {
    const history = await this.#history.take(entry, set, selector);
    const { update, collisionCount } = history;
    const current = history.revisions.find(({ name }) => name === set.status?.currentRevision) ?? update;
    const look: Look = { entry, set, selector, current, update };
    const pods = await this.#pods(entry, set, selector);
    const stages = planOf(set, {
      pods,
      updateRevision: update.name,
      nowMs: this.#registry.sources.nowMs(),
    });
    const failure = await this.#carryOut(look, stages);
    await this.#report(key, entry, set, selector, {
      current: current.name,
      update: update.name,
      collisionCount,
    });
    if (failure) throw failure;
    await this.#trim(look, history);
  }

  /** The set's pods by ordinal. Pods whose names do not fit are ignored. */
  async #pods(entry: Entry, set: StatefulSet, selector: LabelSelector): Promise<Map<number, IndexedPod>> {
    const claimable = (pod: IndexedPod): boolean => ordinalOf(set, pod) !== undefined;
    const claimed = await claimPods(this.context, { entry, owner: set, selector, claimable });
    return new Map(claimed.filter(claimable).map((pod) => [ordinalOf(set, pod)!, pod]));
  }

  async #carryOut(look: Look, stages: readonly PlanStage[]): Promise<Error | undefined> {
    for (const stage of stages) {
      const take = (i: number): Promise<void> => this.#take(look, stage[i]!);
      const failure = isOrdered(look.set)
        ? await inTurn(stage.length, take)
        : await slowStart(stage.length, take);
      if (failure) return failure;
    }
    return undefined;
  }

  async #take(look: Look, step: Step): Promise<void> {
    const { set } = look;
    switch (step.do) {
      case 'create':
        return this.#create(look, step.ordinal, look[step.from]);
      case 'keep':
        return this.#keep(set, step.ordinal, step.pod, step.condemned);
      case 'recreate':
        return this.#recreate(set, step.pod);
      case 'delete':
        return this.#delete(set, step.pod);
    }
  }

  /** Deletes a finished pod, so that its name is free; one that keeps failing after a back-off. */
  async #recreate(set: StatefulSet, pod: IndexedPod): Promise<void> {
    const key = keyOf(pod.namespace, set.metadata.name ?? '');
    const nowMs = this.#registry.sources.nowMs();
    const waitMs = this.#failures.waitMs(key, pod.name, nowMs);
    if (waitMs > 0) return this.#queue.addAfter(key, waitMs);
    this.#failures.failed(key, pod.name, nowMs);
    const [reason, word] =
      pod.phase === 'Failed' ? ['RecreatingFailedPod', 'failed'] : ['RecreatingTerminatedPod', 'terminated'];
    this.#recorder.warning(set, reason!, `StatefulSet ${key} is recreating ${word} Pod ${pod.name}`);
    return this.#delete(set, pod);
  }

  async #create({ set }: Look, ordinal: number, revision: Revision): Promise<void> {
    if (this.#claims.isStale(set, ordinal)) return;
    const { namespace = '' } = set.metadata;
    const name = podNameOf(set, ordinal);
    try {
      await this.#claims.make(set, ordinal);
      const pod = decodeObject(this.#podKind.model, statefulPod(this.#kind, set, ordinal, revision));
      const collection = collectionOf(this.#podKind, namespace);
      await create(this.context.writing, this.context.request('create'), collection, pod as unknown as Pod);
      this.#tell(set, 'create', name);
    } catch (error) {
      const isTaken = error instanceof StatusError && error.status.reason === 'AlreadyExists';
      if (!isTaken && !isNamespaceTerminating(error)) this.#tell(set, 'create', name, error as Error);
      throw error;
    }
    const made = this.context.pods.get(namespace, name);
    if (made) await this.#claims.settle(set, ordinal, made, false);
  }

  async #keep(set: StatefulSet, ordinal: number, pod: IndexedPod, condemned: boolean): Promise<void> {
    if (!condemned && pod.phase === 'Pending') await this.#claims.make(set, ordinal);
    if (!condemned && !hasIdentity(pod, ordinal))
      await changePod(this.context, pod, (now) => {
        identify(now, ordinal);
        return true;
      });
    await this.#claims.settle(set, ordinal, pod, condemned);
  }

  async #delete(set: StatefulSet, { entry, name, uid }: IndexedPod): Promise<void> {
    try {
      await remove(this.context.writing, this.context.request('delete'), targetOf(entry), {
        preconditions: { uid },
      });
      this.#tell(set, 'delete', name);
    } catch (error) {
      if (error instanceof StatusError && (error.code === 404 || error.code === 409)) return;
      this.#tell(set, 'delete', name, error as Error);
      throw error;
    }
  }

  #tell(set: StatefulSet, verb: 'create' | 'delete', pod: string, error?: Error): void {
    const title = verb === 'create' ? 'Create' : 'Delete';
    const what = `${verb} Pod ${pod} in StatefulSet ${set.metadata.name}`;
    if (error) this.#recorder.warning(set, `Failed${title}`, `${what} failed error: ${error.message}`);
    else this.#recorder.normal(set, `Successful${title}`, `${what} successful`);
  }

  /** Writes the status, and schedules another pass for when it changes by time alone. */
  async #report(
    key: string,
    entry: Entry,
    set: StatefulSet,
    selector: LabelSelector,
    revisions: SetRevisions,
  ): Promise<void> {
    const pods = [...(await this.#pods(entry, set, selector)).values()];
    const nowMs = this.#registry.sources.nowMs();
    await writeStatus(this.context, entry, statusOf(set, revisions, pods, nowMs));
    this.#queue.addAfter(key, nextAvailableInMs(pods, set.spec?.minReadySeconds, nowMs));
  }

  async #trim({ entry, set, selector, current, update }: Look, history: RevisionList): Promise<void> {
    const pods = await this.#pods(entry, set, selector);
    const inUse = new Set([current.name, update.name, ...[...pods.values()].map(revisionNameOf)]);
    await this.#history.trim(history, set.spec?.revisionHistoryLimit, ({ name }) => inUse.has(name));
  }
}

/** The revisions of a set that is being deleted, for which no new one is created. */
const knownRevisions = ({ status = {} }: StatefulSet): SetRevisions => ({
  current: status.currentRevision ?? '',
  update: status.updateRevision ?? '',
  collisionCount: status.collisionCount,
});

/** Runs one after another, up to the first failure. */
async function inTurn(count: number, take: (index: number) => Promise<void>): Promise<Error | undefined> {
  try {
    for (let i = 0; i < count; i++) await take(i);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}
