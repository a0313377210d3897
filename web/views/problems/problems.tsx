/** The page of problems: everything that is not well, grouped by cause. */
import { moment } from '../../core/moment.ts';
import { place } from '../../core/router.ts';
import { Refusal } from '../../ui/refusal.tsx';
import { ProblemList } from './problem-list.tsx';
import { presentOf, useProblems } from './reported-problems.ts';

export function View() {
  const namespace = place.value.query.get('ns') ?? undefined;
  const { list, error } = useProblems(namespace);
  const more = list?.metadata.remainingItemCount ?? 0;
  const present = presentOf(list?.items ?? []).length + more;
  return (
    <>
      <div class="titleline">
        <h1>Problems</h1>
        <span class="quiet" role="status">
          {list && present} {namespace && `of the namespace ${namespace}`}
        </span>
      </div>
      {moment.value !== undefined && <p class="quiet">These are the problems of now, not of the past.</p>}
      {error && !list && <Refusal error={error} what="Problems cannot be shown." />}
      {!list && !error && <p class="waiting">Looking…</p>}
      {list && present === 0 && <p class="waiting">No problems were found among what you may see.</p>}
      {list && list.items.length > 0 && (
        <section class="panel">
          <ProblemList problems={list.items} />
          {more > 0 && <p class="quiet">and {more} more</p>}
        </section>
      )}
    </>
  );
}
