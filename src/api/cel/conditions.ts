/** Conditions: expressions that say whether a webhook, a policy or an authorizer is concerned. */
import type { CheckedExpression } from './admission.ts';
import { Budget, BudgetExceeded } from './values/budget.ts';
import { CelError, type Value } from './values/values.ts';

/** Steps of all conditions together, and of one expression. */
export const conditionsCostMax = 2_500_000;
export const callCostMax = 1_000_000;

export interface Condition {
  readonly expression: string;
  readonly checked: CheckedExpression;
}

/** A condition that is false decides; otherwise one that fails is reported. */
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
      if (!conditionHolds(checked, variables, budget)) return 'do not hold';
    } catch (error) {
      failure ??= expressionFailure(expression, error);
    }
    left -= budget.spent;
  }
  return failure === undefined ? 'hold' : { failure };
}

export function conditionHolds(
  { program, problem }: CheckedExpression,
  variables: Readonly<Record<string, Value>>,
  budget: Budget,
): boolean {
  if (program === undefined) throw new CelError(problem);
  const value = program.run(variables, budget);
  if (typeof value !== 'boolean') throw new CelError('must evaluate to bool');
  return value;
}

/** `expression 'E' resulted in error: no such key: a`; errors of other kinds are thrown again. */
export function expressionFailure(expression: string, error: unknown): string {
  if (!(error instanceof CelError || error instanceof BudgetExceeded)) throw error;
  return `expression '${expression}' resulted in error: ${error.message}`;
}
