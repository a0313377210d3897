/** The first thing on the overview: what is not well, the newest change first. */

import { Link } from '../../ui/link.tsx';
import { Refusal } from '../../ui/refusal.tsx';
import { ProblemList } from '../problems/problem-list.tsx';
import { presentOf, useProblems } from '../problems/reported-problems.ts';

const shownMax = 5;

export function Problems({ namespace }: { readonly namespace: string | undefined }) {
  const { list, error } = useProblems(namespace);
  const present = presentOf(list?.items ?? []);
  const total = present.length + (list?.metadata.remainingItemCount ?? 0);
  return (
    <section class="panel whole">
      <h2>
        <Link to={['problems']}>Problems</Link> {total > 0 && <span class="bad">{total}</span>}
      </h2>
      {error && !list && <Refusal error={error} what="Problems cannot be shown." />}
      {!list && !error && <p class="quiet">Looking…</p>}
      {list && total === 0 && <p class="quiet">No problems were found among what you may see.</p>}
      {list && <ProblemList problems={present.slice(0, shownMax)} />}
      {total > shownMax && (
        <p class="quiet">
          and <Link to={['problems']}>{total - shownMax} more</Link>
        </p>
      )}
    </section>
  );
}
