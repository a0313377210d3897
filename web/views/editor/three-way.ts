/** Merges two changes of one text, line by line. Where both changed the same lines in different ways, it is a conflict. */
import { lineDiff } from '../../core/text/line-diff.ts';

export type Piece =
  | { readonly kind: 'same' | 'mine' | 'theirs' | 'both'; readonly lines: readonly string[] }
  | {
      readonly kind: 'conflict';
      readonly base: readonly string[];
      readonly mine: readonly string[];
      readonly theirs: readonly string[];
    };

/** Lines of the base from `from` to before `to` are replaced. */
interface Change {
  from: number;
  to: number;
  readonly lines: string[];
}

export function mergeThree(base: string, mine: string, theirs: string): readonly Piece[] {
  const lines = base.split('\n');
  const left = changesOf(base, mine);
  const right = changesOf(base, theirs);
  const pieces: Piece[] = [];
  let at = 0;
  while (left.length || right.length) {
    const from = Math.min(left[0]?.from ?? Infinity, right[0]?.from ?? Infinity);
    if (from > at) pieces.push({ kind: 'same', lines: lines.slice(at, from) });
    let to = from;
    const mineHere: Change[] = [];
    const theirsHere: Change[] = [];
    // Changes that touch belong together.
    for (let grown = true; grown; ) {
      grown = false;
      for (const [queue, taken] of [
        [left, mineHere],
        [right, theirsHere],
      ] as const)
        while (queue[0] && queue[0].from <= to) {
          const change = queue.shift()!;
          taken.push(change);
          to = Math.max(to, change.to);
          grown = true;
        }
    }
    pieces.push(pieceOf(lines, from, to, mineHere, theirsHere));
    at = to;
  }
  if (at < lines.length) pieces.push({ kind: 'same', lines: lines.slice(at) });
  return pieces;
}

function pieceOf(
  lines: readonly string[],
  from: number,
  to: number,
  mine: readonly Change[],
  theirs: readonly Change[],
): Piece {
  const applied = (changes: readonly Change[]): string[] => {
    const out: string[] = [];
    let at = from;
    for (const change of changes) {
      out.push(...lines.slice(at, change.from), ...change.lines);
      at = change.to;
    }
    return [...out, ...lines.slice(at, to)];
  };
  const [left, right] = [applied(mine), applied(theirs)];
  if (mine.length === 0) return { kind: 'theirs', lines: right };
  if (theirs.length === 0) return { kind: 'mine', lines: left };
  if (left.join('\n') === right.join('\n')) return { kind: 'both', lines: left };
  return { kind: 'conflict', base: lines.slice(from, to), mine: left, theirs: right };
}

function changesOf(before: string, after: string): Change[] {
  const changes: Change[] = [];
  let at = 0;
  let open: Change | undefined;
  for (const { kind, text } of lineDiff(before, after)) {
    if (kind === 'same') {
      open = undefined;
      at++;
      continue;
    }
    if (!open) changes.push((open = { from: at, to: at, lines: [] }));
    if (kind === 'added') open.lines.push(text);
    else open.to = ++at;
  }
  return changes;
}

/** The text with a side chosen for each conflict, in order. */
export function mergedText(pieces: readonly Piece[], sides: readonly ('mine' | 'theirs')[]): string {
  let conflict = 0;
  return pieces
    .flatMap((piece) => (piece.kind === 'conflict' ? piece[sides[conflict++] ?? 'mine'] : piece.lines))
    .join('\n');
}
