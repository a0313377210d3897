/** For tests of back-pressure: detects that data has stopped moving. */
const turnsDefault = 1_000;

/**
 * Resolves with the figure when it has not changed for a thousand event loop ticks. Both ends of a test's
 * connections are in this process, so bytes that have not moved by then are waiting for a reader.
 */
export async function standstill(figure: () => number, turns = turnsDefault): Promise<number> {
  let last = figure();
  for (let still = 0; still < turns; still++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (figure() === last) continue;
    last = figure();
    still = 0;
  }
  return last;
}
