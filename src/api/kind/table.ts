/** Tables: what `kubectl get` prints, made from objects by the columns of their kind. */

import type { ApiObject } from '../text/object.ts';
import { type Cell, shownCell } from '../values/elapsed.ts';
import type { Column, Kind, TableRowCondition } from './kind.ts';

export type IncludeObject = 'None' | 'Metadata' | 'Object';

export interface ColumnDefinition {
  name: string;
  type: string;
  format: string;
  description: string;
  priority: number;
}

export interface Row {
  cells: unknown[];
  conditions?: TableRowCondition[];
  object: unknown;
}

/** Columns of kinds that define none. */
const defaultColumns: readonly Column[] = [
  { name: 'Name', format: 'name', description: 'Name of the object, unique within its namespace.' },
  { name: 'Created At', type: 'date', description: 'When the object was created.' },
];

type Tabular = Pick<Kind, 'columns' | 'cells' | 'rowConditions'>;

export const columnDefinitions = (kind: Tabular): ColumnDefinition[] =>
  (kind.columns ?? defaultColumns).map((column) => ({
    name: column.name,
    type: column.type ?? 'string',
    format: column.format ?? '',
    description: column.description,
    priority: column.priority ?? (column.wide ? 1 : 0),
  }));

export function tableRow(
  kind: Tabular,
  object: ApiObject,
  include: IncludeObject,
  version: string,
  nowMs: number,
): Row {
  const conditions = kind.rowConditions?.(object);
  return {
    cells: cellsOf(kind, object).map((cell) => shownCell(cell, nowMs)),
    ...(conditions ? { conditions } : {}),
    object: include === 'None' ? null : include === 'Object' ? object : partialObject(object, version),
  };
}

export const cellsOf = (kind: Tabular, object: ApiObject): readonly Cell[] =>
  kind.cells?.(object) ?? [object.metadata.name, object.metadata.creationTimestamp ?? '<unknown>'];

/** An object reduced to its metadata. */
export const partialObject = (object: ApiObject, version: string) => ({
  kind: 'PartialObjectMetadata',
  apiVersion: version,
  metadata: object.metadata,
});
