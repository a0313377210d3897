/**
 * Expansion of `$(NAME)` in values, command lines and sub paths to the value of a variable. `$$` is a dollar
 * sign, so `$$(NAME)` gives the text `$(NAME)`. Any other `$`, and a reference to an unknown variable, stays
 * as it is.
 */

export class ExpansionError extends Error {}

/**
 * `lookUp` may throw to refuse a name. The length is checked while the result grows: variables that refer to
 * each other can double it at every step.
 */
export function expand(text: string, lookUp: (name: string) => string | undefined, charsMax: number): string {
  let result = '';
  const put = (piece: string): void => {
    if (result.length + piece.length > charsMax)
      throw new ExpansionError(`a value expands to more than ${charsMax} characters`);
    result += piece;
  };
  /**
   * References that begin after this position have no end. Without this check, text full of `$(` would take
   * quadratic time.
   */
  const lastEnd = text.lastIndexOf(')');
  let at = 0;
  for (let dollar = text.indexOf('$'); dollar >= 0; dollar = text.indexOf('$', at)) {
    put(text.slice(at, dollar));
    const next = text[dollar + 1];
    if (next === '(' && dollar < lastEnd) {
      const end = text.indexOf(')', dollar);
      const name = text.slice(dollar + 2, end);
      put(lookUp(name) ?? `$(${name})`);
      at = end + 1;
    } else {
      put('$');
      at = dollar + (next === '$' ? 2 : 1);
    }
  }
  put(text.slice(at));
  return result;
}
