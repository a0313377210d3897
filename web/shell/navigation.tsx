/** The navigation: the kinds that people look at most, then all others by group. */
import { useState } from 'preact/hooks';
import { type Kind, kindOf, kinds } from '../core/kinds.ts';
import { may, maySnapshots } from '../core/rights.ts';
import { place } from '../core/router.ts';
import { kindSections, usualKinds } from '../core/usual-kinds.ts';
import { Breakable } from '../ui/breakable.tsx';
import { pluralOf } from '../ui/kind-name.ts';
import { Link, listPlace } from '../ui/link.tsx';

export function Navigation({ open }: { readonly open: boolean }) {
  const [filter, setFilter] = useState('');
  const { path } = place.value;
  const here = path[0] === 'list' || path[0] === 'object' ? path[1] : undefined;
  const namespace = place.value.query.get('ns') ?? undefined;
  const isListed = (kind: Kind | undefined): kind is Kind =>
    kind?.verbs.has('list') === true && may('list', kind, { namespace });
  const listed = (kinds.value ?? []).filter(isListed);
  const others = listed.filter(({ id }) => !usualKinds.has(id));
  const wanted = filter.trim().toLowerCase();
  const fits = ({ id, kind, shortNames }: Kind): boolean =>
    id.includes(wanted) || kind.toLowerCase().includes(wanted) || shortNames.includes(wanted);
  return (
    <nav class={open ? 'kinds open' : 'kinds'} aria-label="Kinds">
      <input
        type="search"
        placeholder="Find a kind"
        aria-label="Find a kind"
        value={filter}
        onInput={({ currentTarget }) => setFilter(currentTarget.value)}
      />
      {wanted ? (
        <Kinds title="Found" kinds={listed.filter(fits)} here={here} />
      ) : (
        <>
          <ul>
            <li>
              <Link to={[]} current={path.length === 0}>
                Overview
              </Link>
            </li>
            <li>
              <Link to={['problems']} current={path[0] === 'problems'}>
                Problems
              </Link>
            </li>
            <li>
              <Link to={['timeline']} current={path[0] === 'timeline'}>
                Timeline
              </Link>
            </li>
            {maySnapshots('list') && (
              <li>
                <Link to={['snapshots']} current={path[0] === 'snapshots'}>
                  Snapshots
                </Link>
              </li>
            )}
          </ul>
          {kindSections.map(({ title, ids }) => (
            <Kinds key={title} title={title} kinds={ids.map(kindOf).filter(isListed)} here={here} />
          ))}
          <details open={others.some(({ id }) => id === here)}>
            <summary>All other kinds</summary>
            {groupsOf(others).map(([group, members]) => (
              <Kinds key={group} title={group || 'core'} kinds={members} here={here} />
            ))}
          </details>
        </>
      )}
    </nav>
  );
}

function groupsOf(list: readonly Kind[]): [string, Kind[]][] {
  const groups = Map.groupBy(list, ({ group }) => group);
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
}

interface KindsProps {
  readonly title: string;
  readonly kinds: readonly Kind[];
  readonly here: string | undefined;
}

function Kinds({ title, kinds: list, here }: KindsProps) {
  if (list.length === 0) return null;
  return (
    <section>
      <h2>{title}</h2>
      <ul>
        {list.map((kind) => (
          <li key={kind.id}>
            <Link to={listPlace(kind)} current={kind.id === here}>
              <Breakable text={pluralOf(kind)} />
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}
