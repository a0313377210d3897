/** A conflict as a three-way diff: what both sides changed is merged; where they collide, the user chooses. */
import { useMemo, useState } from 'preact/hooks';
import { mergedText, mergeThree, type Piece } from './three-way.ts';

interface ConflictProps {
  readonly base: string;
  readonly mine: string;
  readonly theirs: string;
  readonly onResolve: (text: string) => void;
  readonly onDiscard: () => void;
}

type Side = 'mine' | 'theirs';

/** Lines shown around what changed. */
const around = 2;

export function Conflict({ base, mine, theirs, onResolve, onDiscard }: ConflictProps) {
  const pieces = useMemo(() => mergeThree(base, mine, theirs), [base, mine, theirs]);
  const conflicts = pieces.filter(({ kind }) => kind === 'conflict').length;
  const [sides, setSides] = useState<readonly (Side | undefined)[]>([]);
  const open = Array.from({ length: conflicts }, (_, i) => sides[i]).filter((side) => !side).length;
  let number = 0;
  return (
    <div class="editing">
      <h2>Another writer changed the object while you edited it</h2>
      <p class="quiet">
        {conflicts === 0
          ? 'Your changes and theirs are about different lines, and fit together.'
          : `${conflicts === 1 ? 'One place was' : `${conflicts} places were`} changed by both. Choose for each what is to stay.`}
      </p>
      <div class="threeway" tabIndex={0} role="region" aria-label="Both changes">
        {pieces.map((piece, i) => {
          if (piece.kind !== 'conflict')
            return <Merged key={i} piece={piece} isFirst={i === 0} isLast={i === pieces.length - 1} />;
          const at = number++;
          const choose = (side: Side): void =>
            setSides(Array.from({ length: conflicts }, (_, j) => (j === at ? side : sides[j])));
          return <Collision key={i} piece={piece} at={at} side={sides[at]} onChoose={choose} />;
        })}
      </div>
      <div class="editbar">
        <button
          type="button"
          class="main"
          disabled={open > 0}
          onClick={() => onResolve(mergedText(pieces, sides as readonly Side[]))}
        >
          Continue with the merged text
        </button>
        <button type="button" onClick={onDiscard}>
          Discard my changes
        </button>
      </div>
    </div>
  );
}

interface MergedProps {
  readonly piece: Exclude<Piece, { kind: 'conflict' }>;
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

const words = { mine: 'you', theirs: 'they', both: 'both', same: '' } as const;

function Merged({ piece: { kind, lines }, isFirst, isLast }: MergedProps) {
  if (kind !== 'same')
    return (
      <pre class={`merged ${kind}`}>
        <span class="who">{words[kind]}</span>
        {lines.length ? lines.join('\n') : '(removed)'}
      </pre>
    );
  const head = isFirst ? [] : lines.slice(0, around);
  const tail = isLast ? [] : lines.slice(Math.max(head.length, lines.length - around));
  const hidden = lines.length - head.length - tail.length;
  return (
    <pre class="merged">
      {[...head, ...(hidden > 0 ? [`⋯ ${hidden} lines that nobody changed`] : []), ...tail].join('\n')}
    </pre>
  );
}

interface CollisionProps {
  readonly piece: Extract<Piece, { kind: 'conflict' }>;
  readonly at: number;
  readonly side: Side | undefined;
  readonly onChoose: (side: Side) => void;
}

function Collision({ piece, at, side, onChoose }: CollisionProps) {
  return (
    <fieldset class="collision">
      <legend>Changed by both</legend>
      <div class="before">
        <h3>Before</h3>
        <Lines
          lines={piece.base}
          others={piece.theirs.filter((line) => piece.mine.includes(line))}
          side="base"
        />
      </div>
      {(['mine', 'theirs'] as const).map((each) => (
        <label key={each} class={side === each ? 'chosen' : undefined}>
          <h3>
            <input
              type="radio"
              name={`conflict ${at}`}
              checked={side === each}
              onChange={() => onChoose(each)}
            />
            {each === 'mine' ? 'Yours' : 'Theirs'}
          </h3>
          <Lines lines={piece[each]} others={piece.base} side={each} />
        </label>
      ))}
    </fieldset>
  );
}

interface LinesProps {
  readonly lines: readonly string[];
  /** Lines that are not among these are highlighted. */
  readonly others: readonly string[];
  readonly side: Side | 'base';
}

function Lines({ lines, others, side }: LinesProps) {
  if (lines.length === 0) return <pre>(removed)</pre>;
  return (
    <pre>
      {lines.map((line, i) =>
        others.includes(line) ? (
          `${line}\n`
        ) : (
          <span key={i} class={`differs ${side}`}>
            {line}
          </span>
        ),
      )}
    </pre>
  );
}
