/** The steps of a write; `create.ts` and `modify.ts` list theirs. */

/** A step of a write. It returns a promise only if it has to wait. */
export type Step<T> = (write: T) => void | Promise<void>;

/**
 * Runs the steps one after the other. Most return synchronously: an await for each would cost a microtask for nothing.
 */
export async function inOrder<T>(steps: readonly Step<T>[], write: T): Promise<void> {
  for (const step of steps) {
    const waiting = step(write);
    if (waiting) await waiting;
  }
}
