/** A user: whom a request is from. Doors say it of those who come in, the server says it of its own parts. */
export interface User {
  readonly name: string;
  /** What tells this user from an earlier one of the same name; absent where names are never given twice. */
  readonly uid?: string;
  readonly groups: readonly string[];
  /** What else is known of the user, for authorizers, admission and audit. */
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** The group of all who are known. */
export const authenticated = 'system:authenticated';
/** The group that may do everything. */
export const masters = 'system:masters';
