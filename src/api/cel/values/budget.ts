/** Counts the steps of expressions while they run, and stops them at a limit. */

/** Steps ran out. Not an error that `||` or `exists` could hide. */
export class BudgetExceeded extends Error {
  override readonly name = 'BudgetExceeded';
  constructor() {
    super('operation cancelled: actual cost limit exceeded');
  }
}

/** Steps of an error that an operator hides: it is an object with a stack, and thrown. */
export const hiddenErrorCost = 300;

export class Budget {
  readonly limit: number;
  #spent = 0;

  constructor(limit: number) {
    this.limit = limit;
  }

  get spent(): number {
    return this.#spent;
  }

  charge(steps: number): void {
    this.#spent += steps;
    if (this.#spent > this.limit) throw new BudgetExceeded();
  }
}
