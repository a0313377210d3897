/** Tries methods in order until one answers; synchronously, as long as no method returns a promise. */

/** The first answer, or undefined. Errors of methods are added to `failures`, and the next method is tried. */
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
