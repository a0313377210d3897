/** Durations as Go writes them: `1h30m`, `500ms`, `0`. */

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};
const part = /(\d+(?:\.\d*)?|\.\d+)(ns|us|\u00b5s|ms|s|m|h)/y;

/** undefined: not a duration. */
export function durationMs(text: string): number | undefined {
  const sign = text.startsWith('-') ? -1 : 1;
  const rest = text.replace(/^[+-]/, '');
  if (rest === '0') return 0;
  let sum = 0;
  let at = 0;
  while (at < rest.length) {
    part.lastIndex = at;
    const found = part.exec(rest);
    if (!found) return undefined;
    sum += Number(found[1]) * unitMs[found[2]!]!;
    at = part.lastIndex;
  }
  return at === 0 ? undefined : sign * sum;
}
