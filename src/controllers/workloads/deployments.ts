/**
 * The deployment controller: keeps the pods of a deployment's template through a replica set, and replaces them step
 * by step, with a replica set per template, when the template changes.
 */
import type { Deployment } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import type { EventRecorder } from '../../client/events.ts';
import type { Registry } from '../../registry/registry.ts';
import type { Entry } from '../../registry/view/entry.ts';
import {
  type Controller,
  fromKey,
  keyOf,
  observe,
  type RunningController,
  running,
  type SharedContext,
} from '../shared/controller.ts';
import { recorderFor } from '../shared/event-sink.ts';
import { OwnedIndex, ownedItem } from '../shared/owned-index.ts';
import { claimFrom, refersTo } from '../shared/ownership.ts';
import { objectSelector, Selectors } from '../shared/selectors.ts';
import { WorkQueue } from '../shared/work-queue.ts';
import { Rollout } from './rollout.ts';

export const deploymentController: Controller = {
  name: 'deployment',
  writer: 'deployment-controller',
  start: (context) => new Deployments(context).start(),
};

class Deployments {
  readonly #registry: Registry;
  readonly #kind: Kind;
  readonly #recorder: EventRecorder;
  readonly #sets: OwnedIndex;
  readonly #queue: WorkQueue;
  readonly #selectors = new Selectors<Deployment>(({ spec }) => objectSelector(spec?.selector));

  constructor(private readonly context: SharedContext) {
    const { registry, onError } = context;
    this.#registry = registry;
    this.#kind = registry.kinds.resource('apps/v1', 'deployments')!;
    this.#recorder = recorderFor(context, 'deployment-controller');
    this.#sets = new OwnedIndex(registry, 'apps/replicasets');
    this.#queue = new WorkQueue({
      timers: context.registry.timers,
      work: (key) => this.#sync(key),
      onError: (_, error) => onError(error),
      // Retry periodically: a quota may get room without a change of the deployment.
      triesMax: Number.POSITIVE_INFINITY,
    });
  }

  start(): RunningController {
    const observations = [
      observe(this.context, 'apps/deployments', (entry, previous) => {
        this.#selectors.observe(entry, previous);
        if (entry) this.#queue.add(keyOf(entry.namespace, entry.name));
      }),
      observe(this.context, 'apps/replicasets', (entry, previous) => this.#setChanged(entry, previous)),
    ];
    return running(observations, [this.#queue], this.#recorder);
  }

  #setChanged(entry: Entry | undefined, previous: Entry | undefined): void {
    for (const one of [entry, previous]) {
      const controller = one && ownedItem(one).controller;
      if (refersTo(controller, this.#kind)) this.#queue.add(keyOf(one!.namespace, controller?.name ?? ''));
    }
    if (!entry || ownedItem(entry).controller) return;
    for (const name of this.#selectors.selecting(entry.namespace, entry.labels))
      this.#queue.add(keyOf(entry.namespace, name));
  }

  async #sync(key: string): Promise<void> {
    await this.#registry.view.caughtUp();
    const entry = this.#registry.view.collection('apps/deployments').get(...fromKey(key));
    if (!entry) return;
    const owner = entry.peek() as Deployment;
    const { deletionTimestamp, finalizers } = owner.metadata;
    // An owner that is orphaning its replica sets is ignored.
    if (deletionTimestamp && finalizers?.includes('orphan')) return;
    const selector = objectSelector(owner.spec?.selector);
    if (!selector) return;
    await claimFrom(this.context, this.#sets, { entry, owner, selector });
    const { context } = this;
    const rollout = new Rollout({ context, recorder: this.#recorder, sets: this.#sets, entry, selector });
    if (deletionTimestamp) return rollout.watch();
    await rollout.advance();
    this.#queue.addAfter(key, rollout.againInMs);
  }
}
