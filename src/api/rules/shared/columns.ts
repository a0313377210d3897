/** Columns: the parts that the tables of all kinds share. */

import type { Container } from '../../generated/types.ts';
import type { Column } from '../../kind/kind.ts';
import type { ApiObject } from '../../text/object.ts';
import { type Cell, elapsed } from '../../values/elapsed.ts';

export const nameColumn: Column = {
  name: 'Name',
  format: 'name',
  description: 'Name of the object, unique within its namespace.',
};

export const ageColumn: Column = {
  name: 'Age',
  description: 'How long ago the object was created.',
};

/** The columns of kinds that make pods. */
export const containersColumn: Column = {
  name: 'Containers',
  description: 'Names of the containers in the template.',
};
export const imagesColumn: Column = {
  name: 'Images',
  description: 'Images of the containers in the template.',
};
export const selectorColumn: Column = {
  name: 'Selector',
  description: 'Labels of the pods that belong to the object.',
};

/** The same column, shown only with `-o wide`. */
export const wide = (column: Column): Column => ({ ...column, wide: true });

export const ageCell = (object: ApiObject): Cell => elapsed(object.metadata.creationTimestamp);

export const orNone = (text: string | null | undefined): string => text || '<none>';

/** Texts shown of a list. */
const shownMax = 3;

/** The first few of a list, and how many more there are. */
export function firstFew(texts: readonly string[]): string {
  if (texts.length === 0) return '<unset>';
  const shown = texts.slice(0, shownMax).join(',');
  return texts.length > shownMax ? `${shown} + ${texts.length - shownMax} more...` : shown;
}

/** `k=v,…` sorted by key, or `<none>`. */
export function mapCell(map: Readonly<Record<string, string>> | null | undefined): string {
  const keys = Object.keys(map ?? {}).sort();
  return orNone(keys.map((key) => `${key}=${map?.[key]}`).join(','));
}

export const containersCell = (containers: readonly Container[] | undefined): string =>
  (containers ?? []).map((container) => container.name ?? '').join(',');

export const imagesCell = (containers: readonly Container[] | undefined): string =>
  (containers ?? []).map((container) => container.image ?? '').join(',');
