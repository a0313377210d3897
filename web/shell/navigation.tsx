/** The navigation: the kinds that people look at most, then all others by group. */
import { useState } from 'preact/hooks';
import { type Kind, kindOf, kinds } from '../core/kinds.ts';
import { place } from '../core/router.ts';
import { pluralOf } from '../ui/kindname.ts';
import { Link, listPlace } from '../ui/link.tsx';

const sections: readonly { readonly title: string; readonly ids: readonly string[] }[] = [
  {
    title: 'Workloads',
    ids: [
      'pods',
      'deployments.apps',
      'statefulsets.apps',
      'daemonsets.apps',
      'jobs.batch',
      'cronjobs.batch',
      'replicasets.apps',
    ],
  },
  { title: 'Network', ids: ['services', 'ingresses.networking.k8s.io', 'endpointslices.discovery.k8s.io'] },
  { title: 'Configuration', ids: ['configmaps', 'secrets'] },
  { title: 'Storage', ids: ['persistentvolumeclaims', 'persistentvolumes', 'storageclasses.storage.k8s.io'] },
  { title: 'Cluster', ids: ['nodes', 'namespaces', 'events'] },
];
const usual = new Set(sections.flatMap(({ ids }) => ids));

export function Navigation({ open }: { readonly open: boolean }) {
  const [filter, setFilter] = useState('');
  const { path } = place.value;
  const here = path[0] === 'list' || path[0] === 'object' ? path[1] : undefined;
  const listed = (kinds.value ?? []).filter(({ verbs }) => verbs.has('list'));
  const others = listed.filter(({ id }) => !usual.has(id));
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
          </ul>
          {sections.map(({ title, ids }) => (
            <Kinds
              key={title}
              title={title}
              kinds={ids.map(kindOf).filter((kind) => kind !== undefined)}
              here={here}
            />
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
              {pluralOf(kind)}
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}
