/** The facts of an object as a list of names and values. */
import type { ApiObject } from '../../core/objects.ts';
import { toneOf } from '../../ui/tone.ts';
import { factsOf, stateFacts } from './facts.ts';

export const Facts = ({ object }: { readonly object: ApiObject }) => (
  <dl class="facts columns">
    {factsOf(object).map(({ label, value }) => (
      <div key={label}>
        <dt>{label}</dt>
        <dd class={stateFacts.has(label) ? toneOf(value) : undefined}>{value}</dd>
      </div>
    ))}
  </dl>
);
