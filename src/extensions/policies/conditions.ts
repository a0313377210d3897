/** Match conditions of webhooks: whether a write concerns them. */
import { type CheckedExpression, compileCondition } from '../../api/cel/admission.ts';
import type { Condition } from '../../api/cel/conditions.ts';

/** A condition of a webhook, compiled when it is first looked at. */
export function hookCondition(expression: string): Condition {
  let checked: CheckedExpression | undefined;
  return {
    expression,
    get checked() {
      checked ??= compileCondition(expression);
      return checked;
    },
  };
}
