/** A pod's first screen: its state in words, its containers, and its events beside them. */
import { kindNamed } from '../../core/kinds.ts';
import { maySee } from '../../core/rights.ts';
import { ObjectLink } from '../../ui/link.tsx';
import { toneOf } from '../../ui/tone.ts';
import { ContainerCards } from '../pods/container-cards.tsx';
import { podSentence, stateWords } from '../pods/pod-words.ts';
import type { TabProps } from '../tab.ts';
import { Conditions } from './conditions.tsx';
import { Events, useEventsOf } from './events.tsx';
import { FactRows } from './fact-list.tsx';
import { factsOf } from './facts.ts';
import { Labels } from './labels.tsx';
import { RelationPanels } from './relations.tsx';

export function PodSummary(props: TabProps) {
  return maySee('events', props.object.metadata.namespace) ? <WithEvents {...props} /> : <Pod {...props} />;
}

function WithEvents(props: TabProps) {
  return <Pod {...props} events={useEventsOf(props.object)} />;
}

interface PodProps extends TabProps {
  /** Undefined when the user may not see them. */
  readonly events?: ReturnType<typeof useEventsOf>;
}

function Pod({ kind, object, events }: PodProps) {
  const state = stateWords(object);
  const sentence = podSentence(object, events?.events);
  // An evicted pod is `Evicted`, and the sentence begins with that reason, too.
  const said = sentence?.startsWith(`${state}: `) ? sentence.slice(state.length + 2) : sentence;
  const { namespace, ownerReferences = [] } = object.metadata;
  const owner = ownerReferences.find(({ controller }) => controller);
  const ownerKind = owner && kindNamed(owner.apiVersion, owner.kind);
  return (
    <div class="beside">
      <div>
        <section class="panel">
          <p class="podstate">
            <strong class={toneOf(state)}>{state}</strong> {said}
          </p>
          <dl class="facts columns">
            <FactRows facts={factsOf(object)} />
            {owner && ownerKind && (
              <div>
                <dt>Owned by</dt>
                <dd>
                  {owner.kind} <ObjectLink kind={ownerKind} namespace={namespace} name={owner.name} />
                </dd>
              </div>
            )}
          </dl>
        </section>
        <ContainerCards pod={object} events={events?.events ?? []} />
      </div>
      <div>
        {events && <Events of={events} />}
        <Conditions object={object} />
        <RelationPanels kind={kind} object={object} />
        <Labels object={object} />
      </div>
    </div>
  );
}
