/** What authenticators of tokens share: the question, the answer, and how a token is refused. */
import { createHash } from 'node:crypto';
import type { User } from '../../api/values/user.ts';

/** Longer ones are not looked at. */
export const tokenCharsMax = 64 * 1024;

export interface TokenQuestion {
  /** The token must be for one of them. */
  readonly audiences: readonly string[];
  /** Texts for Warning headers are added here. */
  readonly warnings: string[];
  /** Annotations for the audit log are added here. */
  readonly annotations: Record<string, string>;
}

export interface TokenAnswer {
  readonly user: User;
  /** Those of the audiences asked for that the token is meant for. */
  readonly audiences: readonly string[];
}

export interface TokenAuthenticator {
  /** Whose token it is; undefined: not one of this kind. Throws a `CredentialError` when it is one that is not good. */
  authenticateToken(
    token: string,
    question: TokenQuestion,
  ): TokenAnswer | undefined | Promise<TokenAnswer | undefined>;
}

/** A credential is not valid. The message is for the log; clients get a 401 without a reason. */
export class CredentialError extends Error {
  /** @param told what a TokenReview shows, in Kubernetes' words; '' where it shows nothing more */
  constructor(
    readonly told = '',
    message = told || 'the signature or the claims of the token are not valid',
  ) {
    super(message);
    this.name = 'CredentialError';
  }
}

/** What a token is remembered by: not the token, which a memory dump would show. */
export const digestOf = (token: string): string => createHash('sha256').update(token).digest('base64');

export const audiencesInCommon = (said: readonly string[], asked: readonly string[]): string[] =>
  said.filter((audience) => asked.includes(audience));

/** A method whose tokens say nothing of audiences: they are for the server, and not looked at for others. */
export abstract class ServerTokens implements TokenAuthenticator {
  constructor(private readonly serverAudiences: readonly string[]) {}

  authenticateToken(
    token: string,
    question: TokenQuestion,
  ): TokenAnswer | undefined | Promise<TokenAnswer | undefined> {
    const audiences = audiencesInCommon(this.serverAudiences, question.audiences);
    if (audiences.length === 0) return undefined;
    const user = this.userOf(token);
    if (user instanceof Promise) return user.then((found) => found && { user: found, audiences });
    return user && { user, audiences };
  }

  protected abstract userOf(token: string): User | undefined | Promise<User | undefined>;
}
