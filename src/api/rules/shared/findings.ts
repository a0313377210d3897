/**
 * Findings: the errors that the rules of a kind find. Rules are generators that yield one field error after the
 * other, so a rule reads like its line in the table of rules, and validation of a huge body stops at the maximum
 * number of errors.
 */
import { type FieldError, invalid, notSupported, required } from '../../errors/field-error.ts';

/** Errors reported for one object; validation stops there. */
const findingsMax = 1000;

/** `Result` is a value that a rule returns to the rule that called it. */
export type Findings<Result = void> = Generator<FieldError, Result, undefined>;

export function collect(findings: Iterable<FieldError>): FieldError[] {
  const errors: FieldError[] = [];
  for (const error of findings) if (errors.push(error) === findingsMax) break;
  return errors;
}

// Small rules, of which every object runs dozens, return lists instead of being generators: most find no error,
// and an empty list allocates nothing.

const nothing: readonly FieldError[] = [];

/** One error for each problem that a check of names.ts found in a value. */
export const problemsOf = (
  path: string,
  value: unknown,
  problems: readonly string[],
): readonly FieldError[] =>
  problems.length === 0 ? nothing : problems.map((problem) => invalid(path, value, problem));

/** One error that names all problems that a check of names.ts found in a value. */
export const joinedProblems = (
  path: string,
  value: unknown,
  problems: readonly string[],
  before = '',
): readonly FieldError[] =>
  problems.length === 0 ? nothing : [invalid(path, value, `${before}${problems.join(',')}`)];

/** The value must be one of an enumeration. */
export function choice(
  path: string,
  value: string | undefined,
  supported: readonly string[],
): readonly FieldError[] {
  if (!value) return [required(path)];
  return supported.includes(value) ? nothing : [notSupported(path, value, supported)];
}

export const negative = (path: string, value: number | undefined): readonly FieldError[] =>
  (value ?? 0) < 0 ? [invalid(path, value, 'must be greater than or equal to 0')] : nothing;

export const rangeText = (min: number, max: number): string => `must be between ${min} and ${max}, inclusive`;

export const outside = (path: string, value: number, min: number, max: number): readonly FieldError[] =>
  value < min || value > max ? [invalid(path, value, rangeText(min, max))] : nothing;
