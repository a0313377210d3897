/** How many rows are failing, waiting and well; each leads to these alone, and back. */
import { changeQuery } from '../../core/router.ts';
import { type RowState, rowStates, toneOfState } from './row-state.ts';

interface StateChipsProps {
  readonly counts: Readonly<Record<RowState, number>>;
  readonly chosen: string;
}

export const StateChips = ({ counts, chosen }: StateChipsProps) => (
  <span class="chips" role="group" aria-label="State">
    {rowStates.map(
      (state) =>
        (counts[state] > 0 || state === chosen) && (
          <button
            key={state}
            type="button"
            class={`chip ${toneOfState[state]}`}
            aria-pressed={state === chosen}
            onClick={() => changeQuery({ state: state === chosen ? undefined : state })}
          >
            {counts[state].toLocaleString('en')} {state}
          </button>
        ),
    )}
  </span>
);
