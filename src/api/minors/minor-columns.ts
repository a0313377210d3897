/** Columns of `kubectl get` in a minor, where they are other than today's. */
import type { Secret, ServiceAccount } from '../generated/types.ts';
import type { Column, Kind } from '../kind/kind.ts';
import type { ApiObject } from '../text/object.ts';
import type { Cell } from '../values/elapsed.ts';
import { valueAt, versionTables } from './version-tables.ts';

/** What a kind has beyond the columns of today. */
const formerCells: Readonly<Record<string, (object: ApiObject) => Cell>> = {
  'ServiceAccount Secrets': (account) => ((account as ServiceAccount).secrets ?? ([] as Secret[])).length,
};

/** Columns that have another name today. */
const renamed: Readonly<Record<string, string>> = { AssuredConcurrencyShares: 'NominalConcurrencyShares' };

/** The name of a kind among printers: `cronJob`. */
const printerOf = (kind: string): string =>
  kind === 'PriorityLevelConfiguration' ? 'priorityLevel' : kind.charAt(0).toLowerCase() + kind.slice(1);

/** undefined: the columns are those of today, or have a value that is not known. */
export function columnsIn(minor: number, kind: Kind): Pick<Kind, 'columns' | 'cells'> | undefined {
  const printer = printerOf(kind.kind);
  const rows = valueAt(
    Object.hasOwn(versionTables.columns, printer) ? versionTables.columns[printer]! : {},
    minor,
  );
  const { columns: now, cells } = kind;
  if (!rows || !now || !cells || rows.map(([name]) => name).join() === now.map(({ name }) => name).join())
    return undefined;
  const columns: Column[] = [];
  const picks: ((object: ApiObject, today: readonly Cell[]) => Cell)[] = [];
  for (const [name, type, format, priority] of rows) {
    const at = now.findIndex((column) => column.name === (renamed[name] ?? name));
    const former = formerCells[`${kind.kind} ${name}`];
    if (at < 0 && !former) return undefined;
    const { description = 'Number of secrets that pods of the account may use.' } = now[at] ?? {};
    columns.push({
      name,
      description,
      type: type as NonNullable<Column['type']>,
      ...(format ? { format } : {}),
      ...(priority ? { priority, wide: true as const } : {}),
    });
    picks.push(at < 0 ? (object) => former!(object) : (_, today) => today[at]!);
  }
  return {
    columns,
    cells: (object) => {
      const today = cells(object);
      return picks.map((pick) => pick(object, today));
    },
  };
}
