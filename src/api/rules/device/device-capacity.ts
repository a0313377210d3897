/** Capacities of devices that several claims can have: how much of one a claim may ask for. */
import { child, duplicate, forbidden, invalid, required } from '../../errors/field-error.ts';
import type {
  CapacityRequestPolicy,
  CapacityRequestPolicyRange,
  DeviceCapacity,
} from '../../generated/types.ts';
import { compareQuantities, parseQuantity } from '../../values/quantity.ts';
import type { Findings } from '../shared/findings.ts';
import { listErrors } from './device-parts.ts';

const valuesMax = 10;

export function* capacityErrors(capacity: DeviceCapacity, path: string, shared: boolean): Findings {
  const { requestPolicy, value = '0' } = capacity;
  if (!requestPolicy) return;
  const at = child(path, 'requestPolicy');
  if (!shared) return yield forbidden(at, 'allowMultipleAllocations must be true');
  yield* policyErrors(requestPolicy, value, at);
}

function* policyErrors(policy: CapacityRequestPolicy, capacity: string, path: string): Findings {
  const { default: preset, validValues = [], validRange } = policy;
  if (validValues.length && validRange)
    return yield forbidden(
      path,
      'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time',
    );
  const used = validRange ? 'validRange' : 'validValues';
  if (!validRange && validValues.length === 0) return;
  if (preset === undefined) return yield required(child(path, 'default'), `required when ${used} is defined`);
  if (validRange) yield* rangeErrors(validRange, preset, capacity, child(path, 'validRange'));
  else yield* valueErrors(validValues, preset, capacity, path);
}

const exceeds = (a: string, b: string): boolean => compareQuantities(parseQuantity(a), parseQuantity(b)) > 0;

function* valueErrors(values: readonly string[], preset: string, capacity: string, path: string): Findings {
  const seen: string[] = [];
  const isSame = (a: string, b: string): boolean => !exceeds(a, b) && !exceeds(b, a);
  yield* listErrors(values, valuesMax, child(path, 'validValues'), function* (value, at) {
    if (exceeds(value, capacity))
      yield invalid(at, value, `option is larger than capacity value: ${capacity}`);
    if (seen.some((other) => isSame(other, value))) yield duplicate(at, value);
    seen.push(value);
  });
  if (!values.some((value) => isSame(value, preset)))
    yield invalid(child(path, 'default'), preset, 'default value is not in the list of valid values');
}

function* rangeErrors(
  { min, max, step }: CapacityRequestPolicyRange,
  preset: string,
  capacity: string,
  path: string,
): Findings {
  const minPath = child(path, 'min');
  if (min === undefined) return yield required(minPath, 'required when validRange is defined');
  if (exceeds(min, capacity)) yield invalid(minPath, min, `min is larger than capacity value: ${capacity}`);
  if (exceeds(min, preset)) yield invalid(minPath, preset, `default is less than min: ${min}`);
  if (max !== undefined) {
    const maxPath = child(path, 'max');
    if (exceeds(min, max)) yield invalid(minPath, min, `min is larger than max: ${max}`);
    if (exceeds(max, capacity)) yield invalid(maxPath, max, `max is larger than capacity value: ${capacity}`);
    if (exceeds(preset, max)) yield invalid(maxPath, preset, `default is more than max: ${max}`);
  }
  if (step !== undefined) yield* stepErrors(step, min, [preset, max], path);
}

function* stepErrors(
  step: string,
  min: string,
  values: readonly (string | undefined)[],
  path: string,
): Findings {
  const [size, first] = [parseQuantity(step).nano, parseQuantity(min).nano];
  const stepPath = child(path, 'step');
  if (size <= 0n) return yield invalid(stepPath, step, 'must be greater than zero');
  for (const value of values) {
    if (value === undefined || exceeds(min, value)) continue;
    if ((parseQuantity(value).nano - first) % size !== 0n)
      yield invalid(stepPath, value, `value is not a multiple of a given step (${step}) from (${min})`);
  }
}

/** Amounts of counters by name. */
export function* counterErrors(
  counters: Readonly<Record<string, unknown>> | undefined,
  max: number,
  path: string,
  nameErrors: (name: string, path: string) => Findings,
): Findings {
  const names = Object.keys(counters ?? {});
  if (names.length === 0) return yield required(path);
  yield* listErrors(names, max, path, (name) => nameErrors(name, path));
}
