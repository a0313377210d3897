/** Durations as Go writes them: `1m30s`. */
const unitsMs: Record<string, number> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** A Go duration such as `1m30s`, in milliseconds; undefined for any other text. */
export function parseDurationMs(text: string): number | undefined {
  if (text === '0') return 0;
  let total = 0;
  let rest = text.replace(/^[+-]/, '');
  if (!rest || rest.length > 64) return undefined;
  while (rest) {
    const part = /^(\d+\.?\d*|\.\d+)(ns|us|\u00b5s|ms|s|m|h)/.exec(rest);
    if (!part) return undefined;
    total += Number(part[1]) * unitsMs[part[2]!]!;
    rest = rest.slice(part[0].length);
  }
  return text.startsWith('-') ? -total : total;
}
