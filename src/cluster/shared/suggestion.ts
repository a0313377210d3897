/** Suggests the known name nearest to an unknown one. */

/** Longer names are not compared: the time is quadratic in the length. */
const nameCharsMax = 64;
/** One mistake is allowed per this many characters, and always at least one. */
const charsPerMistake = 3;

/** The known name that is nearest to a mistyped one; undefined when none is near. */
export function nearestName(typed: string, known: Iterable<string>): string | undefined {
  if (typed.length > nameCharsMax) return undefined;
  let nearest: string | undefined;
  let best = Math.max(1, Math.floor(typed.length / charsPerMistake)) + 1;
  for (const name of known) {
    // A prefix counts as one mistake.
    const distance = name.startsWith(typed) && typed.length > 1 ? 1 : mistakes(typed, name);
    if (distance >= best) continue;
    best = distance;
    nearest = name;
  }
  return nearest;
}

/** Edit distance: characters missing, added, wrong, or swapped with the next; case does not count. */
function mistakes(a: string, b: string): number {
  const [from, to] = [a.toLowerCase(), b.toLowerCase()];
  let before: number[] = [];
  let above = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      let cost = Math.min(above[column]! + 1, current[column - 1]! + 1, above[column - 1]! + (same ? 0 : 1));
      if (row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1])
        cost = Math.min(cost, before[column - 2]! + 1);
      current.push(cost);
    }
    [before, above] = [above, current];
  }
  return above[to.length]!;
}
