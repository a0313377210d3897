/**
 * The filtered and sorted rows of a table. A change of a few rows is inserted in place, without sorting or searching
 * the others again, so that a table of 50,000 rows takes a hundred changes a second without a pause.
 */
import type { Change, Row } from '../../core/live-table.ts';
import type { ListColumn } from './columns.ts';
import { type LabelTest, labelTest } from './labels.ts';
import { type RowState, rowStates } from './row-state.ts';

export interface Wish {
  /** All words must occur in a cell or in the namespace. */
  readonly text: string;
  readonly labels: string;
  /** The name of a column, with `-` before it for the other direction; '' for problems first, then by name. */
  readonly sort: string;
  /** `failing`, `waiting` or `well`; '' for all. */
  readonly state: string;
}

type SortColumn = Pick<ListColumn, 'name' | 'read' | 'order'>;

type SortKey = number | string;

/** A row with values computed once. */
interface Entry {
  row: Row;
  key: SortKey;
  /** Whether words and labels fit. */
  fits: boolean;
  state: RowState | undefined;
  /** The text for searches, in lower case; computed at the first search. */
  text: string | undefined;
}

type Fits = (entry: Entry) => boolean;

/** Changes up to this many are put in one by one, each by a binary search; more are merged in one pass. */
const fewMax = 200;

export class RowView {
  /** Those that fit, in order; a new array with every change. */
  rows: readonly Row[] = [];
  /** How many of those that fit, of any state, are in each state. */
  counts: Readonly<Record<RowState, number>> = { failing: 0, waiting: 0, well: 0 };
  readonly #entries = new Map<string, Entry>();
  readonly #keyOf: (row: Row) => SortKey;
  readonly #direction: 1 | -1;
  #ordered: Entry[] = [];
  #fits: Fits;

  constructor(
    all: Iterable<Row>,
    private wish: Wish,
    columns: readonly SortColumn[],
    private readonly stateOf: (row: Row) => RowState | undefined = () => undefined,
  ) {
    this.#direction = wish.sort.startsWith('-') ? -1 : 1;
    this.#fits = filterOf(wish);
    this.#keyOf = wish.sort === '' ? this.#problemsFirst : sortKeyOf(wish.sort.replace(/^-/, ''), columns);
    this.#ordered = Array.from(all, (row) => this.#add(row)).sort(this.#compare);
    this.#tell();
  }

  /** Applies another search, in the same order. */
  filter(wish: Wish): void {
    const { wish: before } = this;
    this.wish = wish;
    if (wish.text !== before.text || wish.labels !== before.labels) {
      this.#fits = filterOf(wish);
      for (const entry of this.#ordered) entry.fits = this.#fits(entry);
    } else if (wish.state === before.state) return;
    this.#tell();
  }

  apply({ put, removed }: Change): void {
    if (put.length === 0 && removed.length === 0) return;
    const leaving = new Set<Entry>();
    const coming: Entry[] = [];
    for (const uid of removed) {
      const entry = this.#entries.get(uid);
      if (entry) leaving.add(entry);
      this.#entries.delete(uid);
    }
    for (const row of put) {
      const entry = this.#entries.get(row.uid);
      if (entry?.key === this.#keyOf(row) && byName(entry.row, row) === 0) this.#renew(entry, row);
      else {
        if (entry) leaving.add(entry);
        coming.push(this.#add(row));
      }
    }
    if (leaving.size + coming.length <= fewMax) this.#move(leaving, coming);
    else {
      const kept = leaving.size ? this.#ordered.filter((entry) => !leaving.has(entry)) : this.#ordered;
      this.#ordered = merged(kept, coming.sort(this.#compare), this.#compare);
    }
    this.#tell();
  }

  #add(row: Row): Entry {
    const entry: Entry = {
      row,
      key: this.#keyOf(row),
      fits: true,
      state: this.stateOf(row),
      text: undefined,
    };
    entry.fits = this.#fits(entry);
    this.#entries.set(row.uid, entry);
    return entry;
  }

  /** Updates a row whose position stays the same. */
  #renew(entry: Entry, row: Row): void {
    entry.row = row;
    entry.text = undefined;
    entry.state = this.stateOf(row);
    entry.fits = this.#fits(entry);
  }

  #move(leaving: ReadonlySet<Entry>, coming: readonly Entry[]): void {
    for (const entry of leaving) {
      // Two rows may have the same name: one of them belongs to a deleted object.
      this.#ordered.splice(this.#ordered.indexOf(entry, this.#placeOf(entry)), 1);
    }
    for (const entry of coming) this.#ordered.splice(this.#placeOf(entry), 0, entry);
  }

  /** The first position whose entry is not before this one. */
  #placeOf(entry: Entry): number {
    let [low, high] = [0, this.#ordered.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#compare(this.#ordered[middle]!, entry) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #tell(): void {
    const rows: Row[] = [];
    const counts = { failing: 0, waiting: 0, well: 0 };
    const { state: wanted } = this.wish;
    for (const { row, fits, state } of this.#ordered) {
      if (!fits) continue;
      if (state) counts[state]++;
      if (wanted === '' || state === wanted) rows.push(row);
    }
    this.rows = rows;
    this.counts = counts;
  }

  readonly #problemsFirst = (row: Row): SortKey => {
    const state = this.stateOf(row);
    // What is well stands with what has no state.
    return state && state !== 'well' ? rowStates.indexOf(state) : rowStates.length;
  };

  readonly #compare = (a: Entry, b: Entry): number => {
    if (a.key === b.key) return byName(a.row, b.row);
    // Numbers come before text, so that the order is total.
    const isBefore = typeof a.key === typeof b.key ? a.key < b.key : typeof a.key === 'number';
    return isBefore ? -this.#direction : this.#direction;
  };
}

function byName(a: Row, b: Row): number {
  const one = a.namespace ?? '';
  const other = b.namespace ?? '';
  if (one !== other) return one < other ? -1 : 1;
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

function merged(a: readonly Entry[], b: readonly Entry[], compare: (a: Entry, b: Entry) => number): Entry[] {
  const out: Entry[] = [];
  let i = 0;
  for (const entry of b) {
    while (i < a.length && compare(a[i]!, entry) <= 0) out.push(a[i++]!);
    out.push(entry);
  }
  while (i < a.length) out.push(a[i++]!);
  return out;
}

function filterOf({ text, labels }: Wish): Fits {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const test: LabelTest | undefined = labels.trim() ? labelTest(labels) : undefined;
  if (words.length === 0 && !test) return () => true;
  return (entry) => {
    const { row } = entry;
    if (test && !test(row.labels ?? {})) return false;
    if (words.length === 0) return true;
    entry.text ??= `${row.namespace ?? ''} ${row.name} ${row.cells.join(' ')}`.toLowerCase();
    const { text: searched } = entry;
    return words.every((word) => searched.includes(word));
  };
}

function sortKeyOf(name: string, columns: readonly SortColumn[]): (row: Row) => SortKey {
  if (name === 'Namespace') return ({ namespace }) => namespace ?? '';
  // The youngest has the smallest age.
  if (name === 'Age') return ({ createdMs }) => (Number.isNaN(createdMs) ? Infinity : -createdMs);
  const column = columns.find((each) => each.name === name);
  if (!column) return () => 0;
  return column.order ?? ((row) => cellKey(column.read(row)));
}

/** Numbers, `2/3` and `10 (5m ago)` by their first number, all else as text. */
export function cellKey(cell: unknown): SortKey {
  if (typeof cell === 'number') return cell;
  const text = String(cell ?? '');
  const number = /^(-?\d+(?:\.\d+)?)(?:$|[/%\s(])/.exec(text);
  return number ? Number(number[1]) : text.toLowerCase();
}
