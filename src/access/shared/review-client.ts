/**
 * Asks another server with reviews: TokenReviews about tokens, SubjectAccessReviews about permissions. Answers are
 * cached for a while, and concurrent equal questions are sent once.
 */
import { isJsonObject, type JsonObject } from '../../api/text/object.ts';
import { BoundedCache } from './bounded-cache.ts';
import { callRemote, RemoteFailure } from './remote-call.ts';
import type { RemoteService } from './remote-configuration.ts';

/** Maximum number of concurrent questions; more fail at once. */
const callsMax = 200;
const rememberedMax = 10_000;
const attemptsMax = 5;
const firstPauseMs = 500;
const pauseFactor = 1.5;

export interface ReviewClientOptions {
  readonly service: RemoteService;
  /** For messages: `token webhook`. */
  readonly name: string;
  readonly kind: 'TokenReview' | 'SubjectAccessReview';
  readonly apiVersion: string;
  /** Timeouts of all attempts for one question together, and of each. */
  readonly timeoutMs: number;
  readonly attemptMs?: number;
  readonly nowMs: () => number;
}

/** The meaning of an answer, and how long it is cached; 0: not at all. */
export interface ReadAnswer<T> {
  readonly answer: T;
  readonly keptMs: number;
}

export class ReviewClient<T> {
  readonly #remembered = new BoundedCache<{ readonly answer: T; readonly untilMs: number }>(rememberedMax);
  readonly #asking = new Map<string, Promise<T>>();
  #closed = false;

  constructor(private readonly options: ReviewClientOptions) {}

  /**
   * Asks. Throws or rejects when there is no answer.
   * @param key identifies the question in the cache
   * @param read parses the status of the review
   */
  ask(key: string, spec: JsonObject, read: (status: JsonObject) => ReadAnswer<T>): T | Promise<T> {
    const known = this.#remembered.get(key);
    if (known && known.untilMs > this.options.nowMs()) return known.answer;
    const asking = this.#asking.get(key);
    if (asking) return asking;
    if (this.#asking.size >= callsMax)
      throw new RemoteFailure(`too many questions to the ${this.options.name} are open`);
    const asked = this.#ask(key, spec, read).finally(() => this.#asking.delete(key));
    this.#asking.set(key, asked);
    return asked;
  }

  /** Closes the client when all open questions are answered. */
  async retire(): Promise<void> {
    await Promise.allSettled(this.#asking.values());
    this.close();
  }

  close(): void {
    this.#closed = true;
    this.options.service.agent.destroy();
  }

  async #ask(key: string, spec: JsonObject, read: (status: JsonObject) => ReadAnswer<T>): Promise<T> {
    const { kind, apiVersion, nowMs } = this.options;
    const { answer, keptMs } = read(
      this.#statusIn(await this.#post(JSON.stringify({ kind, apiVersion, spec }))),
    );
    if (keptMs > 0) this.#remembered.set(key, { answer, untilMs: nowMs() + keptMs });
    return answer;
  }

  /** Sends a review; returns the text of the answer. Retries when the service is busy or fails. */
  async #post(body: string): Promise<string> {
    const { service, name, timeoutMs, attemptMs = timeoutMs } = this.options;
    const { url, headers, agent } = service;
    const endMs = performance.now() + timeoutMs;
    let pauseMs = firstPauseMs;
    for (let attempt = 1; ; attempt++) {
      const leftMs = Math.min(attemptMs, endMs - performance.now());
      const { code, text } = await callRemote({
        url,
        method: 'POST',
        headers,
        body,
        agent,
        timeoutMs: leftMs,
      });
      if (code === 200 || code === 201) return text;
      const again = code === 429 || code >= 500;
      if (!again || attempt === attemptsMax || pauseMs >= endMs - performance.now() || this.#closed)
        throw new RemoteFailure(`the ${name} answers with status ${code}`);
      await new Promise((resolve) => setTimeout(resolve, pauseMs).unref());
      pauseMs *= pauseFactor;
    }
  }

  #statusIn(text: string): JsonObject {
    const { name, kind, apiVersion } = this.options;
    let review: unknown;
    try {
      review = JSON.parse(text);
    } catch {
      throw new RemoteFailure(`the answer of the ${name} is no JSON`);
    }
    if (!isJsonObject(review) || review.kind !== kind || review.apiVersion !== apiVersion)
      throw new RemoteFailure(`the ${name} answers with something that is not a ${kind} of ${apiVersion}`);
    return isJsonObject(review.status) ? review.status : {};
  }
}
