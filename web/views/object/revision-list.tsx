/** The revisions of a workload: old and new side by side while both have pods, what each changed, and the way back. */
import { useState } from 'preact/hooks';
import { kindOf, pathOf } from '../../core/kinds.ts';
import { useLiveObjects } from '../../core/live.ts';
import { moment } from '../../core/moment.ts';
import { yamlText } from '../../core/text/yaml-text.ts';
import { Age } from '../../ui/age.tsx';
import { ShareBar } from '../../ui/bar.tsx';
import { Breakable } from '../../ui/breakable.tsx';
import { Diff } from '../../ui/diff.tsx';
import { readinessTone } from '../../ui/tone.ts';
import type { TabProps } from '../tab.ts';
import { ActionDialog } from './action-dialog.tsx';
import { actionsOf } from './actions.ts';
import { type Revision, revisionsFrom } from './revisions.ts';
import { rollBack, rollBackTo } from './workload-actions.ts';

/** Revisions that are shown without a click. */
const shownMax = 3;

interface RevisionListProps extends TabProps {
  readonly keeper: string;
}

export function RevisionList({ kind, object, keeper }: RevisionListProps) {
  const live = useLiveObjects(pathOf(kindOf(keeper)!, object.metadata.namespace));
  const [chosen, setChosen] = useState<Revision>();
  const revisions = revisionsFrom(live.items.value, object);
  if (revisions.length === 0) return null;
  const mayGoBack = moment.value === undefined && actionsOf({ kind, object }).includes(rollBack);
  const running = revisions.filter(({ pods }) => pods && pods.wanted > 0);
  return (
    <section class="panel">
      <h2>Revisions</h2>
      {running.length > 1 && <SideBySide revisions={running} />}
      <Revisions all={revisions} of={revisions.slice(0, shownMax)} onChoose={mayGoBack && setChosen} />
      {revisions.length > shownMax && (
        <details>
          <summary>{revisions.length - shownMax} older</summary>
          <Revisions all={revisions} of={revisions.slice(shownMax)} onChoose={mayGoBack && setChosen} />
        </details>
      )}
      {chosen && (
        <ActionDialog
          title={`Roll back ${object.metadata.name}`}
          load={() => rollBackTo({ kind, object }, chosen.number)}
          onClose={() => setChosen(undefined)}
        />
      )}
    </section>
  );
}

interface RevisionsProps {
  readonly all: readonly Revision[];
  /** Those that are shown. */
  readonly of: readonly Revision[];
  /** False: the user may not go back. */
  readonly onChoose: false | ((revision: Revision) => void);
}

const Revisions = ({ all, of, onChoose }: RevisionsProps) => (
  <ul class="revisions">
    {of.map((revision) => {
      const at = all.indexOf(revision);
      const before = all[at + 1];
      return (
        <li key={revision.number}>
          <p>
            <strong>{revision.number}</strong> {at === 0 && <span class="badge">current</span>}{' '}
            <Breakable text={revision.images} />{' '}
            <span class="quiet">
              <Age since={revision.created} />
            </span>{' '}
            {at > 0 && onChoose && (
              <button type="button" onClick={() => onChoose(revision)}>
                Roll back to {revision.number}
              </button>
            )}
          </p>
          {before && (
            <details>
              <summary>What it changed</summary>
              <Diff
                before={yamlText(before.template)}
                after={yamlText(revision.template)}
                of={`revision ${revision.number}`}
              />
            </details>
          )}
        </li>
      );
    })}
  </ul>
);

const SideBySide = ({ revisions }: { readonly revisions: readonly Revision[] }) => (
  <div class="sides">
    {revisions.map(({ number, images, pods }, i) => (
      <div key={number}>
        <h3>
          {i === 0 ? 'New' : 'Old'}: revision {number}
        </h3>
        <p>
          <Breakable text={images} />
        </p>
        <ShareBar
          label="Ready"
          part={pods!.ready}
          whole={pods!.wanted}
          text={`${pods!.ready} of ${pods!.wanted}`}
          tone={readinessTone(pods!.ready, pods!.wanted)}
        />
      </div>
    ))}
  </div>
);
