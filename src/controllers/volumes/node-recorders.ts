/** Event recorders of one component for several nodes: the source of an event names the node it is about. */
import type { EventRecorder } from '../../client/events.ts';
import type { RunningController, SharedContext } from '../shared/controller.ts';
import { recorderFor } from '../shared/event-sink.ts';

export class NodeRecorders implements RunningController {
  readonly #recorders = new Map<string | undefined, EventRecorder>();

  constructor(
    private readonly context: SharedContext,
    private readonly component: string,
  ) {}

  of(host: string | undefined): EventRecorder {
    let recorder = this.#recorders.get(host);
    if (!recorder) {
      recorder = recorderFor(this.context, this.component, host === undefined ? {} : { host });
      this.#recorders.set(host, recorder);
    }
    return recorder;
  }

  get settled(): boolean {
    return [...this.#recorders.values()].every(({ idle }) => idle);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#recorders.values()].map((recorder) => recorder.flushed()));
  }
}
