/**
 * The way from a variable to a value inside of it: `self`, `spec`, `@items`. It tells how large the value can be.
 *
 * cel-go keeps ways in slices. Two ways that begin with the same one may share its memory, and then the step that was
 * added last shows in both: a loop over `x.names` whose body reads `x.labels` may be charged for as many rounds as
 * there are labels. Definitions are accepted or refused by that estimate, so memory is shared here in the same way.
 */
export class ValuePath {
  /** As long as the memory that Go reserves. */
  readonly #cells: string[];
  readonly #length: number;

  private constructor(cells: string[], length: number) {
    this.#cells = cells;
    this.#length = length;
  }

  static of(variable: string): ValuePath {
    return new ValuePath([variable], 1);
  }

  /** The way one step further; without a way so far, that step alone. */
  static step(path: ValuePath | undefined, name: string): ValuePath {
    return path === undefined ? ValuePath.of(name) : path.#step(name);
  }

  #step(name: string): ValuePath {
    let cells = this.#cells;
    if (this.#length === cells.length) {
      cells = new Array<string>(cells.length * 2).fill('');
      for (let index = 0; index < this.#length; index++) cells[index] = this.#cells[index] as string;
    }
    cells[this.#length] = name;
    return new ValuePath(cells, this.#length + 1);
  }

  /** The same way in memory of its own. */
  copy(): ValuePath {
    return new ValuePath(this.#cells.slice(0, this.#length), this.#length);
  }

  get variable(): string {
    return this.#cells[0] as string;
  }

  /** The steps after the variable. */
  get steps(): readonly string[] {
    return this.#cells.slice(1, this.#length);
  }
}
