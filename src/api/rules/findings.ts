/**
 * Findings: what the rules of a kind find wrong. Rules are generators that yield one field error after the other,
 * so a rule reads like its line in the table of rules, and a body full of errors costs no more than the errors
 * that are reported.
 */
import { type FieldError, invalid, notSupported, required } from '../fielderror.ts';

/** Errors of one object that are reported; the walk stops there. Far more than anybody reads. */
const findingsMax = 1000;

/** `Result` is what a rule learned on its way and hands to the rule that called it. */
export type Findings<Result = void> = Generator<FieldError, Result, undefined>;

export function collect(findings: Iterable<FieldError>): FieldError[] {
  const errors: FieldError[] = [];
  for (const error of findings) if (errors.push(error) === findingsMax) break;
  return errors;
}

// The small rules, which every object goes through by the dozen, answer with lists: most find nothing, and nothing
// should cost nothing.

const nothing: readonly FieldError[] = [];

/** One error for each problem that a grammar of names.ts found in a value. */
export const problemsOf = (
  path: string,
  value: unknown,
  problems: readonly string[],
): readonly FieldError[] =>
  problems.length === 0 ? nothing : problems.map((problem) => invalid(path, value, problem));

/** The value of a closed set. */
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
