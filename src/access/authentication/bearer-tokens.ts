/**
 * Bearer tokens: from the `Authorization` header, or from a WebSocket subprotocol, for pages that cannot set headers.
 * Token methods are tried in order.
 */
import type { User } from '../../api/values/user.ts';
import type { Authenticator, Credentials } from './authenticator.ts';
import { firstAnswer } from './first-answer.ts';
import {
  CredentialError,
  type SentToken,
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
  /** Tokens by the headers they came in: requests of one connection share these as long as they stay the same. */
  readonly #sent = new WeakMap<object, SentToken>();

  constructor(
    private readonly methods: readonly TokenAuthenticator[],
    private readonly serverAudiences: readonly string[],
  ) {}

  authenticate(credentials: Credentials): User | undefined | Promise<User | undefined> {
    const { headers, protocolToken, warnings, annotations } = credentials;
    const header = headers.authorization;
    const sent = header === undefined ? undefined : this.#sentIn(headers, header, warnings);
    if (sent === undefined && protocolToken === undefined) return undefined;
    const asked = { audiences: this.serverAudiences, warnings, annotations };
    const tokens: SentToken[] = sent ? [sent] : [];
    if (protocolToken !== undefined) tokens.push({ text: protocolToken });
    const failures: unknown[] = [];
    const answer = firstAnswer(tokens, (token) => this.ask({ ...asked, sent: token }, failures), failures);
    if (answer instanceof Promise) return answer.then((found) => userOf(found, failures));
    return userOf(answer, failures);
  }

  /** @param failures collects errors of methods that recognised the token and refused it */
  ask(
    question: TokenQuestion,
    failures: unknown[],
  ): TokenAnswer | undefined | Promise<TokenAnswer | undefined> {
    if (question.sent.text.length > tokenCharsMax) return undefined;
    return firstAnswer(this.methods, (method) => method.authenticateToken(question), failures);
  }

  #sentIn(headers: object, header: string, warnings: string[]): SentToken | undefined {
    const known = this.#sent.get(headers);
    if (known) return known;
    const text = bearerToken(header, warnings);
    if (text === undefined) return undefined;
    const sent: SentToken = { text };
    if (Object.isFrozen(headers)) this.#sent.set(headers, sent);
    return sent;
  }
}

/** The user of a token. An unknown token is answered with 401, never treated as an anonymous request. */
function userOf(answer: TokenAnswer | undefined, failures: readonly unknown[]): User {
  if (answer) return answer.user;
  throw failures[0] ?? new CredentialError('invalid bearer token');
}
