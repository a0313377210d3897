/**
 * A gap in the history of a cluster that is recorded: a time in which nothing was seen of it, or of some of its kinds. What
 * had changed meanwhile is found when the kinds are listed again, and written with the versions that the gap names: these
 * are no changes of the moment at which they were written.
 */
export interface HistoryGap {
  /** When the last was seen before the gap, in milliseconds. */
  readonly fromMs: number;
  /** When everything was known again; undefined while the gap lasts. */
  readonly toMs: number | undefined;
  /** Why nothing was seen, in a few words. */
  readonly why: string;
  /** What was not seen, such as `pods` or `deployments.apps`; undefined: everything. */
  readonly resources?: readonly string[] | undefined;
  /** The versions from the first to the last, both included, under which what had changed meanwhile was written. */
  readonly versions?: { readonly first: number; readonly last: number } | undefined;
}
