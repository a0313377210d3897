/**
 * The status writer: writes pod statuses to the API. It writes only differences and only the newest status of
 * a pod, one write per pod at a time: a pod that changes five times in a moment is written once. Failures are
 * retried until the write succeeds or the pod is gone.
 */
import { isDeepStrictEqual } from 'node:util';
import { StatusError } from '../../api/errors/errors.ts';
import type { Pod, PodStatus } from '../../api/generated/types.ts';
import type { Client } from '../../client/client.ts';
import { pods } from '../../client/resources.ts';
import { statusPatch } from './status-patch.ts';

/** Maximum number of concurrent writes. */
const writesMax = 8;
const retryFirstMs = 100;
const retryMaxMs = 10_000;

export interface StatusWriterOptions {
  readonly client: Client;
  readonly onError: (error: Error) => void;
}

interface StatusEntry {
  pod: Pod;
  status: PodStatus;
  written: (pod: Pod) => void;
  /** Whether a newer status waits to be written. */
  dirty: boolean;
  writing: boolean;
  retryMs: number;
  timer: NodeJS.Timeout | undefined;
  /** The status written last, and the resourceVersion that the pod had afterwards. */
  last: { readonly status: PodStatus; readonly version: string | undefined } | undefined;
  waiters: (() => void)[];
}

export class StatusWriter {
  readonly #entries = new Map<string, StatusEntry>();
  readonly #queue = new Set<StatusEntry>();
  #writes = 0;
  #scheduled: NodeJS.Immediate | undefined;
  #closed = false;

  constructor(private readonly options: StatusWriterOptions) {}

  /** Sets the status to write for a pod. `written` is called with the pod after the write. */
  set(pod: Pod, status: PodStatus, written: (pod: Pod) => void): void {
    if (this.#closed) return;
    const uid = pod.metadata.uid!;
    let entry = this.#entries.get(uid);
    if (entry) Object.assign(entry, { pod, status, written });
    else {
      entry = {
        pod,
        status,
        written,
        dirty: false,
        writing: false,
        retryMs: retryFirstMs,
        timer: undefined,
        last: undefined,
        waiters: [],
      };
      this.#entries.set(uid, entry);
    }
    if (entry.dirty) return;
    entry.dirty = true;
    if (!entry.writing && !entry.timer) this.#enqueue(entry);
  }

  /** Resolves when no write of a pod is pending. */
  settled(uid: string): Promise<void> {
    const entry = this.#entries.get(uid);
    if (!entry || !(entry.dirty || entry.writing)) return Promise.resolve();
    return new Promise((resolve) => entry.waiters.push(resolve));
  }

  /** Whether no status is being written or waits for it; those that failed wait for their retry. */
  get idle(): boolean {
    return this.#writes === 0 && this.#queue.size === 0;
  }

  forget(uid: string): void {
    const entry = this.#entries.get(uid);
    if (!entry) return;
    this.#entries.delete(uid);
    this.#drop(entry);
  }

  /** Writes pending statuses once, and accepts no more. */
  async close(): Promise<void> {
    if (this.#closed) return;
    const waiting = [...this.#entries.keys()].map((uid) => this.settled(uid));
    this.#closed = true;
    for (const entry of this.#entries.values())
      if (entry.timer) {
        // It has failed before, and there is no time for a retry now.
        clearTimeout(entry.timer);
        this.#drop(entry);
      }
    await Promise.all(waiting);
    clearImmediate(this.#scheduled);
  }

  #drop(entry: StatusEntry): void {
    clearTimeout(entry.timer);
    entry.timer = undefined;
    entry.dirty = false;
    this.#queue.delete(entry);
    this.#settle(entry);
  }

  /** Deferred to the next tick, so that several changes within one are written once. */
  #enqueue(entry: StatusEntry): void {
    this.#queue.add(entry);
    this.#scheduled ??= setImmediate(() => {
      this.#scheduled = undefined;
      this.#next();
    });
  }

  #next(): void {
    for (const entry of this.#queue) {
      if (this.#writes >= writesMax) return;
      this.#queue.delete(entry);
      entry.dirty = false;
      const patch = this.#patchOf(entry);
      if (!patch) this.#settle(entry);
      else void this.#write(entry, patch);
    }
  }

  #patchOf({ pod, status, last }: StatusEntry): Record<string, unknown> | undefined {
    // Already written to this version of the pod. A remaining difference is the server's choice: do not loop.
    if (last?.version === pod.metadata.resourceVersion && isDeepStrictEqual(last?.status, status))
      return undefined;
    return statusPatch(pod.status ?? {}, status);
  }

  async #write(entry: StatusEntry, patch: Record<string, unknown>): Promise<void> {
    this.#writes++;
    entry.writing = true;
    const { status } = entry;
    const { namespace, name, uid } = entry.pod.metadata;
    try {
      const body = { metadata: { uid }, status: patch };
      const written = await this.options.client.patch(pods, namespace, name!, body, 'strategic', 'status');
      entry.last = { status, version: written.metadata.resourceVersion };
      entry.retryMs = retryFirstMs;
      entry.pod = newer(entry.pod, written);
      entry.written(written);
    } catch (error) {
      this.#failed(entry, error as Error);
    }
    entry.writing = false;
    this.#writes--;
    this.#next();
    // In a later tick: a waiting status was computed before this write, and may be computed again from its result.
    if (entry.dirty && !entry.timer) this.#enqueue(entry);
    else if (!entry.dirty) this.#settle(entry);
  }

  #failed(entry: StatusEntry, error: Error): void {
    const code = error instanceof StatusError ? error.code : 0;
    // Deleted, or replaced by another pod of the same name.
    if (code === 404 || code === 409) return;
    if (this.#entries.get(entry.pod.metadata.uid!) !== entry) return;
    this.options.onError(error);
    // Do not retry a status the server rejects as invalid; the next status is tried again.
    if (code === 422 || code === 400 || this.#closed) return;
    entry.dirty = true;
    entry.timer = setTimeout(() => {
      entry.timer = undefined;
      this.#enqueue(entry);
    }, entry.retryMs);
    entry.retryMs = Math.min(entry.retryMs * 2, retryMaxMs);
  }

  #settle(entry: StatusEntry): void {
    if (entry.dirty || entry.writing) return;
    // The next status comes with its pod.
    entry.pod = noPod;
    for (const resolve of entry.waiters.splice(0)) resolve();
  }
}

const noPod: Pod = { metadata: {} };

const newer = (a: Pod, b: Pod): Pod =>
  Number(b.metadata.resourceVersion) > Number(a.metadata.resourceVersion) ? b : a;
