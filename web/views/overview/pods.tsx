/** Pods by their state, each a link to the table of those. */
import { useFailedPods } from '../../core/failed-pods.ts';
import { kindOf, pathOf } from '../../core/kinds.ts';
import { useLiveTable } from '../../core/live.ts';
import { Link, listPlace } from '../../ui/link.tsx';
import { Refusal } from '../../ui/refusal.tsx';
import { toneOf } from '../../ui/tone.ts';

export function Pods({ namespace }: { readonly namespace: string | undefined }) {
  const kind = kindOf('pods')!;
  const table = useLiveTable(pathOf(kind, namespace));
  void table.version.value;
  const failed = useFailedPods(pathOf(kind, namespace));
  const at = table.columns.value.findIndex(({ name }) => name === 'Status');
  const counts = new Map<string, number>();
  for (const { uid, cells, mark } of table.rows.values()) {
    if (mark === 'gone') continue;
    const state = failed.has(uid) ? 'Failed' : String(cells[at] ?? 'Unknown');
    counts.set(state, (counts.get(state) ?? 0) + 1);
  }
  const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  return (
    <section class="panel">
      <h2>Pods</h2>
      {table.error.value ? (
        <Refusal error={table.error.value} what="Pods cannot be shown." />
      ) : (
        <>
          <p class="headline">
            <Link to={listPlace(kind)} class="figure">
              {total.toLocaleString('en')}
              {table.state.value === 'loading' && '+'}
            </Link>
          </p>
          <div class="stack" aria-hidden="true">
            {[...counts].map(([state, count]) => (
              <span
                key={state}
                class={toneOf(state) ?? 'plainpart'}
                ref={(part) => void part?.style.setProperty('flex-grow', String(count))}
              />
            ))}
          </div>
          <ul class="phases">
            {[...counts]
              .sort(([, a], [, b]) => b - a)
              .map(([state, count]) => (
                <li key={state}>
                  <Link to={listPlace(kind)} query={state === 'Failed' ? { state: 'failing' } : { q: state }}>
                    <span class={`badge ${toneOf(state) ?? ''}`}>{state}</span>
                  </Link>{' '}
                  {count.toLocaleString('en')}
                </li>
              ))}
          </ul>
        </>
      )}
    </section>
  );
}
