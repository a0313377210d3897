/** Tolerations: rules for which taints of a node a pod tolerates. */
import { child, forbidden, index, invalid, notSupported } from '../../errors/field-error.ts';
import type { Toleration } from '../../generated/types.ts';
import { isLabelValue, isQualifiedName } from '../../values/names.ts';
import { type Findings, problemsOf } from '../shared/findings.ts';

const operators = ['Equal', 'Exists'];
/** These compare numbers, behind a feature gate that is off; the error about one names them all the same. */
const gatedOperators = ['Lt', 'Gt'];
const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

export function* tolerationErrors(tolerations: readonly Toleration[] | undefined, path: string): Findings {
  for (const [i, toleration] of (tolerations ?? []).entries()) {
    const { key = '', operator = '', value = '', effect = '' } = toleration;
    const entry = index(path, i);
    const operatorPath = child(entry, 'operator');
    if (key) yield* problemsOf(child(entry, 'key'), key, isQualifiedName(key));
    else if (operator !== 'Exists')
      yield invalid(
        operatorPath,
        operator,
        'operator must be Exists when `key` is empty, which means "match all values and all keys"',
      );
    if (toleration.tolerationSeconds !== undefined && effect !== 'NoExecute')
      yield invalid(
        child(entry, 'effect'),
        effect,
        "effect must be 'NoExecute' when `tolerationSeconds` is set",
      );
    if (operator === 'Exists') {
      if (value) yield invalid(operatorPath, value, "value must be empty when `operator` is 'Exists'");
    } else if (gatedOperators.includes(operator))
      yield notSupported(operatorPath, operator, [...operators, ...gatedOperators]);
    else if (operator && operator !== 'Equal') yield notSupported(operatorPath, operator, operators);
    else {
      const problems = isLabelValue(value);
      if (problems.length) yield invalid(operatorPath, value, problems.join(';'));
    }
    if (effect && !effects.includes(effect)) yield notSupported(child(entry, 'effect'), effect, effects);
  }
}

/** An update may add tolerations and change tolerationSeconds, but never remove a toleration. */
export function* tolerationChangeErrors(
  tolerations: readonly Toleration[] | undefined,
  old: readonly Toleration[] | undefined,
  path: string,
): Findings {
  const kept = new Set((tolerations ?? []).map(identity));
  if (!(old ?? []).every((toleration) => kept.has(identity(toleration))))
    yield forbidden(path, 'existing toleration can not be modified except its tolerationSeconds');
}

/** Equal for tolerations of the same taints. */
export const identity = ({ key, operator, value, effect }: Toleration): string =>
  JSON.stringify([key ?? '', operator ?? '', value ?? '', effect ?? '']);
