/** All versions of an object that are kept, the latest first: who wrote each and when, and what changed. */
import { useEffect, useState } from 'preact/hooks';
import { type Change, readHistory } from '../../core/history.ts';
import { pathOf } from '../../core/kinds.ts';
import type { ApiObject } from '../../core/objects.ts';
import { changeQuery } from '../../core/router.ts';
import { yamlText } from '../../core/text/yaml-text.ts';
import { type Writer, writerOf } from '../../core/writer.ts';
import { Age } from '../../ui/age.tsx';
import { Diff } from '../../ui/diff.tsx';
import { Refusal } from '../../ui/refusal.tsx';
import type { TabProps } from '../tab.ts';

interface Version {
  readonly change: Change;
  readonly before: ApiObject | undefined;
  readonly writer: Writer | undefined;
}

/** Versions that are kept here; the oldest go first. */
const versionsMax = 500;
const openFirst = 3;

export function Tab({ kind, object }: TabProps) {
  const { namespace, name } = object.metadata;
  const [versions, setVersions] = useState<readonly Version[]>([]);
  const [error, setError] = useState<Error>();
  useEffect(() => {
    const stop = new AbortController();
    let latest: ApiObject | undefined;
    void readHistory(
      pathOf(kind, namespace),
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
            return { change, before, writer: writerOf(change.object, before) };
          });
          setVersions((known) => [...known, ...read].slice(-versionsMax));
        },
        refused: setError,
      },
    );
    return () => stop.abort();
  }, [kind, namespace, name]);
  if (error) return <Refusal error={error} what="History cannot be shown." />;
  if (versions.length === 0) return <p class="waiting">Reading history…</p>;
  return (
    <ol class="versions" reversed>
      {versions.toReversed().map((version, i) => (
        <VersionItem key={version.change.version} version={version} open={i < openFirst} />
      ))}
    </ol>
  );
}

const verbs = {
  STATE: 'was there when history begins',
  ADDED: 'created',
  MODIFIED: 'changed',
  DELETED: 'deleted',
};

function VersionItem({
  version: { change, before, writer },
  open,
}: {
  readonly version: Version;
  readonly open: boolean;
}) {
  return (
    <li class="panel">
      <details open={open}>
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
          <Diff before={before ? yamlText(shown(before)) : ''} after={yamlText(shown(change.object))} />
        )}
      </details>
      <button type="button" onClick={() => changeQuery({ at: String(change.version), tab: undefined }, true)}>
        Show the cluster then
      </button>
    </li>
  );
}

/** Without what changes with every write and says nothing. */
function shown({ metadata, ...rest }: ApiObject): unknown {
  const { managedFields: _, resourceVersion: __, ...named } = metadata;
  const { apiVersion, kind, ...parts } = rest;
  return { apiVersion, kind, metadata: named, ...parts };
}
