/** Match conditions of webhooks: whether a webhook applies to a write. */
import { type CheckedExpression, compileCondition } from '../../api/cel/admission.ts';
import {
  type Condition,
  type ConditionOutcome,
  callCostMax,
  conditionHolds,
  conditionsCostMax,
  expressionFailure,
} from '../../api/cel/conditions.ts';
import { Budget } from '../../api/cel/values/budget.ts';
import type { WriteValues } from './write-values.ts';

/** A match condition, compiled when it is first used. */
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

/** The result of the conditions for a write. Long evaluations share the event loop like other expressions. */
export async function writeConditionsOutcome(
  conditions: readonly Condition[],
  values: WriteValues,
  variables = values.variables,
): Promise<ConditionOutcome> {
  let failure: string | undefined;
  let left = conditionsCostMax;
  for (const { expression, checked } of conditions) {
    try {
      const holds = await values.evaluated(() => {
        const budget = new Budget(Math.min(callCostMax, left));
        try {
          return conditionHolds(checked, variables, budget);
        } finally {
          left -= budget.spent;
          values.spend(budget.spent);
        }
      });
      if (!holds) return 'do not hold';
    } catch (error) {
      failure ??= expressionFailure(expression, error);
    }
  }
  return failure === undefined ? 'hold' : { failure };
}
