/** A workload's first screen: how far its rollout is, its pods, its revisions, and what it stands with. */
import { kindOf } from '../../core/kinds.ts';
import { maySee } from '../../core/rights.ts';
import { selectorOf } from '../../core/selector.ts';
import { rolloutOf } from '../../core/workload.ts';
import { ShareBar } from '../../ui/bar.tsx';
import { readinessTone } from '../../ui/tone.ts';
import { PodTable } from '../panels/pod-table.tsx';
import { ProblemsOf } from '../problems/problems-of.tsx';
import type { TabProps } from '../tab.ts';
import { Conditions } from './conditions.tsx';
import { EventsOf } from './events.tsx';
import { Facts } from './fact-list.tsx';
import { Labels } from './labels.tsx';
import { RelationPanels } from './relations.tsx';
import { RevisionList } from './revision-list.tsx';
import { keeperOf } from './revisions.ts';

const words = {
  complete: ['All pods are ready', 'good'],
  progressing: ['Rolling out', 'warn'],
  paused: ['Paused', 'warn'],
  stuck: ['The rollout gave up', 'bad'],
  unready: ['Not all pods are ready', 'bad'],
} as const;

export function WorkloadSummary({ kind, object }: TabProps) {
  const { namespace } = object.metadata;
  const { state, ready, wanted, updated, reason } = rolloutOf(kind.id, object);
  const [said, tone] = words[state];
  const isSet = kind.id === 'replicasets.apps';
  const word = isSet && state === 'progressing' ? 'Waiting for pods' : said;
  const keeper = keeperOf(kind.id);
  const share = (label: string, part: number) => (
    <ShareBar
      label={label}
      part={part}
      whole={wanted}
      text={`${part} of ${wanted}`}
      tone={readinessTone(part, wanted)}
    />
  );
  const pods = maySee('pods', namespace) && (
    <PodTable
      key="pods"
      namespace={namespace}
      query={{ labelSelector: selectorOf(object.spec?.selector) }}
      isWhole={state === 'complete'}
    />
  );
  const revisions = keeper && kindOf(keeper) && maySee(keeper, namespace) && (
    <RevisionList key="revisions" kind={kind} object={object} keeper={keeper} />
  );
  return (
    <div class="beside">
      <div>
        <section class="panel">
          <p class="podstate">
            <strong class={tone}>{wanted === 0 && state === 'complete' ? 'Scaled to zero' : word}</strong>{' '}
            {reason}
          </p>
          {wanted > 0 && share('Ready', ready)}
          {wanted > 0 && !isSet && share('Current', updated)}
          <Facts object={object} />
        </section>
        <ProblemsOf object={object} />
        {state === 'complete' ? [pods, revisions] : [revisions, pods]}
      </div>
      <div>
        {maySee('events', namespace) && <EventsOf object={object} />}
        <RelationPanels kind={kind} object={object} />
        <Conditions object={object} />
        <Labels object={object} />
      </div>
    </div>
  );
}
