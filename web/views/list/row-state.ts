/** Whether the object of a row is well, by what the columns of its kind say: a status, or how many of those wanted are ready. */
import type { Row } from '../../core/live-table.ts';
import type { TableColumn } from '../../core/objects.ts';
import { readinessTone, type Tone, toneOf } from '../../ui/tone.ts';

/** What people filter by: the word of each chip, in the order in which problems come first. */
export const rowStates = ['failing', 'waiting', 'well'] as const;
export type RowState = (typeof rowStates)[number];

const stateOfTone: Readonly<Record<Tone, RowState>> = { bad: 'failing', warn: 'waiting', good: 'well' };
export const toneOfState: Readonly<Record<RowState, Tone>> = {
  failing: 'bad',
  waiting: 'warn',
  well: 'good',
};

const statusNames = ['Status', 'Phase', 'State', 'Available', 'Type'];
/** Beside a share of pods that are ready, a number of available ones is no status, although it is served as a text. */
const countNames = new Set(['Available']);
const ended = /^(completed?|succeeded)$/i;

/**
 * Returns a function that finds the state of rows; undefined where the columns say nothing about it. `failed`: uids of
 * those that have failed whatever their columns say.
 */
export function rowStateOf(
  columns: readonly TableColumn[],
  failed: ReadonlySet<string> = new Set(),
): (row: Row) => RowState | undefined {
  const byColumns = stateByColumns(columns);
  return (row) => (failed.has(row.uid) ? 'failing' : byColumns(row));
}

function stateByColumns(columns: readonly TableColumn[]): (row: Row) => RowState | undefined {
  const at = (name: string): number => columns.findIndex((column) => column.name === name);
  const [ready, desired] = [at('Ready'), at('Desired')];
  const status = columns.findIndex(
    ({ name, type }) =>
      type === 'string' && statusNames.includes(name) && !(ready >= 0 && countNames.has(name)),
  );
  if (status < 0 && ready < 0) return () => undefined;
  return ({ cells }) => {
    const words = status < 0 ? undefined : String(cells[status] ?? '');
    const found = words === undefined ? undefined : toneOf(words);
    if (ready < 0 || (found && found !== 'good') || (words && ended.test(words)))
      return found && stateOfTone[found];
    const tone = readyTone(cells[ready], desired < 0 ? undefined : cells[desired]);
    if (!tone) return found && stateOfTone[found];
    // A pod that runs and is not ready yet is waited for; a workload without a pod that is ready fails.
    return tone === 'bad' && words !== undefined ? 'waiting' : stateOfTone[tone];
  };
}

/** `2/3`, a number beside one that is desired, or the status of a condition. */
function readyTone(ready: unknown, desired: unknown): Tone | undefined {
  const share = /^(\d+)\/(\d+)$/.exec(String(ready ?? ''));
  if (share) return readinessTone(Number(share[1]), Number(share[2]));
  if (typeof ready === 'number' && typeof desired === 'number') return readinessTone(ready, desired);
  return typeof ready === 'string' ? toneOf(ready) : undefined;
}
