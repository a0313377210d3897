/** A table that draws only the rows in sight, so that 50,000 of them scroll as smoothly as fifty. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Row } from '../../core/live-table.ts';
import { useColumnSheet } from './column-sheet.ts';
import { type ListColumn, narrowBelow, windowWidth } from './columns.ts';
import { RowSlots } from './row-slots.ts';
import { bringIntoSight, useRowWindow } from './row-window.ts';
import { roles, TableLine } from './table-line.tsx';

const rowHeight = 32;
/** Cards: see tables.css. */
const narrowRowHeight = 72;

/** Rows that fit the table that is shown. */
export const rowsInSight = (): number =>
  Math.max(1, Math.floor((document.querySelector('.tablebox')?.clientHeight ?? 0) / sizeOfRow()) - 2);

const sizeOfRow = (): number => (windowWidth.peek() < narrowBelow ? narrowRowHeight : rowHeight);

interface VirtualTableProps {
  readonly label: string;
  readonly rows: readonly Row[];
  /** Those that are shown. */
  readonly columns: readonly ListColumn[];
  readonly withNamespace: boolean;
  readonly sort: string;
  readonly onSort: (sort: string) => void;
  readonly selected: ReadonlySet<string>;
  readonly onSelect: (selected: ReadonlySet<string>) => void;
  readonly selectable: boolean;
  readonly cursor: string | undefined;
  readonly addressOf: (row: Row) => readonly string[];
  /** What is said when there are no rows. */
  readonly empty: ComponentChildren;
}

export function VirtualTable(props: VirtualTableProps) {
  const { label, rows, columns: shown, selected, onSelect, selectable, cursor } = props;
  const box = useRef<HTMLDivElement>(null);
  const narrow = windowWidth.value < narrowBelow;
  const height = sizeOfRow();
  const { first, end } = useRowWindow(box, height, rows.length);
  useEffect(() => {
    const at = rows.findIndex(({ uid }) => uid === cursor);
    if (at >= 0) bringIntoSight(box.current!, at * height, height);
  }, [cursor]);
  const withNamespace = props.withNamespace && !narrow;
  const latest = useRef(props);
  latest.current = props;
  const [lines] = useState(() => ({
    addressOf: (row: Row) => latest.current.addressOf(row),
    onToggle: ({ uid }: Row) => {
      const next = new Set(latest.current.selected);
      if (!next.delete(uid)) next.add(uid);
      latest.current.onSelect(next);
    },
  }));
  const before = first * height;
  const after = (rows.length - end) * height;
  const width = shown.length + Number(withNamespace) + Number(selectable);
  const all = rows.length > 0 && selected.size >= rows.length && rows.every(({ uid }) => selected.has(uid));
  const [slots] = useState(() => new RowSlots());
  const drawn = rows.slice(first, end);
  const keys = slots.assign(drawn.map(({ uid }) => uid));
  useColumnSheet(shown, withNamespace, selectable, rows, drawn);
  return (
    <div class="tablebox" ref={box} tabIndex={0} role="region" aria-label={label}>
      <table {...roles.table} class="rows" aria-rowcount={rows.length + 1}>
        <thead {...roles.rowgroup}>
          <tr {...roles.row} aria-rowindex={1}>
            {selectable && (
              <th {...roles.head} class="pick">
                <input
                  type="checkbox"
                  aria-label="Select all"
                  checked={all}
                  onChange={() => onSelect(new Set(all ? [] : rows.map(({ uid }) => uid)))}
                />
              </th>
            )}
            {withNamespace && <SortHead name="Namespace" {...props} />}
            {shown.map(({ name, description }) => (
              <SortHead key={name} name={name} title={description} {...props} />
            ))}
          </tr>
        </thead>
        <tbody {...roles.rowgroup}>
          {before > 0 && <Filler height={before} span={width} />}
          {drawn.map((row, at) => (
            <TableLine
              key={keys[at]}
              row={row}
              index={first + at}
              shown={shown}
              withNamespace={withNamespace}
              withPrefix={props.withNamespace && narrow}
              selectable={selectable}
              isSelected={selected.has(row.uid)}
              isCursor={row.uid === cursor}
              {...lines}
            />
          ))}
          {after > 0 && <Filler height={after} span={width} />}
        </tbody>
      </table>
      {rows.length === 0 && <p class="waiting">{props.empty}</p>}
    </div>
  );
}

function Filler({ height, span }: { readonly height: number; readonly span: number }) {
  return (
    <tr class="filler">
      <td colSpan={span} ref={(cell) => void cell?.style.setProperty('height', `${height}px`)} />
    </tr>
  );
}

function SortHead({ name, title, sort, onSort }: VirtualTableProps & { name: string; title?: string }) {
  const up = sort === name;
  const down = sort === `-${name}`;
  return (
    <th {...roles.head} aria-sort={up ? 'ascending' : down ? 'descending' : undefined}>
      <button
        type="button"
        class="plain"
        title={title}
        onClick={() => onSort(up ? `-${name}` : down ? '' : name)}
      >
        {name}
        <span aria-hidden="true">{up ? ' ▲' : down ? ' ▼' : ''}</span>
      </button>
    </th>
  );
}
