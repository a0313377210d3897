/**
 * Rollouts: one pass over a deployment. Its replica sets are read from the view at each use, so writes of this pass
 * are included; changes of its status are collected, and written once, at the end.
 */

import { conflict, StatusError } from '../../api/errors/errors.ts';
import type {
  Deployment,
  DeploymentCondition,
  DeploymentSpec,
  ReplicaSet,
} from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import type { LabelSelector } from '../../api/kind/label-selector.ts';
import { decodeObject } from '../../api/model/decode.ts';
import { semanticEqual } from '../../api/text/object.ts';
import type { EventRecorder } from '../../client/events.ts';
import { Memo } from '../../memo.ts';
import type { Registry } from '../../registry/registry.ts';
import { collectionOf, targetOf } from '../../registry/target.ts';
import { create } from '../../registry/verbs/create.ts';
import { remove } from '../../registry/verbs/delete.ts';
import { modify } from '../../registry/verbs/modify.ts';
import type { Entry } from '../../registry/view/entry.ts';
import {
  ifUnchanged,
  isNamespaceTerminating,
  type SharedContext,
  writeStatus,
} from '../shared/controller.ts';
import { controllerOf, isFinished } from '../shared/indexed-pod.ts';
import type { OwnedIndex } from '../shared/owned-index.ts';
import { controllerReference } from '../shared/ownership.ts';
import {
  conditionOf,
  countsOf,
  deadlineInMs,
  hasDeadline,
  isComplete,
  withAvailability,
  withCondition,
  withFailure,
  withPause,
  withProgress,
} from './deployment-progress.ts';
import {
  type Annotations,
  byAge,
  byRevision,
  nextRevision,
  revisedAnnotations,
  revisionKey,
  sizeAnnotations,
} from './revisions.ts';
import {
  isInUse,
  isScaled,
  maximumOf,
  newSetSize,
  oldSetSizes,
  scaledSizes,
  sizeOf,
} from './rolling-plan.ts';
import { replicaSetName, templateHash, templateHashKey, templateText } from './template-hash.ts';

/** The maximum of an int32, which means no limit. */
const noHistoryLimit = 2 ** 31 - 1;

export interface RolloutOptions {
  readonly context: SharedContext;
  readonly recorder: EventRecorder;
  readonly sets: OwnedIndex;
  readonly entry: Entry;
  readonly selector: LabelSelector;
}

interface Sets {
  /** The replica set of the current template. */
  readonly newSet: ReplicaSet | undefined;
  readonly oldSets: readonly ReplicaSet[];
}

/** Template texts, cached per state of a replica set. */
const templateTexts = new Memo((entry: Entry) =>
  templateText((entry.peek() as ReplicaSet).spec?.template ?? {}),
);

export class Rollout {
  readonly #registry: Registry;
  readonly #request: SharedContext['request'];
  readonly #setKind: Kind;
  readonly #deployment: Deployment;
  readonly #spec: DeploymentSpec;
  #conditions: DeploymentCondition[];
  #annotations: Annotations | undefined;

  constructor(private readonly options: RolloutOptions) {
    this.#registry = options.context.registry;
    this.#request = options.context.request;
    this.#setKind = this.#registry.kinds.resource('apps/v1', 'replicasets')!;
    this.#deployment = options.entry.object() as Deployment;
    this.#spec = this.#deployment.spec ?? {};
    this.#conditions = this.#deployment.status?.conditions ?? [];
    this.#annotations = this.#deployment.metadata.annotations;
  }

  /** Makes one step toward the desired state. Each change triggers another pass. */
  async advance(): Promise<void> {
    if (hasDeadline(this.#spec))
      this.#conditions = withPause(this.#spec, this.#conditions, this.#registry.now());
    await this.#refresh();
    const rescaled = await this.#rescale();
    if (this.#spec.paused) await this.#cleanUp();
    if (this.#spec.paused || rescaled) return this.#report(false);
    if (this.#spec.strategy?.type === 'Recreate') await this.#recreate();
    else await this.#roll();
    return this.#report(true);
  }

  /** Writes the status without changing replica sets. */
  watch(): Promise<void> {
    return this.#report(false);
  }

  /** Time until another pass is needed although nothing changes; infinite when none is. */
  get againInMs(): number {
    const progressing = conditionOf(this.#conditions, 'Progressing');
    return this.#spec.paused || isComplete(this.#deployment, this.#deployment.status ?? {})
      ? Number.POSITIVE_INFINITY
      : deadlineInMs(this.#spec, progressing, this.#registry.sources.nowMs());
  }

  get #sets(): Sets {
    const { sets, entry, selector } = this.options;
    const text = templateText(this.#spec.template ?? {});
    const own = sets
      .controlledBy(entry.namespace, this.#deployment.metadata.uid ?? '')
      .filter(({ labels }) => selector.matches(labels));
    const all = own.map((item) => item.entry.peek() as ReplicaSet).sort(byAge);
    const equal = new Set(own.filter((item) => templateTexts.of(item.entry) === text).map(({ uid }) => uid));
    const newSet = all.find(({ metadata }) => equal.has(metadata.uid ?? ''));
    return { newSet, oldSets: all.filter((set) => set !== newSet) };
  }

  /** Ensures that the newest set, if there is one, has its revision annotation. */
  async #refresh(): Promise<void> {
    const { newSet, oldSets } = this.#sets;
    if (!newSet) return;
    const { metadata, spec } = newSet;
    const annotations = revisedAnnotations(this.#deployment, metadata.annotations, nextRevision(oldSets));
    const { minReadySeconds } = this.#spec;
    if (
      !semanticEqual(annotations, metadata.annotations) ||
      (spec?.minReadySeconds ?? 0) !== (minReadySeconds ?? 0)
    )
      await this.#change(newSet, (now) => {
        now.metadata.annotations = { ...now.metadata.annotations, ...annotations };
        now.spec = { ...now.spec, minReadySeconds };
      });
    this.#annotations = { ...this.#annotations, [revisionKey]: annotations[revisionKey]! };
    if (!conditionOf(this.#conditions, 'Progressing'))
      this.#progressing('True', 'FoundNewReplicaSet', `Found new replica set "${metadata.name}"`);
  }

  #progressing(status: string, reason: string, message: string): void {
    if (hasDeadline(this.#spec))
      this.#conditions = withCondition(
        this.#conditions,
        'Progressing',
        [status, reason, message],
        this.#registry.now(),
      );
  }

  /** Creates the replica set of the newest template. */
  async #makeSet(): Promise<void> {
    const { namespace = '' } = this.#deployment.metadata;
    const { oldSets } = this.#sets;
    const set = this.#newSet(oldSets);
    const name = set.metadata.name ?? '';
    try {
      await create(
        this.options.context.writing,
        this.#request('create'),
        collectionOf(this.#setKind, namespace),
        set,
      );
    } catch (error) {
      return this.#notMade(name, error as Error);
    }
    if (sizeOf(set) > 0) this.#tellScaled('up', name, 0, sizeOf(set));
    this.#annotations = { ...this.#annotations, [revisionKey]: set.metadata.annotations![revisionKey]! };
    this.#progressing('True', 'NewReplicaSetCreated', `Created new replica set "${name}"`);
  }

  #newSet(oldSets: readonly ReplicaSet[]): ReplicaSet {
    const { metadata } = this.#deployment;
    const { replicas = 1, minReadySeconds, selector = {}, template = {} } = this.#spec;
    const hash = { [templateHashKey]: templateHash(this.#deployment) };
    const labels = { ...template.metadata?.labels, ...hash };
    const set: ReplicaSet = {
      metadata: {
        name: replicaSetName(metadata.name ?? '', hash[templateHashKey]!),
        labels,
        annotations: {
          ...revisedAnnotations(this.#deployment, {}, nextRevision(oldSets)),
          ...sizeAnnotations(replicas, maximumOf(this.#spec)),
        },
        ownerReferences: [controllerReference(this.options.entry.kind, this.#deployment)],
      },
      spec: {
        replicas: newSetSize(this.#spec, undefined, oldSets),
        minReadySeconds,
        selector: { ...selector, matchLabels: { ...selector.matchLabels, ...hash } },
        template: { ...template, metadata: { ...template.metadata, labels } },
      },
    };
    return decodeObject(this.#setKind.model, structuredClone(set)) as unknown as ReplicaSet;
  }

  /** When the name is taken, the next pass uses another hash; other failures are reported and retried. */
  async #notMade(name: string, error: Error): Promise<void> {
    const { namespace = '', uid } = this.#deployment.metadata;
    if (error instanceof StatusError && error.status.reason === 'AlreadyExists') {
      const taken = this.#registry.view.collection(this.#setKind).get(namespace, name);
      const text = templateText(this.#spec.template ?? {});
      // The deployment's own set, which the next pass will see.
      if (!taken || (ownerOf(taken) === uid && templateTexts.of(taken) === text)) return;
      const { status = {} } = this.#deployment;
      this.#deployment.status = { ...status, collisionCount: (status.collisionCount ?? 0) + 1 };
      return;
    }
    if (isNamespaceTerminating(error)) return;
    const message = `Failed to create new replica set "${name}": ${error.message}`;
    this.#progressing('False', 'ReplicaSetCreateError', message);
    this.options.recorder.warning(this.#deployment, 'ReplicaSetCreateError', message);
    await this.#report(true);
    throw error;
  }

  /** A step of a rolling update: scales the newest set up where the surge allows it, or else old sets down. */
  async #roll(): Promise<void> {
    const { newSet, oldSets } = this.#sets;
    if (!newSet) return this.#makeSet();
    if (await this.#scale(newSet, newSetSize(this.#spec, newSet, oldSets))) return;
    let scaled = false;
    for (const [set, size] of oldSetSizes(this.#spec, newSet, oldSets))
      scaled = (await this.#scale(set, size)) || scaled;
    if (!scaled) await this.#cleanUpWhenComplete();
  }

  /** Recreate: deletes all old pods, and waits until they are gone, before creating new ones. */
  async #recreate(): Promise<void> {
    const { newSet, oldSets } = this.#sets;
    let scaled = false;
    for (const set of oldSets.filter(isInUse)) scaled = (await this.#scale(set, 0)) || scaled;
    if (scaled || oldSets.some((set) => this.#hasPods(set))) return;
    if (!newSet) return this.#makeSet();
    await this.#scale(newSet, this.#spec.replicas ?? 1);
    await this.#cleanUpWhenComplete();
  }

  #hasPods({ metadata }: ReplicaSet): boolean {
    const pods = this.options.context.pods.controlledBy(metadata.namespace ?? '', metadata.uid ?? '');
    return pods.some((pod) => !isFinished(pod));
  }

  /** Scales the replica sets after a change of the number of replicas. True: there was one. */
  async #rescale(): Promise<boolean> {
    const { newSet, oldSets } = this.#sets;
    if (!this.#spec.paused && !isScaled(this.#spec, newSet ? [...oldSets, newSet] : oldSets)) return false;
    const { replicas = 0 } = this.#deployment.status ?? {};
    const sizes = scaledSizes(this.#spec, newSet, oldSets, replicas);
    for (const [set, size] of sizes) await this.#scale(set, size);
    return sizes.length > 0;
  }

  /** True: its size was changed. */
  async #scale(set: ReplicaSet, size: number): Promise<boolean> {
    const before = sizeOf(set);
    const { replicas = 1 } = this.#spec;
    const annotations = sizeAnnotations(replicas, maximumOf(this.#spec));
    const said = Object.entries(annotations).every(
      ([key, value]) => set.metadata.annotations?.[key] === value,
    );
    if (before === size && said) return false;
    const changed = await this.#change(set, (now) => {
      now.metadata.annotations = { ...now.metadata.annotations, ...annotations };
      now.spec = { ...now.spec, replicas: size };
    });
    if (!changed || before === size) return false;
    this.#tellScaled(size > before ? 'up' : 'down', set.metadata.name ?? '', before, size);
    return true;
  }

  #tellScaled(direction: 'up' | 'down', name: string, from: number, to: number): void {
    this.options.recorder.normal(
      this.#deployment,
      'ScalingReplicaSet',
      `Scaled ${direction} replica set ${name} from ${from} to ${to}`,
    );
  }

  /** Changes a replica set, unless it is gone or was scaled meanwhile: that triggers another pass anyway. */
  #change({ metadata, spec }: ReplicaSet, change: (set: ReplicaSet) => void): Promise<boolean> {
    const { namespace = '', name = '', uid } = metadata;
    const target = targetOf({ kind: this.#setKind, namespace, name });
    return ifUnchanged(
      modify(this.options.context.writing, this.#request('update'), target, (current) => {
        const now = current.object() as ReplicaSet;
        if (now.metadata.uid !== uid || now.spec?.replicas !== spec?.replicas)
          throw conflict(this.#setKind, name, 'the object has changed');
        change(now);
        return now;
      }),
    );
  }

  async #cleanUpWhenComplete(): Promise<void> {
    if (isComplete(this.#deployment, this.#deployment.status ?? {})) await this.#cleanUp();
  }

  /** Deletes the oldest revisions beyond the history limit. */
  async #cleanUp(): Promise<void> {
    const { revisionHistoryLimit = noHistoryLimit } = this.#spec;
    if (revisionHistoryLimit === noHistoryLimit) return;
    const old = this.#sets.oldSets.filter(({ metadata }) => !metadata.deletionTimestamp).sort(byRevision);
    for (const set of old.slice(0, Math.max(0, old.length - revisionHistoryLimit)))
      if (isIdle(set)) await this.#forget(set);
  }

  async #forget({ metadata }: ReplicaSet): Promise<void> {
    const { namespace = '', name = '', uid, resourceVersion } = metadata;
    const target = targetOf({ kind: this.#setKind, namespace, name });
    const preconditions = { uid, resourceVersion };
    await ifUnchanged(
      remove(this.options.context.writing, this.#request('delete'), target, { preconditions }),
    );
  }

  async #report(rolling: boolean): Promise<void> {
    const { newSet, oldSets } = this.#sets;
    const counts = countsOf(this.#deployment, newSet, oldSets);
    const now = this.#registry.now();
    this.#conditions = withAvailability(this.#spec, counts, this.#conditions, now);
    if (rolling) {
      const nowMs = this.#registry.sources.nowMs();
      this.#conditions = withProgress(this.#deployment, newSet, counts, this.#conditions, nowMs, now);
      this.#conditions = withFailure(newSet, oldSets, this.#conditions);
    }
    const status = { ...counts, conditions: this.#conditions };
    await writeStatus(this.options.context, this.options.entry, status, this.#annotations);
  }
}

/** Whether it has no pods, and its controller has seen that it should have none. */
const isIdle = ({ metadata, spec, status = {} }: ReplicaSet): boolean =>
  (spec?.replicas ?? 0) === 0 &&
  (status.replicas ?? 0) === 0 &&
  (metadata.generation ?? 0) <= (status.observedGeneration ?? 0);

const ownerOf = (entry: Entry): string | undefined =>
  controllerOf(entry.peek().metadata.ownerReferences)?.uid;
