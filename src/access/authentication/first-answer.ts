/** Asks one method after the other until one answers. Without a promise as long as none of them makes one. */

/**
 * The first answer, or undefined. What methods throw is added to `failures`, and the next one is
 * asked.
 */
export function firstAnswer<Method, Answer>(
  methods: readonly Method[],
  ask: (method: Method) => Answer | undefined | Promise<Answer | undefined>,
  failures: unknown[],
  from = 0,
): Answer | undefined | Promise<Answer | undefined> {
  for (let at = from; at < methods.length; at++) {
    try {
      const answer = ask(methods[at]!);
      if (answer instanceof Promise)
        return answer
          .catch((error: unknown) => {
            failures.push(error);
            return undefined;
          })
          .then((found) => found ?? firstAnswer(methods, ask, failures, at + 1));
      if (answer !== undefined) return answer;
    } catch (error) {
      failures.push(error);
    }
  }
  return undefined;
}
