/** A cell as a person reads it: ages count on, and words for states have a colour beside their text. */
import type { ComponentChildren } from 'preact';
import type { Row } from '../../core/live-table.ts';
import { ageText, shownNow } from '../../ui/age.tsx';
import { toneOf } from '../../ui/tone.ts';

const stateColumns = new Set(['Status', 'Phase', 'Ready', 'Type', 'State', 'Available', 'Reason']);

/** What a cell says. */
export const textOf = (value: unknown): string =>
  value === null || value === undefined ? '' : String(value);

/** A cell by the name of its column. No component: there are hundreds of cells in a frame that scrolls. */
export function cellOf(name: string, text: string, row: Row): ComponentChildren {
  if (name === 'Age' && !Number.isNaN(row.createdMs)) return <RowAge sinceMs={row.createdMs} />;
  const tone = stateColumns.has(name) ? toneOf(text) : text === '<none>' ? 'quietcell' : undefined;
  return tone ? <span class={tone}>{text}</span> : text;
}

/** A component, so that it alone is drawn again when time goes on. */
const RowAge = ({ sinceMs }: { readonly sinceMs: number }) => <>{ageText(sinceMs, shownNow())}</>;
