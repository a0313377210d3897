/** A cell as a person reads it: ages count on, and words for states have a colour beside their text. */
import type { ComponentChildren } from 'preact';
import type { Row } from '../../core/live-table.ts';
import { ageText, shownNow } from '../../ui/age.tsx';
import { toneOf } from '../../ui/tone.ts';

const stateColumns = new Set(['Status', 'Phase', 'Ready', 'Type', 'State', 'Available', 'Reason']);

/** What a cell says. */
export const textOf = (value: unknown): string =>
  value === null || value === undefined ? '' : String(value);

/**
 * A cell by the name of its column. No component: there are hundreds of cells in a frame that scrolls. `hasState`: beside
 * a column that says the state, none of several that is ready is waited for; elsewhere it is the state, and a bad one.
 */
export function cellOf(name: string, text: string, row: Row, hasState: boolean): ComponentChildren {
  if (name === 'Age' && !Number.isNaN(row.createdMs)) return <RowAge sinceMs={row.createdMs} />;
  const tone = stateColumns.has(name)
    ? isNoneReady(name, text) && !hasState
      ? 'bad'
      : isNoneReady(name, text) && row.cells.some((cell) => isEnded.test(String(cell)))
        ? 'quietcell'
        : toneOf(text)
    : text === '<none>'
      ? 'quietcell'
      : undefined;
  return tone ? <span class={tone}>{text}</span> : text;
}

/** What has come to its end is not ready, as it should be. */
const isEnded = /^(completed|succeeded)$/i;

const isNoneReady = (name: string, text: string): boolean => name === 'Ready' && /^0\/[1-9]/.test(text);

/** A component, so that it alone is drawn again when time goes on. */
const RowAge = ({ sinceMs }: { readonly sinceMs: number }) => <>{ageText(sinceMs, shownNow())}</>;
