/** Chooses and orders the columns of a table, and keeps views: what is shown is in the address. */
import { useState } from 'preact/hooks';
import type { Kind } from '../../core/kinds.ts';
import { addressOf, changeQuery, place } from '../../core/router.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { pluralOf } from '../../ui/kind-name.ts';
import { listPlace } from '../../ui/link.tsx';
import type { ListColumn } from './columns.ts';
import { forgetView, type SavedView, savedViews, saveView } from './saved-views.ts';

interface ViewDialogProps {
  readonly kind: Kind;
  readonly all: readonly ListColumn[];
  readonly shown: readonly ListColumn[];
  readonly onClose: () => void;
}

export const ViewDialog = ({ kind, all, shown, onClose }: ViewDialogProps) => (
  <Dialog title={`View of ${pluralOf(kind)}`} onClose={onClose}>
    <Columns all={all} shown={shown} />
    <SavedViews kind={kind} onClose={onClose} />
  </Dialog>
);

function Columns({ all, shown }: Pick<ViewDialogProps, 'all' | 'shown'>) {
  const [, ...names] = shown.map(({ name }) => name);
  const choose = (next: readonly string[]): void => changeQuery({ cols: next.join(',') || undefined });
  const others = all.slice(1).filter(({ name }) => !names.includes(name));
  const move = (at: number, by: number): void => {
    const next = names.toSpliced(at, 1);
    choose(next.toSpliced(at + by, 0, names[at]!));
  };
  return (
    <section>
      <h3>Columns</h3>
      <ul class="columnlist">
        {[...names, ...others.map(({ name }) => name)].map((name, at) => (
          <li key={name}>
            <label>
              <input
                type="checkbox"
                checked={at < names.length}
                onChange={() => choose(at < names.length ? names.toSpliced(at, 1) : [...names, name])}
              />{' '}
              {name}
            </label>
            {at < names.length && (
              <span>
                <button
                  type="button"
                  class="plain"
                  aria-label={`${name} before`}
                  disabled={at === 0}
                  onClick={() => move(at, -1)}
                >
                  ↑
                </button>
                <button
                  type="button"
                  class="plain"
                  aria-label={`${name} after`}
                  disabled={at === names.length - 1}
                  onClick={() => move(at, 1)}
                >
                  ↓
                </button>
              </span>
            )}
          </li>
        ))}
      </ul>
      <button type="button" onClick={() => changeQuery({ cols: undefined })}>
        Those that fit
      </button>
    </section>
  );
}

/** The query of the address without what is for this moment alone. */
function currentQuery(): string {
  const query = new URLSearchParams(place.value.query);
  query.delete('at');
  return query.toString();
}

function SavedViews({ kind, onClose }: Pick<ViewDialogProps, 'kind' | 'onClose'>) {
  const [name, setName] = useState('');
  const views = savedViews.value.filter((view) => view.kind === kind.id);
  const address = (view: SavedView): string => {
    const query = Object.fromEntries(new URLSearchParams(view.query));
    return addressOf(listPlace(kind), { ns: undefined, ...query });
  };
  return (
    <section>
      <h3>Saved views</h3>
      {views.length === 0 && (
        <p class="quiet">
          The address of the page has columns, order, search and state: a bookmark keeps them.
        </p>
      )}
      <ul class="columnlist">
        {views.map((view) => (
          <li key={view.name}>
            <a href={address(view)} onClick={onClose}>
              {view.name}
            </a>
            <button
              type="button"
              class="plain"
              aria-label={`Forget ${view.name}`}
              onClick={() => forgetView(view)}
            >
              ✕
            </button>
          </li>
        ))}
      </ul>
      <form
        class="saving"
        onSubmit={(event) => {
          event.preventDefault();
          saveView({ name: name.trim(), kind: kind.id, query: currentQuery() });
          setName('');
        }}
      >
        <input
          type="text"
          aria-label="Name of the view"
          placeholder="Name"
          required
          maxLength={60}
          value={name}
          onInput={({ currentTarget }) => setName(currentTarget.value)}
        />
        <button type="submit">Save this view</button>
      </form>
    </section>
  );
}
