/** One row of a table. It is drawn again only when something of it has changed, not with every frame that scrolls. */
import { Component } from 'preact';
import type { Row } from '../../core/live-table.ts';
import { Link } from '../../ui/link.tsx';
import { cellOf, textOf } from './cell.tsx';
import { isCut } from './column-sheet.ts';
import { type ListColumn, states } from './columns.ts';

/** Said outright, because rows that are not laid out as a table lose what its elements mean. */
export const roles = {
  table: { role: 'table' },
  rowgroup: { role: 'rowgroup' },
  row: { role: 'row' },
  head: { role: 'columnheader' },
  cell: { role: 'cell' },
} as const;

interface LineProps {
  readonly row: Row;
  readonly index: number;
  readonly shown: readonly ListColumn[];
  readonly withNamespace: boolean;
  /** The namespace is shown above the name. */
  readonly withPrefix: boolean;
  readonly selectable: boolean;
  readonly isSelected: boolean;
  readonly isCursor: boolean;
  /** The same function for all rows and all times, as is `addressOf`. */
  readonly onToggle: (row: Row) => void;
  readonly addressOf: (row: Row) => readonly string[];
}

/**
 * A component that compares, and no memoized element: children of an element that Preact finds unchanged keep pointing to
 * the tree in which they were made, and every tree to the one before it, so that none of them is ever freed.
 */
export class TableLine extends Component<LineProps> {
  /** The drawn mark, because marks change within a row. */
  #drawnMark: Row['mark'];

  override shouldComponentUpdate(next: LineProps): boolean {
    const { props } = this;
    return next.row.mark !== this.#drawnMark || compared.some((name) => next[name] !== props[name]);
  }

  override render() {
    this.#drawnMark = this.props.row.mark;
    return drawn(this.props);
  }
}

const compared = [
  'row',
  'index',
  'shown',
  'withNamespace',
  'withPrefix',
  'selectable',
  'isSelected',
  'isCursor',
] as const;

function drawn(props: LineProps) {
  const { row, index, shown, withNamespace, withPrefix, selectable, isSelected, isCursor } = props;
  const { onToggle, addressOf } = props;
  const hasState = shown.some(({ name }) => states.test(name));
  const state = [
    row.deleting || row.mark === 'gone' ? 'dying' : '',
    row.mark ?? '',
    isCursor ? 'cursor' : '',
  ];
  return (
    <tr
      {...roles.row}
      class={state.join(' ').trim()}
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      data-name={row.name}
    >
      {selectable && (
        <td {...roles.cell} class="pick">
          <input
            type="checkbox"
            aria-label={`Select ${row.name}${withNamespace || withPrefix ? ` in ${row.namespace}` : ''}`}
            checked={isSelected}
            onChange={() => onToggle(row)}
          />
        </td>
      )}
      {withNamespace && (
        <td {...roles.cell} class="quiet cut" title={row.namespace}>
          {row.namespace}
        </td>
      )}
      {shown.map((column, i) => {
        const value = column.read(row);
        const text = textOf(i === 0 ? (value ?? row.name) : value);
        const cut = isCut(text);
        const kind = i === 0 ? 'first' : states.test(column.name) ? 'state' : undefined;
        return (
          <td
            key={column.name}
            {...roles.cell}
            class={cut ? `cut ${kind ?? ''}` : kind}
            title={cut ? text : undefined}
            data-label={column.name}
          >
            {i === 0 ? (
              <>
                {withPrefix && row.namespace && <span class="quiet above">{row.namespace}</span>}
                <Link to={addressOf(row)}>{text}</Link>
              </>
            ) : (
              cellOf(column.name, text, row, hasState)
            )}
          </td>
        );
      })}
    </tr>
  );
}
