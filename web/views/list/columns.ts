/**
 * The columns of a table: those of the server, and some that the dashboard adds. The address names those that are shown,
 * in their order; without it, those that fit the width of the window are.
 */
import { signal } from '@preact/signals';
import type { Kind } from '../../core/kinds.ts';
import type { Row } from '../../core/live-table.ts';
import type { TableColumn } from '../../core/objects.ts';
import type { UsageFigures } from './usage-figures.ts';

export interface ListColumn {
  readonly name: string;
  readonly description: string;
  /** Undefined: for those who choose it. */
  readonly fromWidth: number | undefined;
  readonly read: (row: Row) => unknown;
  /** What rows are ordered by, where it is another value. */
  readonly order?: (row: Row) => number;
}

/** Columns of a higher priority are for wide screens alone, as with `kubectl get -o wide`. */
const wideFrom = 1_680;
/** Width from which usage, node and owner fit beside the usual columns. */
const roomyFrom = 1_200;
/** Width from which usage fits beside namespaces, too. */
const roomierFrom = 1_400;
/** Below this rows are cards: the state above the name, and a few facts below. */
export const narrowBelow = 500;
/** Facts beside the age for which a card has room. */
const cardFactsMax = 3;

/** The width of the window, which is another one when a telephone is turned. */
export const windowWidth = signal(innerWidth);
addEventListener('resize', () => {
  windowWidth.value = innerWidth;
});
export const states = /^(Status|Phase|State)$/;
/** Wide columns that are empty nearly always. */
const rare = new Set(['Nominated Node', 'Readiness Gates']);
const owned = new Set(['pods', 'replicasets.apps', 'jobs.batch']);

export const hasUsage = ({ id }: Kind): boolean => id === 'pods' || id === 'nodes';

/** All columns that a table can show, Name first and Age last among the usual ones. */
export function columnsOf(
  kind: Kind,
  columns: readonly TableColumn[],
  figures: UsageFigures | undefined,
  failed: ReadonlySet<string>,
  withNamespace: boolean,
): readonly ListColumn[] {
  const served = columns.map(
    ({ name, description, priority }, at): ListColumn => ({
      name,
      description,
      fromWidth: name === 'Node' ? roomyFrom : rare.has(name) ? undefined : priority === 0 ? 0 : wideFrom,
      read:
        name === 'Status'
          ? ({ uid, cells }) => (failed.has(uid) ? 'Failed' : cells[at])
          : ({ cells }) => cells[at],
    }),
  );
  const age = served.findIndex(({ name }) => name === 'Age');
  const before = age < 0 ? served.length : age;
  return [
    ...served.slice(0, before),
    ...(figures ? usageColumns(figures, withNamespace ? roomierFrom : roomyFrom) : []),
    ...served.filter(({ name }, at) => at > before && name === 'Node'),
    {
      name: 'Owner',
      description: 'The object that controls it.',
      fromWidth: owned.has(kind.id) ? wideFrom : undefined,
      read: ({ owner }) => (owner ? `${owner.kind} ${owner.name}` : ''),
    },
    ...served.slice(before).filter(({ name }) => name !== 'Node'),
    {
      name: 'Labels',
      description: 'All labels.',
      fromWidth: undefined,
      read: ({ labels }) =>
        Object.entries(labels ?? {})
          .map(([key, value]) => `${key}=${value}`)
          .join(' '),
    },
  ];
}

const usageColumns = (figures: UsageFigures, fromWidth: number): readonly ListColumn[] =>
  (['CPU', 'Memory'] as const).map((name) => ({
    name,
    description: `${name} in use now.`,
    fromWidth,
    read: (row) => figures.textOf(row, name),
    order: (row) => figures.valueOf(row, name),
  }));

/** The columns that are shown: the chosen ones, by names joined with commas, or those that fit. */
export function shownColumns(
  all: readonly ListColumn[],
  chosen: string | null,
  width: number,
): readonly ListColumn[] {
  const [first, ...others] = all;
  if (!first) return [];
  if (chosen) {
    const byName = new Map(others.map((column) => [column.name, column]));
    return [first, ...chosen.split(',').flatMap((name) => byName.get(name) ?? [])];
  }
  const fitting = all.filter(({ fromWidth }) => fromWidth !== undefined && width >= fromWidth);
  if (width >= narrowBelow) return fitting;
  const rank = (column: ListColumn): number => (column === first ? 0 : states.test(column.name) ? 1 : 2);
  const card = fitting.toSorted((a, b) => rank(a) - rank(b));
  const over = card.filter((column) => rank(column) === 2 && column.name !== 'Age').slice(cardFactsMax);
  return card.filter((column) => !over.includes(column));
}
