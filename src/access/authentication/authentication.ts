/**
 * Authentication: combines all methods, in Kubernetes' order. The first that knows the user wins. An error of one
 * method does not stop the others; but if none knows the user, any error means 401: a wrong credential never becomes
 * "anonymous".
 */
import { authenticated, type User } from '../../api/values/user.ts';
import { Memo } from '../../memo.ts';
import type { Authenticator, Credentials } from './authenticator.ts';
import type { BearerTokens } from './bearer-tokens.ts';
import { firstAnswer } from './first-answer.ts';
import { CredentialError, type TokenAnswer } from './token-authenticator.ts';
import { nameProblem } from './user-names.ts';

const unauthenticated = 'system:unauthenticated';

/** The result of a token review. */
export type TokenVerdict =
  | { readonly user: User; readonly audiences: readonly string[] }
  | { readonly error: string };

export interface AuthenticationParts {
  /** Client certificates and front proxies, in order. */
  readonly methods: readonly Authenticator[];
  readonly tokens: BearerTokens;
  readonly anonymous: Authenticator;
  /** Whether a front proxy uses this (lower-case) header to name users. */
  readonly isIdentityHeader: (name: string) => boolean;
  /** Called for failures that are not caused by a credential. */
  readonly onError: (error: Error) => void;
  readonly close: () => Promise<void> | void;
}

export class Authentication implements Authenticator {
  readonly #methods: readonly Authenticator[];
  readonly #completed = new Memo(completed);

  constructor(private readonly parts: AuthenticationParts) {
    this.#methods = [...parts.methods, parts.tokens];
  }

  /** The user. Throws when the credentials identify no user; the client gets a 401 without a reason. */
  authenticate(credentials: Credentials): User | Promise<User> {
    const failures: unknown[] = [];
    const found = firstAnswer(this.#methods, (method) => method.authenticate(credentials), failures);
    if (found instanceof Promise) return found.then((user) => this.#conclude(user, credentials, failures));
    return this.#conclude(found, credentials, failures);
  }

  /** The user of a token, if it is valid for one of these audiences. */
  async reviewToken(token: string, audiences: readonly string[]): Promise<TokenVerdict> {
    const failures: unknown[] = [];
    const question = { sent: { text: token }, audiences, warnings: [], annotations: {} };
    const answer: TokenAnswer | undefined = await this.parts.tokens.ask(question, failures);
    this.#report(failures);
    if (answer) return this.#verdict(answer);
    const why = failures
      .map((failure) => (failure instanceof CredentialError ? failure.told : (failure as Error).message))
      .filter(Boolean);
    // The first words are of the server's own token, which Kubernetes compares first.
    const unknown = 'invalid bearer token';
    return { error: why.length ? `[${[unknown, ...why].join(', ')}]` : unknown };
  }

  #verdict({ user, audiences }: TokenAnswer): TokenVerdict {
    try {
      return { user: this.#completed.of(user), audiences };
    } catch (error) {
      return { error: (error as Error).message };
    }
  }

  /** Whether a (lower-case) header carries identity, so that it must not be forwarded. */
  isIdentityHeader(name: string): boolean {
    return this.parts.isIdentityHeader(name);
  }

  async close(): Promise<void> {
    await this.parts.close();
  }

  #conclude(found: User | undefined, credentials: Credentials, failures: readonly unknown[]): User {
    this.#report(failures);
    if (found) return this.#completed.of(found);
    if (failures.length) throw failures[0];
    const anonymous = this.parts.anonymous.authenticate(credentials) as User | undefined;
    if (!anonymous) throw new CredentialError('no credentials');
    return anonymous;
  }

  #report(failures: readonly unknown[]): void {
    for (const failure of failures)
      if (!(failure instanceof CredentialError)) this.parts.onError(failure as Error);
  }
}

/** Adds the group of authenticated users. Throws for names that no authenticator may produce. */
function completed(user: User): User {
  const { name, groups } = user;
  const problem = nameProblem(user);
  if (problem !== undefined) throw new CredentialError(problem);
  if (name === 'system:anonymous' || groups.includes(authenticated) || groups.includes(unauthenticated))
    return user;
  return { ...user, groups: [...groups, authenticated] };
}
