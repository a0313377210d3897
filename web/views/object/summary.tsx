/** What a person wants to know of an object first: its state and conditions, labels, and owners. */
import { Age } from '../../ui/age.tsx';
import { toneOf } from '../../ui/tone.ts';
import type { TabProps } from './tabs.ts';

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
}

export function Tab({ object }: TabProps) {
  const conditions: readonly Condition[] = Array.isArray(object.status?.conditions)
    ? object.status.conditions
    : [];
  return (
    <div class="panels">
      <section class="panel">
        <h2>Labels</h2>
        <Pairs of={object.metadata.labels} />
      </section>
      {conditions.length > 0 && (
        <section class="panel whole">
          <h2>Conditions</h2>
          <table class="simple">
            <tbody>
              {conditions.map(({ type, status, reason, message, lastTransitionTime }) => (
                <tr key={type}>
                  <td>
                    <span class={`badge ${toneOf(status) ?? ''}`}>{type}</span>
                  </td>
                  <td>{status}</td>
                  <td>{reason}</td>
                  <td>{message}</td>
                  <td class="quiet">
                    <Age since={lastTransitionTime} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </div>
  );
}

function Pairs({ of = {} }: { readonly of?: Readonly<Record<string, string>> }) {
  const entries = Object.entries(of);
  if (entries.length === 0) return <p class="quiet">none</p>;
  return (
    <ul class="pairs">
      {entries.map(([name, value]) => (
        <li key={name} class="badge">
          {name}={value}
        </li>
      ))}
    </ul>
  );
}
