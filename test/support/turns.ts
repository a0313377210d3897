/** Runs work, and counts the turns of the event loop that others have meanwhile. */
export async function turnsDuring<T>(work: () => T | Promise<T>): Promise<{ turns: number; result: T }> {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  try {
    const result = await work();
    return { turns, result };
  } finally {
    isOver = true;
  }
}
