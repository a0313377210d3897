/** Differences of two texts, line by line: the shortest edit, by Myers' algorithm, under a bound on work. */

export interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed';
  readonly text: string;
}

/** Edits beyond which the texts count as wholly different. */
const editsMax = 500;

export function lineDiff(before: string, after: string): DiffLine[] {
  const a = before.split('\n');
  const b = after.split('\n');
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const same = (lines: readonly string[]): DiffLine[] => lines.map((text) => ({ kind: 'same', text }));
  return [
    ...same(a.slice(0, head)),
    ...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...same(a.slice(a.length - tail)),
  ];
}

function middle(a: readonly string[], b: readonly string[]): DiffLine[] {
  const trace = edits(a, b);
  if (!trace)
    return [
      ...a.map((text): DiffLine => ({ kind: 'removed', text })),
      ...b.map((text): DiffLine => ({ kind: 'added', text })),
    ];
  const lines: DiffLine[] = [];
  let [x, y] = [a.length, b.length];
  for (let d = trace.length - 1; d >= 0; d--) {
    const furthest = trace[d]!;
    const k = x - y;
    const down = k === -d || (k !== d && furthest.get(k - 1)! < furthest.get(k + 1)!);
    const from = down ? k + 1 : k - 1;
    const startX = d === 0 ? 0 : furthest.get(from)!;
    const startY = startX - from;
    while (x > Math.max(startX, 0) && y > Math.max(startY, 0) && a[x - 1] === b[y - 1]) {
      lines.push({ kind: 'same', text: a[--x]! });
      y--;
    }
    if (d === 0) break;
    if (down) lines.push({ kind: 'added', text: b[--y]! });
    else lines.push({ kind: 'removed', text: a[--x]! });
  }
  return lines.reverse();
}

/** The furthest points per number of edits; undefined when there are too many. */
function edits(a: readonly string[], b: readonly string[]): Map<number, number>[] | undefined {
  const furthest = new Map([[1, 0]]);
  const trace: Map<number, number>[] = [];
  for (let d = 0; d <= Math.min(a.length + b.length, editsMax); d++) {
    trace.push(new Map(furthest));
    for (let k = -d; k <= d; k += 2) {
      const down = k === -d || (k !== d && furthest.get(k - 1)! < furthest.get(k + 1)!);
      let x = down ? furthest.get(k + 1)! : furthest.get(k - 1)! + 1;
      let y = x - k;
      while (x < a.length && y < b.length && a[x] === b[y]) {
        x++;
        y++;
      }
      furthest.set(k, x);
      if (x >= a.length && y >= b.length) return trace;
    }
  }
  return undefined;
}
