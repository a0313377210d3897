/**
 * The cleanup of a definition that is being deleted: all its objects are deleted, with respect for their finalizers;
 * when the last one is gone, the definition's own finalizer is removed.
 */
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionCondition,
} from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import {
  cleanupFinalizer,
  definitionCondition,
} from '../../api/kinds/apiextensions/custom-resource-definition.ts';
import { withCondition } from '../../api/rules/shared/condition.ts';
import { collectionOf, targetOf } from '../../registry/target.ts';
import { removeCollection } from '../../registry/verbs/delete.ts';
import { everything } from '../../registry/view/filter.ts';
import { Watcher } from '../../registry/view/watcher.ts';
import { actingAs } from '../../registry/writers.ts';
import type { Writing } from '../../registry/writing.ts';

/** How often remaining objects are checked, and after how long the definition's status says that they remain. */
const checkMs = 5000;
const patienceMs = 60_000;

interface CleanupOptions {
  /** Changes the definition. */
  write(change: (definition: CustomResourceDefinition) => void): Promise<void>;
  failed(error: Error): void;
}

type Progress = Omit<CustomResourceDefinitionCondition, 'type' | 'lastTransitionTime'>;

const inProgress: Progress = {
  status: 'True',
  reason: 'InstanceDeletionInProgress',
  message: 'CustomResource deletion is in progress',
};
/** The first condition: Kubernetes reports it for a moment, then tries again. */
const unconfirmed: Progress = {
  status: 'True',
  reason: 'InstanceDeletionCheck',
  message: 'could not confirm zero CustomResources remaining: context deadline exceeded',
};
const completed: Progress = {
  status: 'False',
  reason: 'InstanceDeletionCompleted',
  message: 'removed all instances',
};
const neverEstablished: Progress = {
  status: 'False',
  reason: 'NeverEstablished',
  message: 'resource was never established',
};

export class Cleanup {
  #watcher: Watcher | undefined;
  #timer: NodeJS.Timeout | undefined;
  #looking = false;
  /** Since when the cleanup waits for objects. */
  #sinceMs: number | undefined;
  #again = false;
  #closed = false;

  constructor(
    private readonly writing: Writing,
    /** The kind in which the objects are stored; undefined when there was none. */
    private readonly kind: Kind | undefined,
    private readonly options: CleanupOptions,
  ) {}

  start(): void {
    const { kind } = this;
    if (kind) {
      const collection = this.writing.registry.view.collection(kind);
      this.#watcher = new Watcher(
        collection,
        everything,
        { state: undefined, position: collection.endNumber },
        {
          send: (notices) => {
            if (notices.some(({ type }) => type !== 'MODIFIED')) this.#look();
            return true;
          },
          stateSent: () => undefined,
          expired: () => undefined,
        },
      );
      this.#timer = setInterval(() => this.#look(), checkMs);
      this.#timer.unref();
    }
    this.#look();
  }

  close(): void {
    this.#closed = true;
    this.#watcher?.close();
    clearInterval(this.#timer);
  }

  #look(): void {
    this.#again = this.#looking;
    if (this.#looking || this.#closed) return;
    this.#looking = true;
    this.#step()
      .catch((error) => {
        if (this.#closed) return;
        this.close();
        this.options.failed(error as Error);
      })
      .finally(() => {
        this.#looking = false;
        if (this.#again && !this.#closed) this.#look();
      });
  }

  async #step(): Promise<void> {
    const { kind } = this;
    if (!kind) return this.#finish(neverEstablished);
    const collection = this.writing.registry.view.collection(kind);
    if (collection.size > 0) {
      const nowMs = this.writing.registry.sources.nowMs();
      this.#sinceMs ??= nowMs;
      const isLate = nowMs - this.#sinceMs >= patienceMs;
      const progress = isLate ? unconfirmed : inProgress;
      if (isLate) this.#sinceMs = undefined;
      await this.options.write((definition) =>
        setProgress(definition, progress, this.writing.registry.now()),
      );
      const request = actingAs('kube-apiserver', 'deletecollection');
      // Not a client's delete: policies and webhooks are skipped, because they could keep a definition for ever.
      const target = targetOf(collectionOf(kind, ''), 'whole');
      await removeCollection(this.writing, request, target, everything, {}, undefined);
    }
    if (collection.size === 0) await this.#finish(completed);
  }

  async #finish(progress: Progress): Promise<void> {
    this.close();
    const { registry } = this.writing;
    await this.options.write((definition) => {
      setProgress(definition, progress, registry.now());
      const { metadata } = definition;
      metadata.finalizers = metadata.finalizers?.filter((name) => name !== cleanupFinalizer);
    });
  }
}

function setProgress(definition: CustomResourceDefinition, progress: Progress, now: string): void {
  const before = definitionCondition(definition, 'Terminating');
  if (before && before.status === progress.status && before.reason === progress.reason) return;
  definition.status ??= {};
  definition.status.conditions = withCondition(
    definition.status.conditions,
    { type: 'Terminating', ...progress },
    now,
  );
}
