/** Events as people read them: the latest first, grouped, each leading to its objects. */
import { type Kind, kindNamed, pathOf } from '../../core/kinds.ts';
import { useLiveObjects } from '../../core/live.ts';
import { changeQuery, place } from '../../core/router.ts';
import { Age } from '../../ui/age.tsx';
import { FullLink, Link, listPlace } from '../../ui/link.tsx';
import { Refusal } from '../../ui/refusal.tsx';
import { type EventGroup, groupsOf } from './event-groups.ts';

const groupsMax = 300;
const objectsMax = 50;

export function EventList({ kind }: { readonly kind: Kind }) {
  const { query } = place.value;
  const namespace = query.get('ns') ?? undefined;
  const live = useLiveObjects(pathOf(kind, namespace));
  const words = (query.get('q') ?? '').toLowerCase();
  const onlyWarnings = query.get('type') === 'Warning';
  const groups = groupsOf(live.items.value).filter(
    (group) => (!onlyWarnings || group.isWarning) && (!words || textOf(group).includes(words)),
  );
  return (
    <>
      <div class="titleline">
        <h1>Events</h1>
        <span class="quiet">
          {live.items.value.length} in {groups.length} groups
        </span>
        <span class="gap" />
        <button
          type="button"
          class="chip warn"
          aria-pressed={onlyWarnings}
          onClick={() => changeQuery({ type: onlyWarnings ? undefined : 'Warning' })}
        >
          Warnings alone
        </button>
        <input
          type="search"
          class="search"
          placeholder="Search"
          aria-label="Search events"
          value={query.get('q') ?? ''}
          onInput={({ currentTarget }) => changeQuery({ q: currentTarget.value || undefined })}
        />
        <Link to={listPlace(kind)} query={{ as: 'table', q: undefined, type: undefined }}>
          as a table
        </Link>
      </div>
      {live.error.value && <Refusal error={live.error.value} what="Events cannot be shown." />}
      {groups.length === 0 && !live.error.value && (
        <p class="waiting">
          {live.state.value === 'loading'
            ? 'Loading…'
            : live.items.value.length > 0
              ? 'Nothing fits the search.'
              : 'None are kept.'}
        </p>
      )}
      <ul class="eventgroups">
        {groups.slice(0, groupsMax).map((group) => (
          <Group key={group.key} group={group} />
        ))}
      </ul>
      {groups.length > groupsMax && <p class="quiet">and {groups.length - groupsMax} older groups</p>}
    </>
  );
}

const textOf = ({ reason, kind, message, objects }: EventGroup): string =>
  [reason, kind, message, ...objects.map(({ namespace, name }) => `${namespace}/${name}`)]
    .join(' ')
    .toLowerCase();

function Group({
  group: { isWarning, reason, kind, message, count, latest, objects },
}: {
  readonly group: EventGroup;
}) {
  const [only] = objects;
  return (
    <li class="panel">
      <p class="eventhead">
        <span class={`badge ${isWarning ? 'warn' : ''}`}>{reason}</span>
        {objects.length === 1 ? (
          <About object={only!} />
        ) : (
          <strong>
            {objects.length} objects of the kind {kind}
            {only!.namespace && <span class="quiet"> in {only!.namespace}</span>}
          </strong>
        )}
        <span class="quiet">
          <Age since={latest} />
          {count > 1 && ` · ${count} times`}
        </span>
      </p>
      <p>{message}</p>
      {objects.length > 1 && (
        <details>
          <summary>all {objects.length}</summary>
          <ul class="plainlist">
            {objects.slice(0, objectsMax).map((object) => (
              <li key={`${object.namespace} ${object.name}`}>
                <About object={object} />{' '}
                <span class="quiet">
                  <Age since={object.latest} />
                  {object.count > 1 && ` · ${object.count} times`}
                </span>
                {object.message !== message && <p class="quiet">{object.message}</p>}
              </li>
            ))}
            {objects.length > objectsMax && <li class="quiet">and {objects.length - objectsMax} more</li>}
          </ul>
        </details>
      )}
    </li>
  );
}

function About({
  object: { apiVersion, kind, namespace, name },
}: {
  readonly object: EventGroup['objects'][number];
}) {
  const known = kindNamed(apiVersion, kind);
  return (
    <span>
      <span class="quiet">{kind}</span>{' '}
      {known ? (
        <FullLink kind={known} within={undefined} namespace={namespace} name={name} />
      ) : (
        `${namespace ? `${namespace}/` : ''}${name}`
      )}
    </span>
  );
}
