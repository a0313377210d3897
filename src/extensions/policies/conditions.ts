/** Match conditions of webhooks and policies: whether a write concerns them. */

import { type CheckedExpression, compileCondition } from '../../api/cel/admission.ts';
import { Budget, BudgetExceeded } from '../../api/cel/budget.ts';
import { CelError } from '../../api/cel/values.ts';
import type { WriteValues } from './writevalues.ts';

/** Steps of all conditions of one webhook or policy, and of one expression. */
const conditionsCostMax = 2_500_000;
export const callCostMax = 1_000_000;

export interface Condition {
  readonly expression: string;
  readonly checked: CheckedExpression;
}

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

/** One that is false decides; otherwise one that fails is told. */
export type ConditionOutcome = 'hold' | 'do not hold' | { readonly failure: string };

export async function conditionsOutcome(
  conditions: readonly Condition[],
  values: WriteValues,
  variables = values.variables,
): Promise<ConditionOutcome> {
  let failure: string | undefined;
  let left = conditionsCostMax;
  for (const { expression, checked } of conditions) {
    try {
      const { program } = checked;
      if (program === undefined) throw new CelError(checked.problem);
      const value = await values.evaluated(() => {
        const budget = new Budget(Math.min(callCostMax, left));
        try {
          return program.run(variables, budget);
        } finally {
          left -= budget.spent;
          values.spend(budget.spent);
        }
      });
      if (value === false) return 'do not hold';
      if (value !== true) throw new CelError('must evaluate to bool');
    } catch (error) {
      failure ??= expressionFailure(expression, error);
    }
  }
  return failure === undefined ? 'hold' : { failure };
}

/** `expression 'E' resulted in error: no such key: a`; errors of other kinds are thrown again. */
export function expressionFailure(expression: string, error: unknown): string {
  if (!(error instanceof CelError || error instanceof BudgetExceeded)) throw error;
  return `expression '${expression}' resulted in error: ${error.message}`;
}
