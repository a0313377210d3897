/**
 * Notices the ends of containers by one stream of events for all. When it breaks, it is opened again, and all
 * containers that are waited for are checked once, because events may have been missed.
 */
import type { IncomingMessage } from 'node:http';
import { TextLines } from '../../../text-lines.ts';
import { labels } from '../engine/pod-identity.ts';
import type { DockerApi } from './docker-api.ts';
import type { DockerEvent } from './docker-types.ts';

const retryFirstMs = 100;
const retryMaxMs = 5_000;
/** Maximum length of the line of an event. */
const lineCharsMax = 1024 * 1024;

/** Podman calls the end of a container `died`. */
const endings: ReadonlySet<string | undefined> = new Set(['die', 'died', 'destroy', 'remove']);

export class DockerEvents {
  readonly #waiting = new Map<string, () => void>();
  readonly #gone = new AbortController();
  #retryTimer: NodeJS.Timeout | undefined;
  #retryMs = retryFirstMs;
  #open = false;
  #lines = new TextLines(lineCharsMax);

  constructor(
    private readonly api: DockerApi,
    private readonly node: string,
  ) {}

  /** Calls `look` when a container may have ended: after an event about it, or when events may have been missed. */
  watch(id: string, look: () => void): void {
    this.#waiting.set(id, look);
    if (!this.#open) this.#begin();
  }

  forget(id: string): void {
    this.#waiting.delete(id);
  }

  close(): void {
    clearTimeout(this.#retryTimer);
    this.#gone.abort();
    this.#waiting.clear();
  }

  #begin(): void {
    if (this.#gone.signal.aborted) return;
    this.#open = true;
    this.#follow()
      .catch(() => undefined)
      .finally(() => {
        this.#lines = new TextLines(lineCharsMax);
        if (this.#gone.signal.aborted) return;
        this.#retryTimer = setTimeout(() => this.#begin(), this.#retryMs);
        this.#retryMs = Math.min(this.#retryMs * 2, retryMaxMs);
      });
  }

  async #follow(): Promise<void> {
    const filters = JSON.stringify({ type: ['container'], label: [`${labels.node}=${this.node}`] });
    const answer: IncomingMessage = await this.api.stream('GET', '/events', {
      query: { filters },
      timeoutMs: 0,
      signal: this.#gone.signal,
    });
    this.#retryMs = retryFirstMs;
    for (const look of [...this.#waiting.values()]) look();
    answer.setEncoding('utf8');
    for await (const text of answer as AsyncIterable<string>) this.#take(text);
  }

  #take(text: string): void {
    for (const line of this.#lines.take(text)) {
      if (!line.trim()) continue;
      const { Action: action, Actor: actor } = parsed(line);
      if (endings.has(action)) this.#waiting.get(actor?.ID ?? '')?.();
    }
  }
}

function parsed(line: string): DockerEvent {
  try {
    return JSON.parse(line) as DockerEvent;
  } catch {
    return {};
  }
}
