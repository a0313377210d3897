/** The table of a kind with what belongs to it: title, filters, selection, keys. */
import type { RefObject } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useKeys } from '../../core/keys.ts';
import { type Kind, kindOf, pathOf } from '../../core/kinds.ts';
import { useLiveTable } from '../../core/live.ts';
import type { LiveTable, Row } from '../../core/live-table.ts';
import { moment } from '../../core/moment.ts';
import { may, maySee } from '../../core/rights.ts';
import { changeQuery, go, place } from '../../core/router.ts';
import { pluralOf } from '../../ui/kind-name.ts';
import { Lazy } from '../../ui/lazy.tsx';
import { Link, objectPlace } from '../../ui/link.tsx';
import { Refusal } from '../../ui/refusal.tsx';
import { ActionDialog } from '../object/action-dialog.tsx';
import type { Plan } from '../object/actions.ts';
import { type Choice, type ManyAction, manyActionsOf } from '../object/many-actions.ts';
import { columnsOf, hasUsage, type ListColumn, shownColumns, windowWidth } from './columns.ts';
import { unreadPart } from './labels.ts';
import { rowStateOf } from './row-state.ts';
import { RowView, type Wish } from './row-view.ts';
import { rowKeys, useSelection } from './selection.ts';
import { StateChips } from './state-chips.tsx';
import { useUsageFigures } from './usage-figures.ts';
import { VirtualTable } from './virtual-table.tsx';

interface KindTableProps {
  readonly kind: Kind;
  readonly table: LiveTable;
  readonly namespace: string | undefined;
  /** Uids of objects that have failed although their columns say that they are completed. */
  readonly failed?: ReadonlySet<string>;
}

const noneFailed: ReadonlySet<string> = new Set();

/** An action that is being asked about. */
interface Asked {
  readonly title: string;
  readonly load: () => Promise<Plan>;
}

export function KindTable({ kind, table, namespace, failed = noneFailed }: KindTableProps) {
  const { query } = place.value;
  const wish = wishOf(query);
  const { all, shown } = useColumns(kind, table, namespace, query.get('cols'), failed);
  const view = useRows(table, wish, all, failed);
  const { rows } = view;
  const selection = useSelection(rows);
  const { selected, cursor } = selection;
  const [asked, setAsked] = useState<Asked>();
  const [choosing, setChoosing] = useState(false);
  const search = useRef<HTMLInputElement>(null);
  const isNow = moment.value === undefined;
  const mayCreate = isNow && kind.verbs.has('create') && may('create', kind, { namespace });
  const actions = isNow ? manyActionsOf(kind, namespace) : [];
  const act = (action: ManyAction): void => {
    const choice = choiceOf(kind, table, selection.chosen());
    if (choice.rows.length > 0)
      setAsked({ title: `${action.title} ${whatOf(choice)}?`, load: async () => action.plan(choice) });
  };
  const removal = actions.find(({ id }) => id === 'delete');
  useKeys([
    { key: '/', does: 'search', run: () => search.current?.focus() },
    ...rowKeys(kind, namespace, rows, selection),
    ...(mayCreate
      ? [{ key: 'c', does: `create one of ${kind.resource}`, run: () => go(['create', kind.id]) }]
      : []),
    ...(removal ? [{ key: 'Delete', does: 'delete what is selected', run: () => act(removal) }] : []),
  ]);
  return (
    <>
      <div class="titleline">
        <h1>{pluralOf(kind)}</h1>
        <span class="quiet count" role="status">
          {countText(rows.length, table)}
        </span>
        <StateChips counts={view.counts} chosen={wish.state} />
        <span class="gap" />
        {selected.value.size > 0 ? (
          <Selected actions={actions} count={selected.value.size} act={act} />
        ) : (
          mayCreate && <Creation kind={kind} namespace={namespace} ask={setAsked} />
        )}
        <Filters wish={wish} search={search} />
        <button type="button" onClick={() => setChoosing(true)}>
          View
        </button>
      </div>
      {table.error.value ? (
        <Refusal error={table.error.value} what={`${pluralOf(kind)} cannot be shown.`} />
      ) : (
        <VirtualTable
          label={pluralOf(kind)}
          rows={rows}
          columns={shown}
          withNamespace={kind.namespaced && !namespace}
          sort={wish.sort}
          onSort={(sort) => changeQuery({ sort: sort || undefined })}
          selected={selected.value}
          onSelect={(next) => {
            selected.value = next;
          }}
          selectable={actions.length > 0}
          cursor={cursor.value}
          addressOf={(row) => objectPlace(kind, row.namespace, row.name)}
          empty={<EmptyText kind={kind} table={table} labels={wish.labels} namespace={namespace} />}
        />
      )}
      {choosing && <Lazy load={viewDialog} props={{ kind, all, shown, onClose: () => setChoosing(false) }} />}
      {asked && (
        <ActionDialog
          {...asked}
          onClose={(done) => {
            setAsked(undefined);
            if (done) selected.value = new Set();
          }}
        />
      )}
    </>
  );
}

const viewDialog = () => import('./view-dialog.tsx').then(({ ViewDialog }) => ViewDialog);

const wishOf = (query: URLSearchParams): Wish => ({
  text: query.get('q') ?? '',
  labels: query.get('labels') ?? '',
  sort: query.get('sort') ?? '',
  state: query.get('state') ?? '',
});

const whatOf = ({ kind, rows }: Choice): string =>
  rows.length === 1 ? `${kind.kind} ${rows[0]!.name}` : `${rows.length} ${pluralOf(kind)}`;

/** What is chosen, and the namespaces of which it is everything. */
function choiceOf(kind: Kind, table: LiveTable, rows: readonly Row[]): Choice {
  const counts = new Map<string, number>();
  const count = ({ namespace = '' }: Row, by: number): void =>
    void counts.set(namespace, (counts.get(namespace) ?? 0) + by);
  for (const row of table.rows.values()) if (row.mark !== 'gone') count(row, 1);
  for (const row of rows) count(row, -1);
  const whole = [...counts].filter(([, left]) => left === 0 && table.beyond.value === 0);
  return { kind, rows, whole: new Set(whole.map(([namespace]) => namespace)) };
}

interface SelectedProps {
  readonly actions: readonly ManyAction[];
  readonly count: number;
  readonly act: (action: ManyAction) => void;
}

const Selected = ({ actions, count, act }: SelectedProps) => (
  <>
    {actions.map((action) => (
      <button
        key={action.id}
        type="button"
        class={action.isDanger ? 'danger' : undefined}
        onClick={() => act(action)}
      >
        {action.title} {count}
      </button>
    ))}
  </>
);

interface CreationProps {
  readonly kind: Kind;
  readonly namespace: string | undefined;
  readonly ask: (asked: Asked) => void;
}

const Creation = ({ kind, namespace = 'default', ask }: CreationProps) => (
  <>
    {kind.id === 'pods' && (
      <button
        type="button"
        onClick={() =>
          ask({
            title: 'Run a pod',
            load: () => import('../object/run-pod.ts').then(({ runPod }) => runPod(namespace)),
          })
        }
      >
        Run a pod
      </button>
    )}
    <Link to={['create', kind.id]}>Create</Link>
  </>
);

interface FiltersProps {
  readonly wish: Wish;
  readonly search: RefObject<HTMLInputElement | null>;
}

const Filters = ({ wish, search }: FiltersProps) => (
  <>
    <input
      ref={search}
      type="search"
      class="search"
      placeholder="Search ( / )"
      aria-label="Search"
      value={wish.text}
      onInput={({ currentTarget }) => changeQuery({ q: currentTarget.value })}
      onKeyDown={(event) => {
        if (event.key === 'Escape' || event.key === 'Enter') event.currentTarget.blur();
      }}
    />
    <input
      type="search"
      class="search labels"
      placeholder="Labels (app=web)"
      aria-label="Labels"
      aria-invalid={unreadPart(wish.labels) !== undefined}
      value={wish.labels}
      onInput={({ currentTarget }) => changeQuery({ labels: currentTarget.value })}
    />
  </>
);

/** Tables up to this long show what their objects use: the figures come all at once. */
const usageRowsMax = 5_000;

/** The columns that there are, and those that are shown. */
function useColumns(
  kind: Kind,
  table: LiveTable,
  namespace: string | undefined,
  chosen: string | null,
  failed: ReadonlySet<string>,
) {
  const columns = table.columns.value;
  const [isUsageShown, setUsageShown] = useState(false);
  const figures = useUsageFigures(kind, namespace, isUsageShown);
  const offered = hasUsage(kind) && table.rows.size <= usageRowsMax ? figures : undefined;
  const withNamespace = kind.namespaced && !namespace;
  const all = useMemo(
    () => columnsOf(kind, columns, offered, failed, withNamespace),
    [kind, columns, offered, failed, withNamespace],
  );
  const width = windowWidth.value;
  const shown = useMemo(() => shownColumns(all, chosen, width), [all, chosen, width]);
  const isWanted =
    table.state.value === 'live' &&
    shown.some(({ name, order }) => order && (name === 'CPU' || name === 'Memory'));
  useLayoutEffect(() => setUsageShown(isWanted), [isWanted]);
  return { all, shown };
}

/** The rows in order, brought up to date with every change of the table. */
function useRows(
  table: LiveTable,
  wish: Wish,
  columns: readonly ListColumn[],
  failed: ReadonlySet<string>,
): RowView {
  const served = table.columns.value;
  void table.version.value;
  // Usage changes with every look: rows are ordered anew where they are ordered by it.
  const sorted = columns.find(({ name }) => name === wish.sort.replace(/^-/, ''));
  const order = useMemo(
    () => new RowView(table.rows.values(), wish, columns, rowStateOf(served, failed)),
    [table, wish.sort, served, sorted?.order, failed],
  );
  useMemo(() => order.filter(wish), [order, wish.text, wish.labels, wish.state]);
  useLayoutEffect(() => table.listen((change) => order.apply(change)), [table, order]);
  return order;
}

function countText(shown: number, table: LiveTable): string {
  const all = table.rows.size;
  // A list comes in pages.
  const yet = table.state.value === 'loading' && all > 0 ? '+' : '';
  const more = table.beyond.value;
  const text =
    shown === all
      ? `${all.toLocaleString('en')}${yet}`
      : `${shown.toLocaleString('en')} of ${all.toLocaleString('en')}${yet}`;
  return more ? `${text}, and ${more.toLocaleString('en')} more that are not shown` : text;
}

interface EmptyTextProps {
  readonly kind: Kind;
  readonly table: LiveTable;
  readonly labels: string;
  readonly namespace: string | undefined;
}

/** Why there is nothing to see. */
function EmptyText({ kind, table, labels, namespace }: EmptyTextProps) {
  const part = unreadPart(labels);
  if (part !== undefined)
    return (
      <>
        “{part}” is no label selector. Write <code>app=web</code>, <code>tier!=db</code>,{' '}
        <code>env in (a, b)</code> or <code>!canary</code>, joined by commas.
      </>
    );
  if (table.state.value === 'loading') return <>Loading…</>;
  if (table.rows.size > 0) return <>Nothing fits the search.</>;
  const none = `There are no ${pluralOf(kind)}`;
  if (!namespace || !kind.namespaced) return <>{none}.</>;
  if (!maySee('namespaces')) return <>{`${none} in the namespace ${namespace}.`}</>;
  return <EmptyNamespace name={namespace} none={none} />;
}

/** A namespace that does not exist is another matter than an empty one. */
function EmptyNamespace({ name, none }: { readonly name: string; readonly none: string }) {
  const namespaces = useLiveTable(pathOf(kindOf('namespaces')!));
  void namespaces.version.value;
  const isKnown =
    ['loading', 'refused'].includes(namespaces.state.value) ||
    [...namespaces.rows.values()].some((row) => row.name === name && row.mark !== 'gone');
  if (isKnown) return <>{`${none} in the namespace ${name}.`}</>;
  return (
    <>
      {moment.value === undefined
        ? `There is no namespace ${name}.`
        : `There was no namespace ${name} at that time.`}
    </>
  );
}
