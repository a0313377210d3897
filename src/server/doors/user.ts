/** A user: who sends a request, as its door has identified them. */
export interface User {
  readonly name: string;
  /** What tells this user from an earlier one of the same name; absent where names are never given twice. */
  readonly uid?: string;
  readonly groups: readonly string[];
  /** What else is known of the user, for authorizers and audit. */
  readonly extra: Readonly<Record<string, readonly string[]>>;
}
