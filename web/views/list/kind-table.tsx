/** The table of a kind with what belongs to it: title, filters, selection, keys. */
import { useSignal } from '@preact/signals';
import type { RefObject } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type KeyBinding, useKeys } from '../../core/keys.ts';
import { type Kind, kindOf, pathOf } from '../../core/kinds.ts';
import { useLiveTable } from '../../core/live.ts';
import type { LiveTable, Row } from '../../core/live-table.ts';
import { moment } from '../../core/moment.ts';
import { may, maySee } from '../../core/rights.ts';
import { changeQuery, go, place } from '../../core/router.ts';
import { pluralOf } from '../../ui/kind-name.ts';
import { Link, objectPlace } from '../../ui/link.tsx';
import { Refusal } from '../../ui/refusal.tsx';
import { ActionDialog } from '../object/action-dialog.tsx';
import { DeleteDialog } from '../object/deletion.tsx';
import { runPod } from '../object/run-pod.ts';
import { tabsOf } from '../object/tabs.ts';
import { unreadPart } from './labels.ts';
import { RowView, type Wish } from './row-view.ts';
import { VirtualTable } from './virtual-table.tsx';

interface KindTableProps {
  readonly kind: Kind;
  readonly table: LiveTable;
  readonly namespace: string | undefined;
}

export function KindTable({ kind, table, namespace }: KindTableProps) {
  const { query } = place.value;
  const wish: Wish = {
    text: query.get('q') ?? '',
    labels: query.get('labels') ?? '',
    sort: query.get('sort') ?? '',
  };
  const rows = useRows(table, wish);
  const selection = useSelection(rows);
  const { selected, cursor } = selection;
  const [deleting, setDeleting] = useState<readonly Row[]>();
  const [running, setRunning] = useState(false);
  const search = useRef<HTMLInputElement>(null);
  const mayNow = (verb: 'create' | 'delete'): boolean =>
    kind.verbs.has(verb) && moment.value === undefined && may(verb, kind, { namespace });
  const [mayCreate, mayDelete] = [mayNow('create'), mayNow('delete')];
  const remove = mayDelete ? () => setDeleting(selection.chosen()) : undefined;
  useKeys([
    { key: '/', does: 'search', run: () => search.current?.focus() },
    ...rowKeys(kind, namespace, rows, selection),
    ...(mayCreate
      ? [{ key: 'c', does: `create one of ${kind.resource}`, run: () => go(['create', kind.id]) }]
      : []),
    ...(remove ? [{ key: 'Delete', does: 'delete what is selected', run: remove }] : []),
  ]);
  return (
    <>
      <div class="titleline">
        <h1>{pluralOf(kind)}</h1>
        <span class="quiet count" role="status">
          {countText(rows.length, table)}
        </span>
        <span class="gap" />
        {kind.id === 'pods' && mayCreate && (
          <button type="button" onClick={() => setRunning(true)}>
            Run a pod
          </button>
        )}
        {mayCreate && <Link to={['create', kind.id]}>Create</Link>}
        {remove && selected.value.size > 0 && (
          <button type="button" class="danger" onClick={remove}>
            Delete {selected.value.size}
          </button>
        )}
        <Filters wish={wish} search={search} />
      </div>
      {table.error.value ? (
        <Refusal error={table.error.value} what={`${pluralOf(kind)} cannot be shown.`} />
      ) : (
        <VirtualTable
          label={pluralOf(kind)}
          rows={rows}
          columns={table.columns.value}
          withNamespace={kind.namespaced && !namespace}
          sort={wish.sort}
          onSort={(sort) => changeQuery({ sort: sort || undefined })}
          selected={selected.value}
          onSelect={(next) => {
            selected.value = next;
          }}
          selectable={mayDelete}
          cursor={cursor.value}
          addressOf={(row) => objectPlace(kind, row.namespace, row.name)}
          empty={<EmptyText kind={kind} table={table} labels={wish.labels} namespace={namespace} />}
        />
      )}
      {running && <RunDialog namespace={namespace} onClose={() => setRunning(false)} />}
      {deleting && deleting.length > 0 && (
        <DeleteDialog
          kind={kind}
          rows={deleting}
          onClose={(done) => {
            setDeleting(undefined);
            if (done) selected.value = new Set();
          }}
        />
      )}
    </>
  );
}

/** The selected rows, and the row that keys act on. */
function useSelection(rows: readonly Row[]) {
  const selected = useSignal<ReadonlySet<string>>(new Set());
  const cursor = useSignal<string | undefined>(undefined);
  const current = (): Row | undefined => rows.find(({ uid }) => uid === cursor.value);
  const move = (step: number): void => {
    const at = rows.findIndex(({ uid }) => uid === cursor.value);
    const next = rows[Math.min(rows.length - 1, Math.max(0, at < 0 ? 0 : at + step))];
    cursor.value = next?.uid;
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
  return { selected, cursor, current, move, toggle, chosen };
}

/** Keys that go from row to row, and open one of them. */
function rowKeys(
  kind: Kind,
  namespace: string | undefined,
  rows: readonly Row[],
  selection: ReturnType<typeof useSelection>,
): KeyBinding[] {
  const { move, current, toggle } = selection;
  const open = (row: Row | undefined, tab?: string): void => {
    if (row) go(objectPlace(kind, row.namespace, row.name), { tab });
  };
  return [
    { key: 'j', does: 'next row', run: () => move(1) },
    { key: 'k', does: 'row before', run: () => move(-1) },
    { key: 'ArrowDown', does: 'next row', run: () => move(1) },
    { key: 'ArrowUp', does: 'row before', run: () => move(-1) },
    { key: 'g', does: 'first row', run: () => move(-rows.length) },
    { key: 'G', does: 'last row', run: () => move(rows.length) },
    { key: 'Enter', does: 'open the row', run: () => open(current()) },
    { key: ' ', does: 'select the row', run: () => toggle(current()) },
    ...tabsOf(kind, moment.value !== undefined, namespace).flatMap(({ id, key, title }) =>
      key ? [{ key, does: `open ${title} of the row`, run: () => open(current(), id) }] : [],
    ),
  ];
}

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

interface RunDialogProps {
  readonly namespace: string | undefined;
  readonly onClose: () => void;
}

const RunDialog = ({ namespace = 'default', onClose }: RunDialogProps) => (
  <ActionDialog title="Run a pod" load={() => runPod(namespace)} onClose={onClose} />
);

/** The rows in order, brought up to date with every change of the table. */
function useRows(table: LiveTable, wish: Wish): readonly Row[] {
  const columns = table.columns.value;
  void table.version.value;
  const order = useMemo(() => new RowView(table.rows.values(), wish, columns), [table, wish.sort, columns]);
  useMemo(() => order.filter(wish), [order, wish.text, wish.labels]);
  useLayoutEffect(() => table.listen((change) => order.apply(change)), [table, order]);
  return order.rows;
}

function countText(shown: number, table: LiveTable): string {
  const all = table.rows.size;
  const more = table.beyond.value;
  const text =
    shown === all
      ? `${all.toLocaleString('en')}`
      : `${shown.toLocaleString('en')} of ${all.toLocaleString('en')}`;
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
