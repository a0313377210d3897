/** The range of versions that the server keeps. */

export interface HistoryRange {
  readonly oldest: number;
  readonly newest: number;
  /** When history begins, by the clock of the server, and what that shows now; undefined when no change is kept. */
  readonly oldestMs?: number | undefined;
  readonly nowMs?: number | undefined;
  /** Times in which nothing was seen of the cluster that the server records. */
  readonly gaps?: readonly HistoryGap[] | undefined;
  /** What the server shows a copy of. */
  readonly copy?: { readonly about: string; readonly isWritable: boolean } | undefined;
}

export interface HistoryGap {
  readonly from: string;
  readonly to?: string;
  readonly why: string;
  /** What was not seen; undefined: everything. */
  readonly resources?: readonly string[];
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
