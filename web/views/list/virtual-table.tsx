/** A table that draws only the rows in sight, so that 50,000 of them scroll as smoothly as fifty. */
import {
  elementScroll,
  observeElementOffset,
  observeElementRect,
  Virtualizer,
  type VirtualizerOptions,
} from '@tanstack/virtual-core';
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Row } from '../../core/live-table.ts';
import { useColumnSheet } from './column-sheet.ts';
import { type ListColumn, narrowBelow, windowWidth } from './columns.ts';
import { RowSlots } from './row-slots.ts';
import { roles, TableLine } from './table-line.tsx';

const rowHeight = 32;
/** Cards: see tables.css. */
const narrowRowHeight = 72;
const overscan = 6;

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
  const virtualizer = useVirtualizer(rows.length, box);
  const narrow = windowWidth.value < narrowBelow;
  useLayoutEffect(() => virtualizer.measure(), [narrow]);
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
  useEffect(() => {
    const at = rows.findIndex(({ uid }) => uid === cursor);
    if (at >= 0) virtualizer.scrollToIndex(at, { align: 'auto' });
  }, [cursor]);
  const items = virtualizer.getVirtualItems();
  const before = items[0]?.start ?? 0;
  const after = virtualizer.getTotalSize() - (items.at(-1)?.end ?? 0);
  const width = shown.length + Number(withNamespace) + Number(selectable);
  const all = rows.length > 0 && selected.size >= rows.length && rows.every(({ uid }) => selected.has(uid));
  const [slots] = useState(() => new RowSlots());
  const drawn = items.flatMap(({ index }) => (rows[index] ? [{ row: rows[index], index }] : []));
  const keys = slots.assign(drawn.map(({ row }) => row.uid));
  useColumnSheet(
    shown,
    withNamespace,
    selectable,
    rows,
    drawn.map(({ row }) => row),
  );
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
          {drawn.map(({ row, index }, at) => (
            <TableLine
              key={keys[at]}
              row={row}
              index={index}
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

/** The library's virtualizer, drawn anew when it says so. */
function useVirtualizer(count: number, box: { readonly current: HTMLDivElement | null }) {
  const [, draw] = useState(0);
  const [virtualizer] = useState(
    () =>
      new Virtualizer<HTMLDivElement, HTMLTableRowElement>(optionsOf(count, box, () => draw((n) => n + 1))),
  );
  virtualizer.setOptions(optionsOf(count, box, () => draw((n) => n + 1)));
  useLayoutEffect(() => virtualizer._didMount(), [virtualizer]);
  useLayoutEffect(() => virtualizer._willUpdate());
  return virtualizer;
}

const optionsOf = (
  count: number,
  box: { readonly current: HTMLDivElement | null },
  onChange: () => void,
): VirtualizerOptions<HTMLDivElement, HTMLTableRowElement> => ({
  count,
  getScrollElement: () => box.current,
  estimateSize: sizeOfRow,
  overscan,
  scrollToFn: elementScroll,
  observeElementRect,
  observeElementOffset,
  onChange,
});
