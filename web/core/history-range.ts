/** The range of versions that the server keeps. */

export interface HistoryRange {
  readonly oldest: number;
  readonly newest: number;
}

/**
 * A start version that will be kept for a while: history moves on while it is read, and its oldest version may be gone
 * when it is requested. Each attempt keeps twice the distance from the end.
 */
export function startOf({ oldest, newest }: HistoryRange, attempt = 0): number {
  // Nothing has been dropped yet.
  if (oldest === 1 && attempt === 0) return oldest;
  const share = Math.min(1, 2 ** attempt / 32);
  return Math.min(newest, oldest + Math.ceil((newest - oldest) * share));
}
