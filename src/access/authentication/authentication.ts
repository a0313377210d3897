/**
 * Authentication: all methods together, in Kubernetes' order. The first that knows the user wins; an error of one does not
 * keep the others from being asked, but where none knows the user, any error means 401: a wrong credential is never
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

/** What a review of a token says. */
export type TokenVerdict =
  | { readonly user: User; readonly audiences: readonly string[] }
  | { readonly error: string };

export interface AuthenticationParts {
  /** Certificates and front proxies, in their order. */
  readonly methods: readonly Authenticator[];
  readonly tokens: BearerTokens;
  readonly anonymous: Authenticator;
  /** Whether a header, in small letters, is one by which a front proxy names users. */
  readonly isIdentityHeader: (name: string) => boolean;
  /** Told of failures that are not the fault of a credential. */
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

  /** Whose token it is, for one of these audiences. */
  async reviewToken(token: string, audiences: readonly string[]): Promise<TokenVerdict> {
    const failures: unknown[] = [];
    const question = { audiences, warnings: [], annotations: {} };
    const answer: TokenAnswer | undefined = await this.parts.tokens.ask(token, question, failures);
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

  /** Whether a header, in small letters, says who a user is: it is not handed on. */
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

/** The user with the group of all who are known. Throws for one that no program could have meant. */
function completed(user: User): User {
  const { name, groups } = user;
  const problem = nameProblem(user);
  if (problem !== undefined) throw new CredentialError(problem);
  if (name === 'system:anonymous' || groups.includes(authenticated) || groups.includes(unauthenticated))
    return user;
  return { ...user, groups: [...groups, authenticated] };
}
