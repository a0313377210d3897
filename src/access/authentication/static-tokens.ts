/**
 * Static tokens: from a file (`token,user,uid[,"group1,group2"]` per line), and of users that an embedding program
 * names.
 */
import type { User } from '../../api/values/user.ts';
import { readCsv } from './csv.ts';
import { digestOf, digestOfSent, type SentToken, ServerTokens } from './token-authenticator.ts';

/** A user that the embedding program knows by a token. */
export interface StaticUser {
  readonly name: string;
  readonly groups?: readonly string[];
  readonly uid?: string;
  /** Secret by which the user is known. Default: none; the user is known by a certificate only. */
  readonly token?: string;
}

export class StaticTokens extends ServerTokens {
  readonly #users = new Map<string, User>();

  constructor(serverAudiences: readonly string[], users: Iterable<readonly [token: string, user: User]>) {
    super(serverAudiences);
    for (const [token, user] of users) this.#users.set(digestOf(token), user);
  }

  protected userOf(token: SentToken): User | undefined {
    return this.#users.get(digestOfSent(token));
  }
}

/** The tokens of a file; of duplicates the last counts. Throws an error with a sentence when a line is too short. */
export function tokenFileUsers(text: string, warn: (message: string) => void): [token: string, user: User][] {
  return readCsv(text).flatMap((record, index) => {
    const [token, name, uid, groups] = record;
    if (token === undefined || name === undefined || uid === undefined)
      throw new Error(
        `record ${index + 1} has ${record.length} columns, and needs at least three: token, user name, user uid`,
      );
    if (token === '') {
      warn(`record ${index + 1} of the token file has no token and is ignored`);
      return [];
    }
    return [[token, { name, uid, groups: groups ? groups.split(',') : [] }]];
  });
}

export const staticUsers = (users: readonly StaticUser[]): [token: string, user: User][] =>
  users.flatMap(({ token, name, uid, groups = [] }) => (token ? [[token, { name, uid, groups }]] : []));
