/** A cell as a person reads it: ages count on, and words for states have a colour beside their text. */
import type { Row } from '../../core/live-table.ts';
import type { TableColumn } from '../../core/objects.ts';
import { ageText, shownNow } from '../../ui/age.tsx';
import { toneOf } from '../../ui/tone.ts';

interface CellProps {
  readonly column: TableColumn;
  readonly value: unknown;
  readonly row: Row;
}

const stateColumns = new Set(['Status', 'Phase', 'Ready', 'Type', 'State', 'Available', 'Reason']);

export function Cell({ column, value, row }: CellProps) {
  if (column.name === 'Age' && !Number.isNaN(row.createdMs)) return <>{ageText(row.createdMs, shownNow())}</>;
  const text = value === null || value === undefined ? '' : String(value);
  const tone = stateColumns.has(column.name) ? toneOf(text) : undefined;
  return (
    <span class={tone} title={text}>
      {text}
    </span>
  );
}
