/** The difference of two texts, with a few lines around each change. */
import { useMemo } from 'preact/hooks';
import { type DiffLine, lineDiff } from '../core/text/line-diff.ts';

const around = 3;
const linesMax = 1_500;

interface DiffProps {
  readonly before: string;
  readonly after: string;
  /** What it is a difference of, where there are several. */
  readonly of?: string;
}

export function Diff({ before, after, of }: DiffProps) {
  const lines = useMemo(() => shortened(lineDiff(before, after)), [before, after]);
  if (lines.length === 0) return <p class="quiet">Nothing that people wrote has changed.</p>;
  return (
    <pre class="diff" tabIndex={0} role="region" aria-label={of ? `What changed in ${of}` : 'What changed'}>
      {lines.slice(0, linesMax).map((line, i) => (
        <span key={i} class={line.kind}>
          {line.kind === 'gap'
            ? '⋯'
            : `${line.kind === 'added' ? '+' : line.kind === 'removed' ? '−' : ' '} ${line.text}`}
          {'\n'}
        </span>
      ))}
      {lines.length > linesMax && <span class="gap">and {lines.length - linesMax} more lines</span>}
    </pre>
  );
}

type ShownLine = DiffLine | { readonly kind: 'gap'; readonly text: string };

/** Leaves out what is the same on both sides, except near changes. */
function shortened(all: readonly DiffLine[]): ShownLine[] {
  const last = all.at(-1);
  // Skip the empty line after the last line feed.
  const lines = last?.kind === 'same' && last.text === '' ? all.slice(0, -1) : all;
  const near = new Set<number>();
  lines.forEach(({ kind }, at) => {
    if (kind !== 'same') for (let i = at - around; i <= at + around; i++) near.add(i);
  });
  if (near.size === 0) return [];
  const out: ShownLine[] = [];
  lines.forEach((line, at) => {
    if (near.has(at)) out.push(line);
    else if (out.at(-1)?.kind !== 'gap') out.push({ kind: 'gap', text: '' });
  });
  return out;
}
