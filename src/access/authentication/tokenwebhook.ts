/**
 * The token webhook: another server is asked whose token it is, by a TokenReview. Its answers are cached, and there is
 * at most one call at a time for each token.
 */
import { isJsonObject, type JsonObject } from '../../api/object.ts';
import type { User } from '../../api/user.ts';
import { BoundedCache } from '../boundedcache.ts';
import { callRemote } from '../remotecall.ts';
import type { RemoteService } from '../remoteconfiguration.ts';
import {
  audiencesInCommon,
  CredentialError,
  digestOf,
  type TokenAnswer,
  type TokenAuthenticator,
  type TokenQuestion,
} from './tokenauthenticator.ts';

/** All attempts for one token together. */
const totalMs = 30_000;
const attemptMs = 10_000;
const attemptsMax = 5;
const firstPauseMs = 500;
const pauseFactor = 1.5;
/** Tokens that are asked about at the same time; more are refused. */
const callsMax = 200;
const rememberedMax = 10_000;
const groupsMax = 10_000;

export interface TokenWebhookOptions {
  readonly service: RemoteService;
  readonly version: 'v1' | 'v1beta1';
  /** How long answers are remembered. */
  readonly cacheMs: number;
  readonly serverAudiences: readonly string[];
  readonly nowMs: () => number;
}

interface Remembered {
  readonly answer: TokenAnswer | undefined;
  readonly untilMs: number;
}

export class TokenWebhook implements TokenAuthenticator {
  readonly #remembered = new BoundedCache<Remembered>(rememberedMax);
  readonly #asking = new Map<string, Promise<TokenAnswer | undefined>>();
  #closed = false;

  constructor(private readonly options: TokenWebhookOptions) {}

  authenticateToken(
    token: string,
    { audiences }: TokenQuestion,
  ): TokenAnswer | undefined | Promise<TokenAnswer | undefined> {
    const key = digestOf(JSON.stringify([token, ...audiences]));
    const known = this.#remembered.get(key);
    if (known && known.untilMs > this.options.nowMs()) return known.answer;
    let asking = this.#asking.get(key);
    if (!asking) {
      if (this.#asking.size >= callsMax) throw new CredentialError('too many tokens are being reviewed');
      asking = this.#ask(token, audiences, key).finally(() => this.#asking.delete(key));
      this.#asking.set(key, asking);
    }
    return asking;
  }

  close(): void {
    this.#closed = true;
    this.options.service.agent.destroy();
  }

  async #ask(token: string, audiences: readonly string[], key: string): Promise<TokenAnswer | undefined> {
    const { version, cacheMs, nowMs } = this.options;
    const apiVersion = `authentication.k8s.io/${version}`;
    const review = JSON.stringify({ kind: 'TokenReview', apiVersion, spec: { token, audiences } });
    const status = statusOf(await this.#post(review), apiVersion);
    const answer = status.authenticated === true ? this.#answerOf(status, audiences) : undefined;
    this.#remembered.set(key, { answer, untilMs: nowMs() + cacheMs });
    if (!answer && typeof status.error === 'string' && status.error !== '')
      throw new CredentialError(status.error);
    return answer;
  }

  #answerOf(status: JsonObject, asked: readonly string[]): TokenAnswer | undefined {
    const said = textsOf(status.audiences);
    // A service that knows nothing of audiences means this server.
    const audiences = audiencesInCommon(said.length ? said : this.options.serverAudiences, asked);
    return audiences.length ? { user: userOf(status.user), audiences } : undefined;
  }

  /** The text of the answer. Tried again when the service is busy or fails. */
  async #post(body: string): Promise<string> {
    const { url, headers, agent } = this.options.service;
    const endMs = performance.now() + totalMs;
    let pauseMs = firstPauseMs;
    for (let attempt = 1; ; attempt++) {
      const leftMs = endMs - performance.now();
      const call = {
        url,
        method: 'POST',
        headers,
        body,
        agent,
        timeoutMs: Math.min(attemptMs, leftMs),
      } as const;
      const { code, text } = await callRemote(call);
      if (code === 200 || code === 201) return text;
      const again = code === 429 || code >= 500;
      if (!again || attempt === attemptsMax || pauseMs >= endMs - performance.now() || this.#closed)
        throw new Error(`the token webhook answers with status ${code}`);
      await new Promise((resolve) => setTimeout(resolve, pauseMs).unref());
      pauseMs *= pauseFactor;
    }
  }
}

function statusOf(text: string, apiVersion: string): JsonObject {
  const review: unknown = JSON.parse(text);
  if (!isJsonObject(review) || review.kind !== 'TokenReview' || review.apiVersion !== apiVersion)
    throw new Error(`the token webhook answers with something that is not a TokenReview of ${apiVersion}`);
  return isJsonObject(review.status) ? review.status : {};
}

function userOf(value: unknown): User {
  const { username, uid, groups, extra } = isJsonObject(value) ? value : {};
  if (typeof username !== 'string' || username === '')
    throw new CredentialError('the token webhook names no user');
  const more = isJsonObject(extra) ? Object.entries(extra) : [];
  return {
    name: username,
    ...(typeof uid === 'string' && uid !== '' ? { uid } : {}),
    groups: textsOf(groups),
    extra: Object.fromEntries(more.map(([key, values]) => [key, textsOf(values)])),
  };
}

const textsOf = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string').slice(0, groupsMax) : [];
