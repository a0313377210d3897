/** The versions that the server keeps. */

export interface HistoryRange {
  readonly oldest: number;
  readonly newest: number;
}

/**
 * A version to begin with that is kept for a while yet: history moves on while it is read, and its oldest version may be
 * gone by the time that it is asked for. Each attempt keeps twice as far away from the end.
 */
export function startOf({ oldest, newest }: HistoryRange, attempt = 0): number {
  // Nothing has been dropped yet.
  if (oldest === 1 && attempt === 0) return oldest;
  const share = Math.min(1, 2 ** attempt / 32);
  return Math.min(newest, oldest + Math.ceil((newest - oldest) * share));
}
