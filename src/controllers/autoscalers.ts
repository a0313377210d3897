/**
 * The autoscaler controller: looks at every autoscaler when it changes, and then regularly. How one is evaluated is read
 * with the first of them, because most clusters have none.
 */
import type { EventRecorder } from '../client/events.ts';
import type { Entry } from '../registry/view/entry.ts';
import type { Autoscaling } from './autoscaling.ts';
import {
  type Controller,
  fromKey,
  keyOf,
  observe,
  type RunningController,
  running,
  type SharedContext,
} from './shared/controller.ts';
import { recorderFor } from './shared/event-sink.ts';
import { WorkQueue } from './shared/work-queue.ts';

const resource = 'autoscaling/horizontalpodautoscalers';

export const autoscalerController: Controller = {
  name: 'autoscaler',
  writer: 'horizontal-pod-autoscaler',
  start: (context) => new Autoscalers(context).start(),
};

class Autoscalers {
  readonly #recorder: EventRecorder;
  readonly #queue: WorkQueue;
  #autoscaling: Promise<Autoscaling> | undefined;

  constructor(private readonly context: SharedContext) {
    this.#recorder = recorderFor(context, 'horizontal-pod-autoscaler');
    this.#queue = new WorkQueue({
      timers: context.registry.timers,
      work: (key) => this.#look(key),
      onError: (_, error) => context.onError(error),
    });
  }

  start(): RunningController {
    const observation = observe(this.context, resource, (entry, previous) => {
      const { namespace, name } = (entry ?? previous)!;
      // The controller's own writes do not trigger another evaluation.
      if (!entry || !previous || generation(entry) !== generation(previous))
        this.#queue.add(keyOf(namespace, name));
    });
    return running([observation], [this.#queue], this.#recorder);
  }

  async #look(key: string): Promise<void> {
    this.#autoscaling ??= import('./autoscaling.ts').then(
      ({ Autoscaling }) => new Autoscaling(this.context, this.#recorder),
    );
    const autoscaling = await this.#autoscaling;
    const [namespace, name] = fromKey(key);
    const entry = this.context.registry.view.collection(resource).get(namespace, name);
    if (!entry) return autoscaling.forget(key);
    try {
      await autoscaling.evaluate(key, entry);
    } finally {
      this.#queue.addAfter(key, this.context.settings.autoscalerSyncMs);
    }
  }
}

const generation = (entry: Entry): number | undefined => entry.peek().metadata.generation;
