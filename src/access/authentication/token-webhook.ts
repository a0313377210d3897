/** The token webhook: asks another server whose token it is, by a TokenReview. */
import { isJsonObject, type JsonObject } from '../../api/text/object.ts';
import type { User } from '../../api/values/user.ts';
import type { RemoteService } from '../shared/remote-configuration.ts';
import { type ReadAnswer, ReviewClient } from '../shared/review-client.ts';
import {
  audiencesInCommon,
  CredentialError,
  digestOf,
  type TokenAnswer,
  type TokenAuthenticator,
  type TokenQuestion,
} from './token-authenticator.ts';

/** Timeout of all attempts for one token together. */
const totalMs = 30_000;
const attemptMs = 10_000;
const groupsMax = 10_000;

export interface TokenWebhookOptions {
  readonly service: RemoteService;
  readonly version: 'v1' | 'v1beta1';
  /** How long answers are cached. */
  readonly cacheMs: number;
  readonly serverAudiences: readonly string[];
  readonly nowMs: () => number;
}

/** The user of a token, or why it is invalid. */
interface Verdict {
  readonly answer: TokenAnswer | undefined;
  readonly error: string;
}

export class TokenWebhook implements TokenAuthenticator {
  readonly #client: ReviewClient<Verdict>;

  constructor(private readonly options: TokenWebhookOptions) {
    const { service, version, nowMs } = options;
    this.#client = new ReviewClient({
      service,
      name: 'token webhook',
      kind: 'TokenReview',
      apiVersion: `authentication.k8s.io/${version}`,
      timeoutMs: totalMs,
      attemptMs,
      nowMs,
    });
  }

  authenticateToken({
    sent: { text: token },
    audiences,
  }: TokenQuestion): TokenAnswer | undefined | Promise<TokenAnswer | undefined> {
    const key = digestOf(JSON.stringify([token, ...audiences]));
    const verdict = this.#client.ask(key, { token, audiences }, (status) => this.#read(status, audiences));
    return verdict instanceof Promise ? verdict.then(answerIn) : answerIn(verdict);
  }

  close(): void {
    this.#client.close();
  }

  #read(status: JsonObject, audiences: readonly string[]): ReadAnswer<Verdict> {
    const answer = status.authenticated === true ? this.#answerOf(status, audiences) : undefined;
    const error = typeof status.error === 'string' ? status.error : '';
    return { answer: { answer, error }, keptMs: this.options.cacheMs };
  }

  #answerOf(status: JsonObject, asked: readonly string[]): TokenAnswer | undefined {
    const said = textsOf(status.audiences);
    // An answer without audiences means this server.
    const audiences = audiencesInCommon(said.length ? said : this.options.serverAudiences, asked);
    return audiences.length ? { user: userOf(status.user), audiences } : undefined;
  }
}

function answerIn({ answer, error }: Verdict): TokenAnswer | undefined {
  if (!answer && error !== '') throw new CredentialError(error);
  return answer;
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
