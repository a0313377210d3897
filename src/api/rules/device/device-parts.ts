/** What claims, classes and slices of devices have in common: selectors, settings, taints and tolerations. */
import { selectorProblem } from '../../cel/devices.ts';
import {
  child,
  type FieldError,
  forbidden,
  index,
  invalid,
  notSupported,
  required,
  tooLong,
  tooMany,
} from '../../errors/field-error.ts';
import type {
  DeviceSelector,
  DeviceTaint,
  DeviceToleration,
  OpaqueDeviceConfiguration,
} from '../../generated/types.ts';
import { jsonText } from '../../text/json-text.ts';
import { isJsonObject } from '../../text/object.ts';
import { isLabelValue, isQualifiedName } from '../../values/names.ts';
import { type Findings, problemsOf } from '../shared/findings.ts';
import { driverNameErrors } from './driver-name.ts';

const selectorsMax = 32;
const expressionBytesMax = 10_240;
const parametersBytesMax = 10_240;
const tolerationsMax = 16;
const effects = ['NoExecute', 'NoSchedule', 'None'];
const operators = ['Equal', 'Exists'];

/** Errors of each item; those of a list with too many items are not looked for. */
export function* listErrors<Item>(
  items: readonly Item[],
  max: number,
  path: string,
  itemErrors: (item: Item, path: string, i: number) => Iterable<FieldError>,
): Findings {
  if (items.length > max) return yield tooMany(path, items.length, max);
  for (const [i, item] of items.entries()) yield* itemErrors(item, index(path, i), i);
}

export const selectorErrors = (selectors: readonly DeviceSelector[] = [], path: string): Findings =>
  listErrors(selectors, selectorsMax, path, oneSelectorErrors);

function* oneSelectorErrors({ cel }: DeviceSelector, path: string): Findings {
  const celPath = child(path, 'cel');
  if (!cel) return yield required(celPath);
  const { expression = '' } = cel;
  const at = child(celPath, 'expression');
  if (Buffer.byteLength(expression) > expressionBytesMax) return yield tooLong(at, expressionBytesMax);
  const problem = selectorProblem(expression);
  if (problem?.reason === 'invalid') yield invalid(at, expression, problem.text);
  else if (problem) yield forbidden(at, problem.text);
}

/** `opaque` of a setting. */
export function* opaqueErrors(opaque: OpaqueDeviceConfiguration | undefined, path: string): Findings {
  if (!opaque) return yield required(path);
  yield* driverNameErrors(opaque.driver, child(path, 'driver'));
  yield* rawErrors(opaque.parameters, child(path, 'parameters'));
}

/** Any object, of bounded size. */
export function* rawErrors(value: unknown, path: string): Findings {
  if (value === undefined || value === null) return yield required(path);
  if (Buffer.byteLength(jsonText(value)) > parametersBytesMax) return yield tooLong(path, parametersBytesMax);
  if (!isJsonObject(value)) yield invalid(path, '<value omitted>', 'must be a valid JSON object');
}

export function* taintErrors({ key = '', value, effect }: DeviceTaint, path: string): Findings {
  yield* problemsOf(child(path, 'key'), key, isQualifiedName(key));
  if (value) yield* problemsOf(child(path, 'value'), value, isLabelValue(value));
  if (!effect) yield required(child(path, 'effect'));
  else if (!effects.includes(effect)) yield notSupported(child(path, 'effect'), effect, effects);
}

export const tolerationsErrors = (tolerations: readonly DeviceToleration[] = [], path: string): Findings =>
  listErrors(tolerations, tolerationsMax, path, tolerationErrors);

function* tolerationErrors(toleration: DeviceToleration, path: string): Findings {
  const { key, operator = '', value = '', effect } = toleration;
  if (key) yield* problemsOf(child(path, 'key'), key, isQualifiedName(key));
  if (operator === 'Exists') {
    if (value) yield invalid(child(path, 'value'), value, 'must be empty for operator `Exists`');
  } else if (operator === 'Equal') yield* problemsOf(child(path, 'value'), value, isLabelValue(value));
  else yield notSupported(child(path, 'operator'), operator, operators);
  if (effect && !effects.includes(effect)) yield notSupported(child(path, 'effect'), effect, effects);
}
