/** One run of a policy: its expressions on a write, with one parameter, under one budget of steps. */

import type { Program } from '../../api/cel/cel.ts';
import { callCostMax } from '../../api/cel/conditions.ts';
import { Budget } from '../../api/cel/values/budget.ts';
import { CelError, MapValue, type Value } from '../../api/cel/values/values.ts';
import type { PolicyScope } from '../../api/rules/admission/policy-scope.ts';
import type { Variables, WriteValues } from '../writes/write-values.ts';

/** Maximum cost of all expressions of one run, in steps. */
const runCostMax = 10_000_000;

export class PolicyRun {
  readonly variables: Variables;
  readonly #values: WriteValues;
  #left = runCostMax;
  #budget = new Budget(0);

  constructor(values: WriteValues, params: Value, variables: PolicyScope['variables']) {
    this.#values = values;
    this.variables = Object.create(values.variables) as Variables;
    this.variables.params = params;
    this.variables.variables = new VariableValues(variables, (program) =>
      program.run(this.variables, this.#budget),
    );
  }

  /** Evaluates an expression. Throws a CelError or BudgetExceeded. */
  evaluate(program: Program): Promise<Value> {
    return this.#values.evaluated(() => {
      this.#budget = new Budget(Math.min(callCostMax, this.#left));
      try {
        return program.run(this.variables, this.#budget);
      } finally {
        this.#left -= this.#budget.spent;
        this.#values.spend(this.#budget.spent);
      }
    });
  }
}

/** `variables.x`: each variable is evaluated once, when it is first used. */
class VariableValues extends MapValue {
  readonly #programs: ReadonlyMap<string, Program>;
  readonly #run: (program: Program) => Value;
  readonly #known = new Map<string, { readonly value: Value } | { readonly error: CelError }>();

  constructor(variables: PolicyScope['variables'], run: (program: Program) => Value) {
    super();
    this.#programs = new Map(
      variables.flatMap(({ name, checked }) => (checked.program ? [[name, checked.program] as const] : [])),
    );
    this.#run = run;
  }

  get size(): number {
    return this.#programs.size;
  }

  find(key: Value): Value | undefined {
    if (typeof key !== 'string') return undefined;
    const known = this.#known.get(key) ?? this.#compute(key);
    if (known === undefined) return undefined;
    if ('error' in known) throw known.error;
    return known.value;
  }

  keys(): readonly Value[] {
    return [...this.#programs.keys()];
  }

  #compute(name: string): { readonly value: Value } | { readonly error: CelError } | undefined {
    const program = this.#programs.get(name);
    if (!program) return undefined;
    const result = this.#attempt(program);
    this.#known.set(name, result);
    return result;
  }

  #attempt(program: Program): { readonly value: Value } | { readonly error: CelError } {
    try {
      return { value: this.#run(program) };
    } catch (error) {
      if (error instanceof CelError) return { error };
      throw error;
    }
  }
}
