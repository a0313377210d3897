/** The labels and annotations of an object. */
import type { ApiObject } from '../../core/objects.ts';

export function Labels({ object: { metadata } }: { readonly object: ApiObject }) {
  const { labels, annotations } = metadata;
  if (!labels && !annotations) return null;
  return (
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
