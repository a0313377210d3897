/** Rolling updates: rules for maxUnavailable and maxSurge. */
import { child, invalid } from '../../errors/field-error.ts';
import { type Findings, negative } from '../shared/findings.ts';

/** A number of pods, or a percentage such as `25%`. */
export type IntOrPercent = number | string;

export interface RollingBounds {
  maxUnavailable?: IntOrPercent;
  maxSurge?: IntOrPercent;
}

const percentText =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

/** Both bounds are whole numbers or percentages, and not below zero. */
export function* boundErrors({ maxUnavailable, maxSurge }: RollingBounds, path: string): Findings {
  yield* intOrPercentErrors(maxUnavailable, child(path, 'maxUnavailable'));
  yield* intOrPercentErrors(maxSurge, child(path, 'maxSurge'));
}

export function* intOrPercentErrors(value: IntOrPercent = 0, path: string): Findings {
  if (typeof value === 'number') yield* negative(path, value);
  else if (percentOf(value) === undefined) yield invalid(path, value, percentText);
}

/** At most 100 %. A plain number may be larger than the number of replicas. */
export function* overWholeErrors(value: IntOrPercent | undefined, path: string): Findings {
  if ((percentOf(value) ?? 0) > 100) yield invalid(path, value, 'must not be greater than 100%');
}

/** Text that is no percentage counts as 0; it is refused elsewhere. */
export const isZero = (value: IntOrPercent | undefined): boolean =>
  (typeof value === 'number' ? value : (percentOf(value) ?? 0)) === 0;

function percentOf(value: IntOrPercent | undefined): number | undefined {
  return typeof value === 'string' && /^[0-9]+%$/.test(value) ? Number(value.slice(0, -1)) : undefined;
}
