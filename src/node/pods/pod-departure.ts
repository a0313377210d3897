/**
 * The departure of a finished pod: its volumes are released, it is deleted in the API if it has a deletionTimestamp, and
 * it is removed from the runtime when it no longer exists in the API.
 *
 *   state      the pod                                                   exits
 *   staying    exists in the API with its final status                   to be deleted ▶ deleting, gone ▶ removing
 *   deleting   gets its last status, and is deleted in the API           done ▶ deleted, failed ▶ staying, gone ▶ removing
 *   deleted    is deleted; the watch event has not arrived yet           gone ▶ removing
 *   removing   is removed from the runtime, and then forgotten           –
 *   closed     is left as it is: close() leads here from every state     –
 */
import { StatusError } from '../../api/errors/errors.ts';
import type { Pod } from '../../api/generated/types.ts';
import type { Client } from '../../client/client.ts';
import { pods } from '../../client/resources.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { PodSetup } from './pod-setup.ts';
import type { StatusWriter } from './status-writer.ts';

export interface DepartureOptions {
  readonly client: Client;
  readonly runtime: Runtime;
  readonly writer: StatusWriter;
  readonly setup: PodSetup;
  readonly pod: () => Pod;
  /** Whether the pod no longer exists in the API. */
  readonly gone: () => boolean;
  /** Called when a deletion failed: `goOn` must be called again later. */
  readonly again: () => void;
  /** Called when the pod is removed from the runtime. */
  readonly removed: () => void;
  readonly onError: (error: Error) => void;
}

export class PodDeparture {
  #state: 'staying' | 'deleting' | 'deleted' | 'removing' | 'closed' = 'staying';
  #setupClosing: Promise<void> | undefined;

  constructor(private readonly options: DepartureOptions) {}

  /** Whether the API has accepted the deletion: then no more status can be written. */
  get deleted(): boolean {
    return this.#state === 'deleted';
  }

  get busy(): boolean {
    return this.#state === 'deleting' || this.#state === 'removing';
  }

  /** Takes the next step for a finished pod. */
  goOn(): void {
    const { pod, gone } = this.options;
    if (this.#state === 'removing' || this.#state === 'closed') return;
    if (gone()) {
      this.#state = 'removing';
      void this.#remove();
      return;
    }
    this.#closeSetup().catch(this.options.onError);
    if (this.#state !== 'staying' || pod().metadata.deletionTimestamp === undefined) return;
    this.#state = 'deleting';
    this.#delete().then(
      () => {
        if (this.#state === 'deleting') this.#state = 'deleted';
      },
      (error: Error) => {
        // Not an error: the next agent of this node deletes the pod.
        if (this.#state === 'closed') return;
        this.options.onError(error);
        if (this.#state === 'deleting') this.#state = 'staying';
        this.options.again();
      },
    );
  }

  /** Releases the volumes only. */
  async close(): Promise<void> {
    this.#state = 'closed';
    await this.#closeSetup();
  }

  async #delete(): Promise<void> {
    const { client, writer, pod, gone } = this.options;
    const { name, namespace, uid } = pod().metadata;
    await this.#closeSetup();
    // Write the last status first, unless the pod is gone.
    await writer.settled(uid!);
    if (this.#state !== 'deleting' || gone()) return;
    try {
      await client.delete(pods, namespace, name!, { gracePeriodSeconds: 0, preconditions: { uid } });
    } catch (error) {
      if (!(error instanceof StatusError && (error.code === 404 || error.code === 409))) throw error;
    }
  }

  async #remove(): Promise<void> {
    const { runtime, writer, pod, removed, onError } = this.options;
    const uid = pod().metadata.uid!;
    try {
      await this.#closeSetup();
      await runtime.removePod(uid);
    } catch (error) {
      if (!this.#isClosed()) onError(error as Error);
    }
    writer.forget(uid);
    if (this.#state === 'removing') removed();
  }

  /** Checks again after an await, during which close() may have been called. */
  #isClosed(): boolean {
    return this.#state === 'closed';
  }

  /** Closes the setup once. The first caller gets its error; later callers only wait. */
  async #closeSetup(): Promise<void> {
    if (this.#setupClosing) return this.#setupClosing.catch(() => undefined);
    this.#setupClosing = this.options.setup.close();
    await this.#setupClosing;
  }
}
