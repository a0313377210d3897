/** Conditions: expressions that say whether a webhook, a policy or an authorizer is concerned. */
import type { CheckedExpression } from './admission.ts';
import { Budget, BudgetExceeded } from './budget.ts';
import { CelError, type Value } from './values.ts';

/** Steps of all conditions together, and of one expression. */
const conditionsCostMax = 2_500_000;
export const callCostMax = 1_000_000;

export interface Condition {
  readonly expression: string;
  readonly checked: CheckedExpression;
}

/** One that is false decides; otherwise one that fails is told. */
export type ConditionOutcome = 'hold' | 'do not hold' | { readonly failure: string };

export function conditionsOutcome(
  conditions: readonly Condition[],
  variables: Readonly<Record<string, Value>>,
): ConditionOutcome {
  let failure: string | undefined;
  let left = conditionsCostMax;
  for (const { expression, checked } of conditions) {
    const budget = new Budget(Math.min(callCostMax, left));
    try {
      if (checked.program === undefined) throw new CelError(checked.problem);
      const value = checked.program.run(variables, budget);
      if (value === false) return 'do not hold';
      if (value !== true) throw new CelError('must evaluate to bool');
    } catch (error) {
      failure ??= expressionFailure(expression, error);
    }
    left -= budget.spent;
  }
  return failure === undefined ? 'hold' : { failure };
}

/** `expression 'E' resulted in error: no such key: a`; errors of other kinds are thrown again. */
export function expressionFailure(expression: string, error: unknown): string {
  if (!(error instanceof CelError || error instanceof BudgetExceeded)) throw error;
  return `expression '${expression}' resulted in error: ${error.message}`;
}
