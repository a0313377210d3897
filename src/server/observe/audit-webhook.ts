/**
 * The audit webhook: sends events to another server in batches, as EventLists of audit.k8s.io/v1. A batch that fails is
 * sent again, with growing pauses, and dropped in the end. Events wait in a bounded buffer, so the webhook never slows
 * the server down.
 */
import { callRemote } from '../../access/shared/remote-call.ts';
import { type RemoteService, readRemoteService } from '../../access/shared/remote-configuration.ts';
import type { AuditMode, AuditSink } from './audit-sink.ts';

const answerMaxMs = 30_000;
const attemptsMax = 5;
const pauseFactor = 1.5;
/** On close, the time to send the remaining events. */
const closeMs = 5_000;

export interface AuditWebhookOptions {
  /** Kubeconfig that names the service. */
  readonly configFile: string;
  /** Whether requests wait for their first event to be taken. Default `batch`. */
  readonly mode?: AuditMode;
  /** Events sent together at most. Default 400. */
  readonly batchEventsMax?: number;
  /** How long events wait for others. Default 30 s. */
  readonly batchWaitMs?: number;
  /** Events that may wait; more are lost. Default 10,000. */
  readonly bufferEventsMax?: number;
  /** Pause before a batch is sent for the second time. Default 10 s. */
  readonly retryMs?: number;
}

/** Rejects when the file of its service cannot be used. */
export async function openAuditWebhook(
  options: AuditWebhookOptions,
  report: (error: Error) => void,
): Promise<AuditWebhook> {
  const service = await readRemoteService(options.configFile, 'configuration of the audit webhook');
  return new AuditWebhook(service, options, report);
}

export class AuditWebhook implements AuditSink {
  #events: string[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #failing = false;
  readonly #closed = new AbortController();
  #written = 0;
  #dropped = 0;
  readonly #batchEventsMax: number;
  readonly #batchWaitMs: number;
  readonly #bufferEventsMax: number;
  readonly #retryMs: number;

  constructor(
    private readonly service: RemoteService,
    options: AuditWebhookOptions,
    private readonly report: (error: Error) => void,
  ) {
    this.#batchEventsMax = options.batchEventsMax ?? 400;
    this.#batchWaitMs = options.batchWaitMs ?? 30_000;
    this.#bufferEventsMax = options.bufferEventsMax ?? 10_000;
    this.#retryMs = options.retryMs ?? 10_000;
  }

  get written(): number {
    return this.#written;
  }

  get dropped(): number {
    return this.#dropped;
  }

  append(line: string): void {
    if (this.#closed.signal.aborted || this.#events.length >= this.#bufferEventsMax) {
      this.#dropped++;
      return;
    }
    this.#events.push(line);
    if (this.#events.length >= this.#batchEventsMax) this.#send();
    else this.#timer ??= setTimeout(() => this.#send(), this.#batchWaitMs);
  }

  async flushed(): Promise<boolean> {
    await this.#sending;
    this.#send();
    await this.#sending;
    return !this.#failing;
  }

  async close(): Promise<void> {
    if (this.#closed.signal.aborted) return;
    this.#closed.abort();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise((resolve) => {
      timer = setTimeout(resolve, closeMs);
    });
    await Promise.race([this.flushed(), late]);
    clearTimeout(timer);
    clearTimeout(this.#timer);
    this.service.agent.destroy();
  }

  /** Sends everything that waits, one batch after the other. */
  #send(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#events.length === 0 || this.#sending) return;
    this.#sending = this.#sendAll().finally(() => {
      this.#sending = undefined;
    });
  }

  /** Never rejects. */
  async #sendAll(): Promise<void> {
    while (this.#events.length > 0) {
      const batch = this.#events.splice(0, this.#batchEventsMax);
      try {
        await this.#post(batch);
        this.#written += batch.length;
        this.#failing = false;
      } catch (error) {
        this.#dropped += batch.length;
        if (!this.#failing) this.report(error as Error);
        this.#failing = true;
      }
    }
  }

  async #post(batch: readonly string[]): Promise<void> {
    const { url, headers, agent } = this.service;
    const body = `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[${batch.join()}]}`;
    let pauseMs = this.#retryMs;
    for (let attempt = 1; ; attempt++) {
      const failure = await callRemote({
        url,
        method: 'POST',
        headers,
        body,
        agent,
        timeoutMs: answerMaxMs,
      }).then(
        ({ code }) => {
          if (code >= 200 && code < 300) return undefined;
          const error = new Error(`the audit webhook answers with status ${code}`);
          if (code !== 429 && code < 500) throw error;
          return error;
        },
        (error: Error) => error,
      );
      if (!failure) return;
      if (attempt === attemptsMax || this.#closed.signal.aborted) throw failure;
      await this.#pause(pauseMs);
      pauseMs *= pauseFactor;
    }
  }

  /** Ends early when the webhook is closed. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#closed.signal.addEventListener('abort', () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}
