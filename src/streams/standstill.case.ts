/** For tests of back-pressure: how to tell that nothing moves any more. */
const turnsDefault = 1_000;

/**
 * Resolves, with the figure, when it has stayed the same for a thousand turns of the event loop. Both ends of the
 * connections of a test are in this process: bytes that have not moved in so many turns wait for a reader.
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
