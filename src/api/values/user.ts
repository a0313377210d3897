/** A user: the sender of a request. Doors identify their clients; the server's own parts have fixed users. */
export interface User {
  readonly name: string;
  /** Distinguishes users that had the same name at different times; absent where names are never reused. */
  readonly uid?: string;
  readonly groups: readonly string[];
  /** Further attributes, for authorizers, admission and audit. */
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** The group of all authenticated users. */
export const authenticated = 'system:authenticated';
/** The group with all permissions. */
export const masters = 'system:masters';
