/** Lines of samples for a chart: added up over nodes, and averaged so that they have few points. */

export interface Line {
  readonly container?: string;
  readonly figure: string;
  readonly values: readonly (number | null)[];
}

/** One line per figure: the sum at each time over all lines that have a sample then. */
export function summed(
  lines: Iterable<{ readonly figure: string; readonly values: () => readonly (number | null)[] }>,
): Line[] {
  const sums = new Map<string, (number | null)[]>();
  for (const { figure, values } of lines) {
    const sum = sums.get(figure);
    const own = values();
    if (!sum) sums.set(figure, [...own]);
    else for (const [i, value] of own.entries()) if (value !== null) sum[i] = (sum[i] ?? 0) + value;
  }
  return Array.from(sums, ([figure, values]) => ({ figure, values }));
}

/**
 * Times in seconds and lines with at most so many points. A point stands for several samples in a row: their last time
 * and the mean of those that are there; of a longest, the longest.
 */
export function averaged(
  timesMs: readonly number[],
  lines: readonly Line[],
  points: number,
): { readonly times: readonly number[]; readonly items: readonly Line[] } {
  const size = Math.max(1, Math.ceil(timesMs.length / points));
  const starts = Array.from({ length: Math.ceil(timesMs.length / size) }, (_, i) => i * size);
  return {
    times: starts.map((start) => timesMs[Math.min(start + size, timesMs.length) - 1]! / 1_000),
    items: lines.map(({ values, ...line }) => {
      const join = line.figure.startsWith('longest') ? longest : mean;
      return { ...line, values: starts.map((start) => join(values.slice(start, start + size))) };
    }),
  };
}

const there = (values: readonly (number | null)[]): number[] => values.filter((value) => value !== null);

function mean(values: readonly (number | null)[]): number | null {
  const known = there(values);
  return known.length ? Math.round(known.reduce((sum, value) => sum + value, 0) / known.length) : null;
}

function longest(values: readonly (number | null)[]): number | null {
  const known = there(values);
  return known.length ? Math.max(...known) : null;
}
