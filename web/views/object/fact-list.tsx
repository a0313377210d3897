/** The facts of an object as a list of names and values. */
import type { ApiObject } from '../../core/objects.ts';
import { Age } from '../../ui/age.tsx';
import { Breakable } from '../../ui/breakable.tsx';
import { toneOf } from '../../ui/tone.ts';
import { type Fact, factsOf, stateFacts } from './facts.ts';

/** Longer values have a line of their own. */
const longLength = 26;
/** Times are shown as ages. */
const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;

export const Facts = ({ object }: { readonly object: ApiObject }) => (
  <dl class="facts columns">
    <FactRows facts={factsOf(object)} />
  </dl>
);

export const FactRows = ({ facts }: { readonly facts: readonly Fact[] }) => (
  <>
    {facts.map(({ label, value }) => (
      <div key={label} class={value.length > longLength ? 'long' : undefined}>
        <dt>{label}</dt>
        <dd class={stateFacts.has(label) ? toneOf(value) : undefined}>
          {time.test(value) ? <Ago time={value} /> : <Breakable text={value} />}
        </dd>
      </div>
    ))}
  </>
);

const Ago = ({ time: since }: { readonly time: string }) => (
  <span title={since}>
    <Age since={since} /> ago
  </span>
);
