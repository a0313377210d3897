/** Selectors of workloads and services. */
import type { Json } from './objects.ts';

/** A label selector as the text of a query. */
export function selectorOf(selector: Json): string {
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  return [
    ...Object.entries(matchLabels).map(([name, value]) => `${name}=${value}`),
    ...matchExpressions.map(({ key, operator, values = [] }: Json) => {
      if (operator === 'Exists') return key;
      if (operator === 'DoesNotExist') return `!${key}`;
      return `${key} ${operator === 'In' ? 'in' : 'notin'} (${values.join()})`;
    }),
  ].join();
}

/** Whether labels have all that is wanted; nothing wanted selects nothing. */
export function selects(wanted: Json, labels: Json): boolean {
  const pairs = Object.entries(wanted ?? {});
  return pairs.length > 0 && pairs.every(([name, value]) => labels?.[name] === value);
}
