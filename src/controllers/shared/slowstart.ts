/**
 * Slow start: many like things are made in batches of 1, 2, 4… and no further batch is begun after a failure. What
 * fails once would fail for all, as with a quota that is used up, and is found out at the price of few.
 */

/** The first failure, if there was one; all that was begun is over then. */
export async function slowStart(
  count: number,
  make: (index: number) => Promise<unknown>,
): Promise<Error | undefined> {
  for (let done = 0, batch = 1; done < count; done += batch, batch *= 2) {
    const first = done;
    const size = Math.min(batch, count - done);
    const results = await Promise.allSettled(Array.from({ length: size }, (_, i) => make(first + i)));
    const failed = results.find(({ status }) => status === 'rejected');
    if (failed) return (failed as PromiseRejectedResult).reason as Error;
  }
  return undefined;
}
