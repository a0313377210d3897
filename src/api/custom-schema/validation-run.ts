/**
 * One validation of an object: where it is, what it has found, and how much it has done. Errors beyond the bounds are
 * counted and not kept.
 */
import { child, type FieldError } from '../errors/field-error.ts';
import { BoundedErrors } from './bounded-errors.ts';
import { ValuePath } from './value-path.ts';

/**
 * Values checked, each against one schema; with alternatives a value is checked against several. An error counts as
 * several steps. All of them take about a second.
 */
const stepsMax = 6_000_000;
const errorSteps = 4;

/** Ends a validation that takes too many steps. */
export class StepsError extends Error {}

export interface Mark {
  readonly failures: number;
  readonly errors: number;
}

export class ValidationRun {
  readonly path = new ValuePath();
  readonly #errors = new BoundedErrors();
  /** Errors found, kept or not. */
  failures = 0;
  /** Whether a node that has an error differs from the old one, so all nodes above it do. */
  differs = false;
  #steps = 0;

  /** @param base the path of the value in a larger document, put before the paths of errors */
  constructor(private readonly base: string) {}

  get errors(): FieldError[] {
    return this.#errors.list;
  }

  steps(count: number): void {
    this.#steps += count;
    if (this.#steps > stepsMax) throw new StepsError();
  }

  /**
   * @param make gets the field, and the name that texts use for it
   * @param key the field of the value that is meant, instead of the value itself
   */
  fail(make: (field: string, name: string) => FieldError, key?: string): void {
    this.failures += 1;
    this.steps(errorSteps);
    if (this.#errors.isFull) return;
    const at = this.path.text();
    const name = key === undefined ? at : child(at, key);
    const field = name.startsWith('.') ? name.slice(1) : name;
    this.#errors.add(make(field && this.base ? `${this.base}.${field}` : field || this.base, name));
  }

  /** An error about the value that has no field of its own. */
  failWhole(text: (name: string) => string): void {
    this.fail((_field, name) => ({
      field: this.base || '<nil>',
      reason: 'FieldValueInvalid',
      message: `Invalid value: "": ${text(name)}`,
    }));
  }

  mark(): Mark {
    return { failures: this.failures, errors: this.#errors.list.length };
  }

  /** Forgets what was found since, and returns the errors. */
  takeSince(mark: Mark): FieldError[] {
    this.failures = mark.failures;
    return this.#errors.takeFrom(mark.errors);
  }

  /** Adds errors that were taken. */
  put(errors: readonly FieldError[], failures: number): void {
    this.failures += failures;
    this.#errors.addAll(errors);
  }
}
