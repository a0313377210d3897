/**
 * The rows of a table as a person wants to see them: filtered and in order. A change of few rows is merged into what is
 * there, in one pass, so that a table of 50,000 rows takes a hundred changes a second without a pause.
 */
import type { Change, Row } from '../../core/livetable.ts';
import type { TableColumn } from '../../core/objects.ts';
import { type LabelTest, labelTest } from './labels.ts';

export interface Wish {
  /** All words must occur in a cell or in the namespace. */
  readonly text: string;
  readonly labels: string;
  /** The name of a column, with `-` before it for the other direction; '' for namespace and name. */
  readonly sort: string;
}

type SortKey = number | string;

export class RowView {
  rows: readonly Row[] = [];
  readonly #fits: (row: Row) => boolean;
  readonly #keyOf: (row: Row) => SortKey;
  readonly #direction: 1 | -1;
  readonly #keys = new Map<string, SortKey>();

  constructor(all: Iterable<Row>, wish: Wish, columns: readonly TableColumn[]) {
    this.#direction = wish.sort.startsWith('-') ? -1 : 1;
    this.#fits = filterOf(wish);
    this.#keyOf = sortKeyOf(wish.sort.replace(/^-/, ''), columns);
    this.rows = this.#sorted([...all]);
  }

  apply({ put, removed }: Change): void {
    if (put.length === 0 && removed.length === 0) return;
    const changed = new Set(removed);
    for (const { uid } of put) changed.add(uid);
    const kept = this.rows.filter(({ uid }) => !changed.has(uid));
    for (const uid of removed) this.#keys.delete(uid);
    this.rows = merged(kept, this.#sorted(put), this.#compare);
  }

  #sorted(rows: readonly Row[]): Row[] {
    const fitting = rows.filter(this.#fits);
    for (const row of fitting) this.#keys.set(row.uid, this.#keyOf(row));
    return fitting.sort(this.#compare);
  }

  readonly #compare = (a: Row, b: Row): number => {
    const one = this.#keys.get(a.uid)!;
    const other = this.#keys.get(b.uid)!;
    if (one !== other) {
      // Numbers come before text, so that the order is one.
      if (typeof one !== typeof other) return typeof one === 'number' ? -this.#direction : this.#direction;
      return one < other ? -this.#direction : this.#direction;
    }
    return byName(a, b);
  };
}

function byName(a: Row, b: Row): number {
  const one = a.namespace ?? '';
  const other = b.namespace ?? '';
  if (one !== other) return one < other ? -1 : 1;
  return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

function merged(a: readonly Row[], b: readonly Row[], compare: (a: Row, b: Row) => number): readonly Row[] {
  if (b.length === 0) return a;
  const out: Row[] = [];
  let i = 0;
  for (const row of b) {
    while (i < a.length && compare(a[i]!, row) <= 0) out.push(a[i++]!);
    out.push(row);
  }
  while (i < a.length) out.push(a[i++]!);
  return out;
}

function filterOf({ text, labels }: Wish): (row: Row) => boolean {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const test: LabelTest | undefined = labels.trim() ? labelTest(labels) : undefined;
  if (words.length === 0 && !test) return () => true;
  return (row) => {
    if (test && !test(row.labels ?? {})) return false;
    if (words.length === 0) return true;
    const all = `${row.namespace ?? ''} ${row.name} ${row.cells.join(' ')}`.toLowerCase();
    return words.every((word) => all.includes(word));
  };
}

function sortKeyOf(name: string, columns: readonly TableColumn[]): (row: Row) => SortKey {
  if (name === 'Namespace') return ({ namespace }) => namespace ?? '';
  // The youngest has the smallest age.
  if (name === 'Age') return ({ createdMs }) => -createdMs;
  const at = columns.findIndex((column) => column.name === name);
  if (at < 0) return () => 0;
  return ({ cells }) => cellKey(cells[at]);
}

/** Numbers, `2/3` and `10 (5m ago)` by their first number, all else as text. */
export function cellKey(cell: unknown): SortKey {
  if (typeof cell === 'number') return cell;
  const text = String(cell ?? '');
  const number = /^(-?\d+(?:\.\d+)?)(?:$|[/%\s(])/.exec(text);
  return number ? Number(number[1]) : text.toLowerCase();
}
