/** All versions of an object that are kept, the latest first: who wrote each and when, and what changed. */
import { useEffect, useState } from 'preact/hooks';
import { readHistory } from '../../core/history/history.ts';
import { pathOf } from '../../core/kinds.ts';
import type { ApiObject } from '../../core/objects.ts';
import { changeQuery, place } from '../../core/router.ts';
import { Age } from '../../ui/age.tsx';
import { Diff } from '../../ui/diff.tsx';
import { Refusal } from '../../ui/refusal.tsx';
import type { TabProps } from '../tab.ts';
import { itemsOf, mainText, mine, statusText, type Version, versionOf, writersOf } from './versions.ts';

/** Versions that are kept here; the oldest go first. */
const versionsMax = 500;
const openFirst = 3;

export function Tab({ kind, object }: TabProps) {
  const { namespace, name } = object.metadata;
  const { versions, error } = useVersions(pathOf(kind, namespace), name);
  const writer = place.value.query.get('writer') ?? '';
  if (error) return <Refusal error={error} what="History cannot be shown." />;
  if (versions.length === 0) return <p class="waiting">Reading history…</p>;
  const items = itemsOf(versions, writer);
  let shown = 0;
  return (
    <>
      <WriterChoice versions={versions} writer={writer} />
      {items.length === 0 && (
        <p class="quiet">
          {writer === mine
            ? 'Nothing that is kept was written by kubectl, helm, curl or this page.'
            : `Nothing that is kept was written by ${writer}.`}
        </p>
      )}
      <ol class="versions" reversed>
        {items.map((item) =>
          item.type === 'version' ? (
            <VersionItem
              key={item.version.change.version}
              version={item.version}
              isOpen={shown++ < openFirst}
            />
          ) : (
            <StatusItem key={item.versions.at(-1)!.change.version} versions={item.versions} />
          ),
        )}
      </ol>
    </>
  );
}

function useVersions(path: string, name: string) {
  const [versions, setVersions] = useState<readonly Version[]>([]);
  const [error, setError] = useState<Error>();
  useEffect(() => {
    const stop = new AbortController();
    let latest: ApiObject | undefined;
    void readHistory(
      path,
      { query: { fieldSelector: `metadata.name=${name}` }, signal: stop.signal },
      {
        reset: () => {
          latest = undefined;
          setVersions([]);
        },
        changes: (changes) => {
          const read = changes.map((change) => {
            const before = latest;
            latest = change.type === 'DELETED' ? undefined : change.object;
            return versionOf(change, before);
          });
          setVersions((known) => [...known, ...read].slice(-versionsMax));
        },
        refused: setError,
      },
    );
    return () => stop.abort();
  }, [path, name]);
  return { versions, error };
}

interface WriterChoiceProps {
  readonly versions: readonly Version[];
  readonly writer: string;
}

function WriterChoice({ versions, writer }: WriterChoiceProps) {
  const writers = writersOf(versions);
  const isKnown = writer === '' || writer === mine || writers.some(([name]) => name === writer);
  const choose = (next: string): void => changeQuery({ writer: next || undefined });
  return (
    <div class="titleline">
      <label class="quiet">
        Written by{' '}
        <select value={writer} onChange={({ currentTarget }) => choose(currentTarget.value)}>
          <option value="">everyone ({versions.length})</option>
          <option value={mine}>me: kubectl, helm, curl, this page</option>
          {writers.map(([name, count]) => (
            <option key={name} value={name}>
              {name} ({count})
            </option>
          ))}
          {!isKnown && <option value={writer}>{writer} (0)</option>}
        </select>
      </label>
      <button
        type="button"
        aria-pressed={writer === mine}
        onClick={() => choose(writer === mine ? '' : mine)}
      >
        What did I change?
      </button>
    </div>
  );
}

const verbs = {
  STATE: 'was there when history begins',
  ADDED: 'created',
  MODIFIED: 'changed',
  DELETED: 'deleted',
};

interface VersionItemProps {
  readonly version: Version;
  readonly isOpen: boolean;
}

function VersionItem({ version: { change, before, writer }, isOpen }: VersionItemProps) {
  const [wasStatus, isStatus] = [before ? statusText(before) : '', statusText(change.object)];
  return (
    <li class="panel">
      <details open={isOpen}>
        <summary>
          <strong>{verbs[change.type]}</strong>
          {writer && change.type !== 'DELETED' && (
            <>
              {' '}
              by <strong>{writer.name}</strong> <span class="quiet">({writer.how})</span>
            </>
          )}{' '}
          <span class="quiet">
            <Age
              since={change.type === 'DELETED' ? change.object.metadata.deletionTimestamp : writer?.time}
            />{' '}
            · version {change.version}
          </span>
        </summary>
        {change.type !== 'DELETED' && (
          <>
            <Diff
              before={before ? mainText(before) : ''}
              after={mainText(change.object)}
              of={`version ${change.version}`}
            />
            {wasStatus !== isStatus && (
              <details>
                <summary>{before ? 'and its status' : 'with its status'}</summary>
                <Diff before={wasStatus} after={isStatus} of={`the status of version ${change.version}`} />
              </details>
            )}
          </>
        )}
      </details>
      <ThenButton version={change.version} />
    </li>
  );
}

/** Versions in a row that changed nothing but the status: what came of all of them together, and each. */
function StatusItem({ versions }: { readonly versions: readonly Version[] }) {
  const [isOpen, setOpen] = useState(false);
  const [newest, oldest] = [versions[0]!, versions.at(-1)!];
  const names = [...new Set(versions.flatMap(({ writer }) => writer?.name ?? []))].join(', ');
  return (
    <li class="panel folded">
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>
          {versions.length === 1 ? 'status changed' : `status changed ${versions.length} times`}
          {names && ` by ${names}`}{' '}
          <span class="quiet">
            <Age since={newest.writer?.time} />
          </span>
        </summary>
        {isOpen && (
          <>
            <Diff
              before={oldest.before ? statusText(oldest.before) : ''}
              after={statusText(newest.change.object)}
              of={`the status up to version ${newest.change.version}`}
            />
            {versions.length > 1 &&
              versions.map(({ change, before, writer }) => (
                <details key={change.version}>
                  <summary>
                    by {writer?.name} · version {change.version}
                  </summary>
                  <Diff
                    before={before ? statusText(before) : ''}
                    after={statusText(change.object)}
                    of={`the status of version ${change.version}`}
                  />
                </details>
              ))}
          </>
        )}
      </details>
      <ThenButton version={newest.change.version} />
    </li>
  );
}

const ThenButton = ({ version }: { readonly version: number }) => (
  <button
    type="button"
    onClick={() => changeQuery({ at: String(version), tab: undefined, writer: undefined }, true)}
  >
    Show the cluster then
  </button>
);
