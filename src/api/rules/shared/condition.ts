/** Conditions: each type occurs once. In the newer, shared form a condition also has a reason of one word. */
import {
  child,
  duplicate,
  index,
  invalid,
  notSupported,
  required,
  tooLong,
} from '../../errors/field-error.ts';
import type { Condition, PodCondition } from '../../generated/types.ts';
import { isQualifiedName } from '../../values/names.ts';
import { type Findings, problemsOf } from './findings.ts';

const reasonBytesMax = 1024;
const messageBytesMax = 32_768;
const statuses: readonly string[] = ['False', 'True', 'Unknown'];
const reasonText =
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

export function* conditionErrors(conditions: readonly Condition[] = [], path: string): Findings {
  const types = new Set<string>();
  for (const [i, condition] of conditions.entries()) {
    const entry = index(path, i);
    const { type = '', status = '', observedGeneration = 0, lastTransitionTime, message = '' } = condition;
    if (types.has(type)) yield duplicate(child(entry, 'type'), type);
    types.add(type);
    yield* problemsOf(child(entry, 'type'), type, isQualifiedName(type));
    if (!statuses.includes(status)) yield notSupported(child(entry, 'status'), status, statuses);
    if (observedGeneration < 0)
      yield invalid(
        child(entry, 'observedGeneration'),
        observedGeneration,
        'must be greater than or equal to zero',
      );
    if (!lastTransitionTime) yield required(child(entry, 'lastTransitionTime'), 'must be set');
    yield* reasonErrors(condition.reason, child(entry, 'reason'));
    if (Buffer.byteLength(message) > messageBytesMax) yield tooLong(child(entry, 'message'), messageBytesMax);
  }
}

function* reasonErrors(reason: string | undefined, path: string): Findings {
  if (!reason) return yield required(path, 'must be set');
  if (!/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/.test(reason)) yield invalid(path, reason, reasonText);
  if (Buffer.byteLength(reason) > reasonBytesMax) yield tooLong(path, reasonBytesMax);
}

/** The conditions with one of them set. lastTransitionTime is kept when the status does not change. */
export function withCondition<C extends Condition | PodCondition>(
  conditions: readonly C[] | null | undefined,
  condition: Omit<C, 'lastTransitionTime'>,
  now: string,
): C[] {
  const present = conditions ?? [];
  const before = present.find(({ type }) => type === condition.type);
  const same = before?.status === condition.status ? before?.lastTransitionTime : undefined;
  const set = { ...condition, lastTransitionTime: same ?? now } as C;
  return before ? present.map((one) => (one === before ? set : one)) : [...present, set];
}
