/** The configured OpenID Connect issuers, from options or a file; those of a file change with it. */
import { WatchedFiles } from '../../pki/watched-files.ts';
import type { AnonymousAccess } from './anonymous.ts';
import { readAuthenticationConfiguration, secureUrl } from './authentication-configuration.ts';
import { firstAnswer } from './first-answer.ts';
import { type OidcConfiguration, OidcTokens } from './oidc-tokens.ts';
import type { TokenAnswer, TokenAuthenticator, TokenQuestion } from './token-authenticator.ts';

export interface IssuerSettings {
  /** The server's own audiences. */
  readonly audiences: readonly string[];
  /** Issuers of service account tokens, which no configured issuer may be named like. */
  readonly reserved: readonly string[];
  readonly nowMs: () => number;
  readonly onError: (error: Error) => void;
  /** Called when a changed file cannot be used. */
  readonly log: (message: string) => void;
}

export class ConfiguredIssuers implements TokenAuthenticator {
  #issuers: readonly OidcTokens[] = [];
  #anonymous: AnonymousAccess | undefined;
  #file: WatchedFiles | undefined;

  constructor(private readonly settings: IssuerSettings) {}

  /** Replaces the issuers. Throws when one cannot be used. */
  use(configurations: readonly OidcConfiguration[]): void {
    const former = this.#issuers;
    this.#issuers = this.#open(configurations);
    for (const issuer of former) issuer.close();
  }

  /** Uses the issuers of a file, and those of the next version when it changes. Throws when the file cannot be used. */
  follow(file: string): void {
    const take = ([text = '']: readonly string[]): void => {
      const { issuers, anonymous } = readAuthenticationConfiguration(text);
      this.use(issuers);
      this.#anonymous = anonymous;
    };
    try {
      this.#file = new WatchedFiles({ paths: [file], take, log: this.settings.log });
    } catch (error) {
      throw new Error(
        `the authentication configuration ${file} cannot be used: ${(error as Error).message}`,
        {
          cause: error,
        },
      );
    }
  }

  /** The file's settings of anonymous access; undefined when it has none. */
  get anonymous(): AnonymousAccess | undefined {
    return this.#anonymous;
  }

  authenticateToken(question: TokenQuestion): TokenAnswer | undefined | Promise<TokenAnswer | undefined> {
    const failures: unknown[] = [];
    const answer = firstAnswer(this.#issuers, (issuer) => issuer.authenticateToken(question), failures);
    if (answer instanceof Promise) return answer.then((found) => orFailure(found, failures));
    return orFailure(answer, failures);
  }

  close(): void {
    this.#file?.close();
    for (const issuer of this.#issuers) issuer.close();
  }

  #open(configurations: readonly OidcConfiguration[]): readonly OidcTokens[] {
    const { audiences, reserved } = this.settings;
    for (const { issuer } of configurations) {
      secureUrl(issuer.url, 'the URL of an OIDC issuer');
      if (reserved.includes(issuer.url))
        throw new Error(`the OIDC issuer ${issuer.url} is that of service account tokens`);
    }
    return configurations.map((configuration) => new OidcTokens(configuration, audiences, this.settings));
  }
}

/** Adds the failure to the list, if there is one; each token has one issuer, so there is at most one. */
function orFailure(answer: TokenAnswer | undefined, failures: readonly unknown[]): TokenAnswer | undefined {
  if (!answer && failures.length) throw failures[0];
  return answer;
}
