/** Problems, the newest change first: what is wrong, with which objects, and what happened shortly before. */
import { kindNamed } from '../../core/kinds.ts';
import { Age } from '../../ui/age.tsx';
import { Link, ObjectLink } from '../../ui/link.tsx';
import { type Problem, type ProblemObject, presentOf } from './reported-problems.ts';

/** Objects that are shown before the others are opened. */
const shownMax = 3;
/** What is shown of the timeline around a change. */
const beforeMs = 2 * 60_000;
const afterMs = 30_000;

export function ProblemList({ problems }: { readonly problems: readonly Problem[] }) {
  const past = problems.filter(({ severity }) => severity === 'past');
  return (
    <>
      <Items problems={presentOf(problems)} />
      {past.length > 0 && (
        <details class="pastproblems">
          <summary>
            {past.reduce((sum, { count }) => sum + count, 0)} failed before; their workloads have replaced
            them and are whole
          </summary>
          <Items problems={past} />
        </details>
      )}
    </>
  );
}

const Items = ({ problems }: { readonly problems: readonly Problem[] }) => (
  <ul class="problems">
    {problems.map((problem) => (
      <ProblemItem key={`${problem.message} ${problem.objects[0]?.uid}`} problem={problem} />
    ))}
  </ul>
);

const tones: Readonly<Record<Problem['severity'], string>> = { error: 'bad', warning: 'warn', past: '' };

function ProblemItem({ problem }: { readonly problem: Problem }) {
  const { severity, message, changed, objects, affects = [], count } = problem;
  return (
    <li>
      <p>
        <span class={`badge ${tones[severity]}`}>{severity}</span> {message}{' '}
        <span class="quiet">
          <Age since={changed} />
        </span>
      </p>
      <p class="quiet">
        <Names objects={objects.slice(0, shownMax)} />
        {affects.length > 0 && (
          <>
            {' '}
            · affects <Names objects={affects.slice(0, shownMax)} />
            {affects.length > shownMax && ` and ${affects.length - shownMax} more`}
          </>
        )}
        {changed && (
          <>
            {' '}
            · <Before changed={changed} namespace={objects[0]?.namespace} />
          </>
        )}
      </p>
      {objects.length > shownMax && (
        <details>
          <summary>{count - shownMax} more</summary>
          <Names objects={objects.slice(shownMax)} />
          {count > objects.length && ` and ${count - objects.length} more`}
        </details>
      )}
    </li>
  );
}

/** The timeline of the minutes before, from where the time machine goes on. */
function Before({
  changed,
  namespace,
}: {
  readonly changed: string;
  readonly namespace: string | undefined;
}) {
  const changedMs = Date.parse(changed);
  const query = { ns: namespace, from: String(changedMs - beforeMs), to: String(changedMs + afterMs) };
  return (
    <Link to={['timeline']} query={query}>
      what changed before
    </Link>
  );
}

const Names = ({ objects }: { readonly objects: readonly ProblemObject[] }) => (
  <>
    {objects.map(({ apiVersion, kind, namespace, name, uid, note }, i) => {
      const known = kindNamed(apiVersion, kind);
      const text = `${kind} ${namespace ? `${namespace}/` : ''}${name}`;
      return (
        <span key={uid}>
          {i > 0 && ', '}
          {known ? (
            <ObjectLink kind={known} namespace={namespace} name={name}>
              {text}
            </ObjectLink>
          ) : (
            text
          )}
          {note && ` (${note})`}
        </span>
      );
    })}
  </>
);
