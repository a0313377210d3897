/** What token authenticators share: the question, the answer, and the error for a refused token. */
import { hash } from 'node:crypto';
import type { User } from '../../api/values/user.ts';

/** Longer tokens are refused without being parsed. */
export const tokenCharsMax = 64 * 1024;

/** A token as a client has sent it. */
export interface SentToken {
  readonly text: string;
  /** Its digest, once an authenticator has asked for it. */
  digest?: string;
}

export interface TokenQuestion {
  readonly sent: SentToken;
  /** Accepted audiences; the token must be for one of them. */
  readonly audiences: readonly string[];
  /** Texts for Warning headers are added here. */
  readonly warnings: string[];
  /** Annotations for the audit log are added here. */
  readonly annotations: Record<string, string>;
}

export interface TokenAnswer {
  readonly user: User;
  /** The requested audiences for which the token is valid. */
  readonly audiences: readonly string[];
}

export interface TokenAuthenticator {
  /**
   * Identifies the user of a token; undefined when it is of another kind. Throws a `CredentialError` when it is
   * invalid.
   */
  authenticateToken(question: TokenQuestion): TokenAnswer | undefined | Promise<TokenAnswer | undefined>;
}

/** A credential is not valid. The message is for the log; clients get a 401 without a reason. */
export class CredentialError extends Error {
  /** @param told text for a TokenReview, in Kubernetes' words; '' when it shows nothing more */
  constructor(
    readonly told = '',
    message = told || 'the signature or the claims of the token are not valid',
  ) {
    super(message);
    this.name = 'CredentialError';
  }
}

/** The cache key of a token: a hash, so that a memory dump does not show the token. */
export const digestOf = (token: string): string => hash('sha256', token, 'base64');

export function digestOfSent(token: SentToken): string {
  token.digest ??= digestOf(token.text);
  return token.digest;
}

export const audiencesInCommon = (said: readonly string[], asked: readonly string[]): string[] =>
  said.filter((audience) => asked.includes(audience));

/** A method whose tokens have no audience: they are valid for the server only. */
export abstract class ServerTokens implements TokenAuthenticator {
  constructor(private readonly serverAudiences: readonly string[]) {}

  authenticateToken(question: TokenQuestion): TokenAnswer | undefined | Promise<TokenAnswer | undefined> {
    const audiences = audiencesInCommon(this.serverAudiences, question.audiences);
    if (audiences.length === 0) return undefined;
    const user = this.userOf(question.sent);
    if (user instanceof Promise) return user.then((found) => found && { user: found, audiences });
    return user && { user, audiences };
  }

  protected abstract userOf(token: SentToken): User | undefined | Promise<User | undefined>;
}
