/**
 * CEL, the expression language of Kubernetes: `compile` a text against the types of its variables, then `run` it.
 *
 *   text → tokens (lexer.ts) → syntax tree (parser.ts, macros.ts) → types (checker.ts, literals.ts)
 *        → functions (compiler.ts, comprehensions.ts), with an estimate of what they cost at most (cost.ts)
 *
 * Expressions come from clients. Length and depth are bounded, everything that runs is charged to a budget before it
 * does, and patterns run in linear time, so no expression can stall the process.
 */

import { Checker, type Environment } from './checker.ts';
import { compileNode } from './compiler.ts';
import { estimateCost } from './cost.ts';
import { variableSize } from './declared-size.ts';
import { checkLiterals } from './literals.ts';
import { parse } from './syntax/parser.ts';
import { type Issue, issuesText } from './syntax/source.ts';
import type { Budget } from './values/budget.ts';
import type { Type } from './values/types.ts';
import type { Value } from './values/values.ts';

export interface Program {
  readonly type: Type;
  /** Names of the variables that the expression uses. */
  readonly references: ReadonlySet<string>;
  /** Steps at most; infinite when the sizes of values are not bounded. */
  readonly costMax: number;
  /** Evaluates the expression. Throws a CelError, or BudgetExceeded. */
  run(variables: Readonly<Record<string, Value>>, budget: Budget): Value;
}

export type Compilation =
  | { readonly program: Program; readonly errors?: undefined }
  /** All errors, each with its line and a caret, as cel-go prints them. */
  | { readonly program?: undefined; readonly errors: string };

export function compile(text: string, environment: Environment): Compilation {
  const issues: Issue[] = [];
  const node = parse(text, issues);
  if (node === undefined) return { errors: issuesText(text, issues) };
  const checker = new Checker(environment, issues);
  const type = checker.check(node);
  if (issues.length === 0) checkLiterals(node, issues);
  if (issues.length > 0) return { errors: issuesText(text, issues) };
  const step = compileNode(node);
  return {
    program: {
      type,
      references: checker.references,
      costMax: estimateCost(node, environment.declaredSize ?? variableSize(environment.variables)),
      run: (variables, budget) => step({ variables, locals: [], budget }),
    },
  };
}
