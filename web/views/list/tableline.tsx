/** One row of a table. It is drawn again only when something of it has changed, not with every frame that scrolls. */
import { useMemo } from 'preact/hooks';
import type { Row } from '../../core/livetable.ts';
import type { TableColumn } from '../../core/objects.ts';
import { Link } from '../../ui/link.tsx';
import { Cell } from './cell.tsx';

interface ShownColumn {
  readonly column: TableColumn;
  /** Its place in the cells of rows. */
  readonly at: number;
}

interface LineProps {
  readonly row: Row;
  readonly index: number;
  readonly shown: readonly ShownColumn[];
  readonly withNamespace: boolean;
  readonly selectable: boolean;
  readonly isSelected: boolean;
  readonly isCursor: boolean;
  /** The same function for all rows and all times, as is `addressOf`. */
  readonly onToggle: (row: Row) => void;
  readonly addressOf: (row: Row) => readonly string[];
}

export function TableLine(props: LineProps) {
  const { row, index, shown, withNamespace, selectable, isSelected, isCursor } = props;
  return useMemo(
    () => drawn(props),
    [row, row.mark, index, shown, withNamespace, selectable, isSelected, isCursor],
  );
}

function drawn(props: LineProps) {
  const { row, index, shown, withNamespace, selectable, isSelected, isCursor, onToggle, addressOf } = props;
  const state = [
    row.deleting || row.mark === 'gone' ? 'dying' : '',
    row.mark ?? '',
    isCursor ? 'cursor' : '',
  ];
  return (
    <tr class={state.join(' ')} aria-rowindex={index + 2} aria-selected={isSelected} data-name={row.name}>
      {selectable && (
        <td class="pick">
          <input
            type="checkbox"
            aria-label={`Select ${row.name}`}
            checked={isSelected}
            onChange={() => onToggle(row)}
          />
        </td>
      )}
      {withNamespace && <td class="quiet">{row.namespace}</td>}
      {shown.map(({ column, at }, i) => (
        <td key={column.name}>
          {i === 0 ? (
            <Link to={addressOf(row)}>{String(row.cells[at] ?? row.name)}</Link>
          ) : (
            <Cell column={column} value={row.cells[at]} row={row} />
          )}
        </td>
      ))}
    </tr>
  );
}
