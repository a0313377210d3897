/**
 * Slow start: creates many equal objects in batches of 1, 2, 4…, and stops after a batch with a failure. A failure
 * such as an exhausted quota would affect all of them, and this way costs few attempts.
 */

/** The first failure, if any, after all started calls have finished. */
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
