/** The widths of columns as a style sheet: one rule for a column, and nothing to set on its cells. */
import { useRef } from 'preact/hooks';
import type { Row } from '../../core/live-table.ts';
import { textOf } from './cell.tsx';
import { ColumnWidths, isLong, leastWidths, measuredBy } from './column-widths.ts';
import { type ListColumn, narrowBelow, windowWidth } from './columns.ts';

const pickPx = 36;
/** Padding of cells on both sides: see tables.css. */
const aroundPx = (): number => (windowWidth.value <= 760 ? 12 : 24);
/** What stands around the table on both sides: see page.css. */
const besidePx = 42;
const longestAge = '99d23h';

let sheet: CSSStyleSheet | undefined;
const widthOf = measuredBy((text) => context().measureText(text).width);

let drawing: CanvasRenderingContext2D | undefined;
function context(): CanvasRenderingContext2D {
  if (!drawing) {
    drawing = document.createElement('canvas').getContext('2d')!;
    drawing.font = `14px ${getComputedStyle(document.body).fontFamily}`;
  }
  return drawing;
}

const readerOf =
  ({ name, read }: ListColumn) =>
  (row: Row): string =>
    name === 'Age' ? longestAge : textOf(read(row));

/** Whether a text may be longer than its column. */
export const isCut = (text: string): boolean => isLong(text, widthOf);

interface Shown {
  readonly key: string;
  shown: readonly ListColumn[];
  readonly of: ColumnWidths;
  /** Rows that there were when some of them were looked at. */
  sampled: number;
}

/** Gives the columns of the table that is shown their widths. `drawn`: the rows in sight. */
export function useColumnSheet(
  shown: readonly ListColumn[],
  withNamespace: boolean,
  selectable: boolean,
  rows: readonly Row[],
  drawn: readonly Row[],
): void {
  const state = useRef<Shown>(undefined);
  const around = aroundPx();
  if (windowWidth.value <= narrowBelow) return;
  const names = [...(withNamespace ? ['Namespace'] : []), ...shown.map(({ name }) => name)];
  const room =
    (document.querySelector('#view')?.clientWidth ?? windowWidth.value) -
    besidePx -
    (selectable ? pickPx : 0) -
    names.length * around;
  const key = [selectable, around, room, ...names].join();
  const readers = [...(withNamespace ? [(row: Row) => row.namespace ?? ''] : []), ...shown.map(readerOf)];
  const isNew = state.current?.key !== key;
  if (isNew) state.current = { key, shown, of: new ColumnWidths(readers, names, widthOf), sampled: 0 };
  const now = state.current!;
  if (now.shown !== shown) now.of.readBy(readers);
  now.shown = shown;
  // A list comes in pages.
  const isLonger = rows.length > 2 * now.sampled;
  if (isLonger) now.sampled = rows.length;
  const isWider = [isLonger && now.of.sample(rows), now.of.see(drawn)].some(Boolean);
  if (isNew || isWider) {
    const { widths } = now.of;
    write(widths, leastWidths(widths, room, withNamespace), around, selectable);
  }
}

function write(
  widths: readonly number[],
  least: readonly number[],
  around: number,
  selectable: boolean,
): void {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  }
  const rules = widths.map((width, at) => {
    const px = width + around;
    return `.rows tr>:nth-child(${at + 1 + Number(selectable)}){flex:${px} 1 ${px}px;min-width:${least[at]! + around}px}`;
  });
  const all = least.reduce((sum, width) => sum + width + around, selectable ? pickPx : 0);
  sheet.replaceSync(`@media(min-width:${narrowBelow + 1}px){.rows{min-width:${all}px}${rules.join('')}}`);
}
