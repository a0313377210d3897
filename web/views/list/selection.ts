/** The selected rows of a table, the row that keys act on, and the keys. */
import { useSignal } from '@preact/signals';
import type { KeyBinding } from '../../core/keys.ts';
import type { Kind } from '../../core/kinds.ts';
import type { Row } from '../../core/live-table.ts';
import { moment } from '../../core/moment.ts';
import { go } from '../../core/router.ts';
import { objectPlace } from '../../ui/link.tsx';
import { tabsOf } from '../object/tabs.ts';
import { rowsInSight } from './virtual-table.tsx';

export function useSelection(rows: readonly Row[]) {
  const selected = useSignal<ReadonlySet<string>>(new Set());
  const cursor = useSignal<string | undefined>(undefined);
  const current = (): Row | undefined => rows.find(({ uid }) => uid === cursor.value);
  const moveTo = (index: number): void => {
    cursor.value = rows[Math.min(rows.length - 1, Math.max(0, index))]?.uid;
  };
  /** Without a row to begin with, down is the first one and up the last. */
  const move = (step: number): void => {
    const at = rows.findIndex(({ uid }) => uid === cursor.value);
    moveTo(at >= 0 ? at + step : step > 0 ? 0 : rows.length - 1);
  };
  const toggle = (row: Row | undefined): void => {
    if (!row) return;
    const next = new Set(selected.value);
    if (!next.delete(row.uid)) next.add(row.uid);
    selected.value = next;
  };
  const chosen = (): Row[] => {
    const picked = rows.filter(({ uid }) => selected.value.has(uid));
    const one = current();
    return picked.length ? picked : one ? [one] : [];
  };
  return { selected, cursor, current, move, moveTo, toggle, chosen };
}

/** Keys that go from row to row, and open one of them. */
export function rowKeys(
  kind: Kind,
  namespace: string | undefined,
  rows: readonly Row[],
  { move, moveTo, current, toggle }: ReturnType<typeof useSelection>,
): KeyBinding[] {
  const open = (row: Row | undefined, tab?: string): void => {
    if (row) go(objectPlace(kind, row.namespace, row.name), { tab });
  };
  const steps: readonly (readonly [does: string, run: () => void, ...keys: string[]])[] = [
    ['next row', () => move(1), 'j', 'ArrowDown'],
    ['row before', () => move(-1), 'k', 'ArrowUp'],
    ['first row', () => moveTo(0), 'g', 'Home'],
    ['last row', () => moveTo(rows.length - 1), 'G', 'End'],
    ['a page on', () => move(rowsInSight()), 'PageDown'],
    ['a page back', () => move(-rowsInSight()), 'PageUp'],
    ['open the row', () => open(current()), 'Enter'],
    ['select the row', () => toggle(current()), ' '],
  ];
  return [
    ...steps.flatMap(([does, run, ...keys]) => keys.map((key) => ({ key, does, run }))),
    ...tabsOf(kind, moment.value !== undefined, namespace).flatMap(({ id, key, title }) =>
      key ? [{ key, does: `open ${title} of the row`, run: () => open(current(), id) }] : [],
    ),
  ];
}
