/** What a person wants to know of an object first. */

import { maySee } from '../../core/rights.ts';
import { toneOf } from '../../ui/tone.ts';
import type { TabProps } from '../tab.ts';
import { Conditions } from './conditions.tsx';
import { EventsOf } from './events.tsx';
import { factsOf, stateFacts } from './facts.ts';
import { Labels } from './labels.tsx';
import { PodSummary } from './pod-summary.tsx';
import { RelationPanels } from './relations.tsx';

export function Tab(props: TabProps) {
  return props.object.kind === 'Pod' ? <PodSummary {...props} /> : <Summary {...props} />;
}

function Summary({ kind, object }: TabProps) {
  const facts = factsOf(object);
  return (
    <div class="panels flow">
      {facts.length > 0 && (
        <section class="panel">
          <h2>{kind.kind}</h2>
          <dl class="facts">
            {facts.map(({ label, value }) => (
              <div key={label}>
                <dt>{label}</dt>
                <dd class={stateFacts.has(label) ? toneOf(value) : undefined}>{value}</dd>
              </div>
            ))}
          </dl>
        </section>
      )}
      <Conditions object={object} />
      <RelationPanels kind={kind} object={object} />
      <Labels object={object} />
      {object.kind !== 'Event' && maySee('events', object.metadata.namespace) && <EventsOf object={object} />}
    </div>
  );
}
