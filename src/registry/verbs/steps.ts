/** The steps of a write: `create.ts` and `modify.ts` list theirs. */

/** A step that has nothing to wait for answers nothing. */
export type Step<T> = (write: T) => void | Promise<void>;

/** Takes the steps one after the other. Most are done at once: an await for each would cost a microtask for nothing. */
export async function inOrder<T>(steps: readonly Step<T>[], write: T): Promise<void> {
  for (const step of steps) {
    const waiting = step(write);
    if (waiting) await waiting;
  }
}
