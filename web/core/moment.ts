/**
 * The moment that the dashboard shows: now, or a past version (`at` in the address). All lists use it, so the whole
 * page shows the cluster as it was.
 */
import { computed, signal } from '@preact/signals';
import { place } from './router.ts';

export const moment = computed(() => {
  const at = Number(place.value.query.get('at'));
  return Number.isSafeInteger(at) && at > 0 ? at : undefined;
});

/** The time of that version, as far as it is known; ages are counted from it. */
export const momentMs = signal<number | undefined>(undefined);

/** Parameters of a list that shows the moment. */
export const momentQuery = (at: number | undefined) =>
  at === undefined ? {} : { resourceVersion: at, resourceVersionMatch: 'Exact' };
