/**
 * Bearer tokens: from the `Authorization` header, or from a WebSocket subprotocol, for pages that cannot set headers.
 * Token methods are tried in order.
 */
import type { User } from '../../api/values/user.ts';
import type { Authenticator, Credentials } from './authenticator.ts';
import { firstAnswer } from './first-answer.ts';
import {
  CredentialError,
  type TokenAnswer,
  type TokenAuthenticator,
  type TokenQuestion,
  tokenCharsMax,
} from './token-authenticator.ts';

const extraSpace =
  'the provided Authorization header contains extra space before the bearer token, and is ignored';

/** The token of an `Authorization` header; undefined when it holds no token or has another scheme. */
export function bearerToken(header: string, warnings: string[]): string | undefined {
  const text = header.trim();
  const schemeEnd = text.indexOf(' ');
  if (schemeEnd < 0 || text.slice(0, schemeEnd).toLowerCase() !== 'bearer') return undefined;
  const rest = text.slice(schemeEnd + 1);
  const tokenEnd = rest.indexOf(' ');
  const token = tokenEnd < 0 ? rest : rest.slice(0, tokenEnd);
  if (token !== '') return token;
  // Two spaces: the text after the second one is not taken for a token.
  if (tokenEnd >= 0) warnings.push(extraSpace);
  return undefined;
}

export class BearerTokens implements Authenticator {
  constructor(
    private readonly methods: readonly TokenAuthenticator[],
    private readonly serverAudiences: readonly string[],
  ) {}

  authenticate(credentials: Credentials): User | undefined | Promise<User | undefined> {
    const { headers, protocolToken, warnings, annotations } = credentials;
    const header = headers.authorization;
    const sent = header === undefined ? undefined : bearerToken(header, warnings);
    if (sent === undefined && protocolToken === undefined) return undefined;
    const question = { audiences: this.serverAudiences, warnings, annotations };
    const tokens = [sent, protocolToken].filter((token) => token !== undefined);
    const failures: unknown[] = [];
    const answer = firstAnswer(tokens, (token) => this.ask(token, question, failures), failures);
    if (answer instanceof Promise) return answer.then((found) => userOf(found, failures));
    return userOf(answer, failures);
  }

  /** @param failures collects errors of methods that recognised the token and refused it */
  ask(
    token: string,
    question: TokenQuestion,
    failures: unknown[],
  ): TokenAnswer | undefined | Promise<TokenAnswer | undefined> {
    if (token.length > tokenCharsMax) return undefined;
    return firstAnswer(this.methods, (method) => method.authenticateToken(token, question), failures);
  }
}

/** The user of a token. An unknown token is answered with 401, never treated as an anonymous request. */
function userOf(answer: TokenAnswer | undefined, failures: readonly unknown[]): User {
  if (answer) return answer.user;
  throw failures[0] ?? new CredentialError('invalid bearer token');
}
