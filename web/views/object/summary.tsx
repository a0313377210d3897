/** What a person wants to know of an object first. */

import { maySee } from '../../core/rights.ts';
import { toneOf } from '../../ui/tone.ts';
import type { TabProps } from '../tab.ts';
import { Conditions } from './conditions.tsx';
import { Containers } from './containers.tsx';
import { Events } from './events.tsx';
import { factsOf, stateFacts } from './facts.ts';
import { RelationPanels } from './relations.tsx';

export function Tab({ kind, object }: TabProps) {
  const facts = factsOf(object);
  const { labels, annotations } = object.metadata;
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
      {object.kind === 'Pod' && <Containers object={object} />}
      <RelationPanels kind={kind} object={object} />
      {(labels || annotations) && (
        <section class="panel">
          <h2>Labels</h2>
          <Pairs of={labels} />
          {annotations && (
            <details>
              <summary>{countText(Object.keys(annotations).length)}</summary>
              <Pairs of={annotations} />
            </details>
          )}
        </section>
      )}
      {object.kind !== 'Event' && maySee('events', object.metadata.namespace) && <Events object={object} />}
    </div>
  );
}

const countText = (count: number): string => (count === 1 ? '1 annotation' : `${count} annotations`);

function Pairs({ of = {} }: { readonly of?: Readonly<Record<string, string>> }) {
  const entries = Object.entries(of);
  if (entries.length === 0) return <p class="quiet">none</p>;
  return (
    <ul class="pairs">
      {entries.map(([name, value]) => (
        <li key={name} class="badge">
          <span class="quiet">{name}</span> {value}
        </li>
      ))}
    </ul>
  );
}
