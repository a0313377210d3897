/**
 * One validation of an object: where it is, what it has found, and how much it has done. Errors beyond the bounds are
 * counted and not kept.
 */
import { child, type FieldError } from '../fielderror.ts';
import { ValuePath } from './valuepath.ts';

/** Errors kept for one object, and characters of their texts: some quote the value, or a list of allowed ones. */
const errorsMax = 1000;
const errorCharsMax = 1_048_576;

/** Values checked, each against one schema; with alternatives a value is checked against several. */
const stepsMax = 20_000_000;

/** Ends a validation that takes too many steps. */
export class StepsError extends Error {}

export interface Mark {
  readonly failures: number;
  readonly errors: number;
  readonly chars: number;
}

export class ValidationRun {
  readonly path = new ValuePath();
  errors: FieldError[] = [];
  /** Errors found, kept or not. */
  failures = 0;
  /** Whether a node that has an error differs from the old one, so all nodes above it do. */
  differs = false;
  #chars = 0;
  #steps = 0;

  /** @param base the path of the value in a larger document, put before the paths of errors */
  constructor(private readonly base: string) {}

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
    if (this.errors.length >= errorsMax || this.#chars >= errorCharsMax) return;
    const at = this.path.text();
    const name = key === undefined ? at : child(at, key);
    const field = name.startsWith('.') ? name.slice(1) : name;
    const error = make(field && this.base ? `${this.base}.${field}` : field || this.base, name);
    this.#chars += error.message.length + error.field.length;
    this.errors.push(error);
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
    return { failures: this.failures, errors: this.errors.length, chars: this.#chars };
  }

  /** Forgets what was found since, and returns the errors. */
  takeSince(mark: Mark): FieldError[] {
    this.failures = mark.failures;
    this.#chars = mark.chars;
    return this.errors.splice(mark.errors);
  }

  /** Adds errors that were taken. */
  put(errors: readonly FieldError[], failures: number): void {
    this.failures += failures;
    for (const error of errors) {
      this.#chars += error.message.length + error.field.length;
      this.errors.push(error);
    }
  }
}
