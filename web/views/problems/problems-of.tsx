/** What is not well with an object, or affects it, as the list of problems says it: why, on the object's first screen. */
import { moment } from '../../core/moment.ts';
import type { ApiObject } from '../../core/objects.ts';
import { ProblemList } from './problem-list.tsx';
import { presentOf, useProblems } from './reported-problems.ts';

/** Problems are those of now: nothing is said of the past. */
export const ProblemsOf = ({ object }: { readonly object: ApiObject }) =>
  moment.value === undefined ? <Present object={object} /> : null;

function Present({ object: { metadata } }: { readonly object: ApiObject }) {
  const { list } = useProblems(metadata.namespace);
  const isAbout = ({ uid }: { readonly uid: string }): boolean => uid === metadata.uid;
  const problems = (list?.items ?? []).filter(
    ({ objects, affects = [] }) => objects.some(isAbout) || affects.some(isAbout),
  );
  if (problems.length === 0) return null;
  return (
    <section class="panel">
      <h2>{presentOf(problems).length > 0 ? 'What is wrong' : 'What was wrong'}</h2>
      <ProblemList problems={problems} />
    </section>
  );
}
