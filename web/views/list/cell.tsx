/** A cell as a person reads it: ages count on, and words for states have a colour beside their text. */
import type { Row } from '../../core/live-table.ts';
import { ageText, shownNow } from '../../ui/age.tsx';
import { toneOf } from '../../ui/tone.ts';

interface CellProps {
  /** The name of its column. */
  readonly name: string;
  readonly value: unknown;
  readonly row: Row;
}

const stateColumns = new Set(['Status', 'Phase', 'Ready', 'Type', 'State', 'Available', 'Reason']);

export function Cell({ name, value, row }: CellProps) {
  if (name === 'Age' && !Number.isNaN(row.createdMs)) return <>{ageText(row.createdMs, shownNow())}</>;
  const text = value === null || value === undefined ? '' : String(value);
  const tone = stateColumns.has(name) ? toneOf(text) : text === '<none>' ? 'quietcell' : undefined;
  return (
    <span class={tone} title={text}>
      {text}
    </span>
  );
}
