/** Checks of the keywords of a schema that look at one value alone: numbers, strings, enums. Texts are Kubernetes'. */

import { type FieldError, invalid, notSupported, tooLong } from '../errors/field-error.ts';
import type { Schema } from '../model/json-schema.ts';
import { isInt64 } from '../text/exact-json.ts';
import { goFloat, goNumber } from '../text/go-number.ts';
import { compileRegexp, type GoRegexp, RegexpError } from '../text/go-regexp.ts';
import { jsonText } from '../text/json-text.ts';
import { withSortedKeys } from '../text/object.ts';
import { formatCheck } from './formats.ts';
import type { ValidationRun } from './validation-run.ts';

export type ValueKind = 'null' | 'string' | 'integer' | 'number' | 'boolean' | 'array' | 'object';

export function kindOf(value: unknown): ValueKind {
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'number':
      return Number.isSafeInteger(value) ? 'integer' : 'number';
    case 'bigint':
      return isInt64(value) ? 'integer' : 'number';
    case 'boolean':
      return 'boolean';
    default:
      if (value === null || value === undefined) return 'null';
      return Array.isArray(value) ? 'array' : 'object';
  }
}

const quoted = (value: unknown): string => JSON.stringify(value);

export const typeError = (field: string, name: string, expected: string, found: string): FieldError => ({
  field,
  reason: 'FieldValueTypeInvalid',
  message: `Invalid value: ${quoted(found)}: ${name} in body must be of type ${expected}: ${quoted(found)}`,
});

export type StringCheck = (text: string, run: ValidationRun) => void;

/** Length and pattern; the first that fails is reported. */
export function stringCheck(schema: Schema): StringCheck | undefined {
  const { maxLength, minLength, pattern } = schema;
  if (maxLength === undefined && minLength === undefined && !pattern) return undefined;
  let compiled: GoRegexp | undefined;
  return (text, run) => {
    if (maxLength !== undefined && text.length > maxLength && codePoints(text) > maxLength)
      run.fail((field) => tooLong(field, maxLength));
    else if (minLength !== undefined && text.length < 2 * Number(minLength) && codePoints(text) < minLength)
      run.fail((field, name) =>
        invalid(field, text, `${name} in body should be at least ${minLength} chars long`),
      );
    else if (pattern) {
      run.steps((text.length * pattern.length) >>> 10);
      compiled ??= compiledPattern(pattern);
      if (compiled && !compiled.test(text))
        run.fail((field, name) => invalid(field, text, `${name} in body should match '${pattern}'`));
    }
  };
}

/** A pattern that does not compile is refused with its definition. */
function compiledPattern(pattern: string): GoRegexp | undefined {
  try {
    return compileRegexp(pattern);
  } catch (error) {
    if (error instanceof RegexpError) return undefined;
    throw error;
  }
}

function codePoints(text: string): number {
  let count = text.length;
  for (let i = 1; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 0xdc00 && code <= 0xdfff) count -= 1;
  }
  return count;
}

export function formatStringCheck(format: string): StringCheck | undefined {
  const fits = formatCheck(format);
  if (!fits) return undefined;
  return (text, run) => {
    if (!fits(text)) run.fail((field, name) => typeError(field, name, format, text));
  };
}

const int32Max = 2 ** 31 - 1;
const float32Max = 3.4028234663852886e38;

export type NumberCheck = (value: number | bigint, run: ValidationRun) => void;

/** Range of the type, multipleOf, minimum, maximum. All that fail are reported. */
export function numberCheck(schema: Schema, type: string, format: string): NumberCheck | undefined {
  const { exclusiveMinimum, exclusiveMaximum } = schema;
  const multipleOf = floating(schema.multipleOf);
  const minimum = floating(schema.minimum);
  const maximum = floating(schema.maximum);
  const ranged = type === 'integer' || format === 'float';
  if (!ranged && multipleOf === undefined && minimum === undefined && maximum === undefined) return undefined;
  const kind = format ? `with format ${format}` : '(default format)';
  return (value, run) => {
    if (ranged && !isInRange(value, type, format))
      run.failWhole((name) => `Checked value must be of type ${type} ${kind} in ${name}`);
    if (multipleOf !== undefined) checkMultiple(value, multipleOf, run);
    // Bounds of whole numbers are cut off, as by Kubernetes.
    const whole = kindOf(value) === 'integer';
    if (minimum !== undefined) {
      const bound = whole ? Math.trunc(minimum) : minimum;
      if (exclusiveMinimum ? value <= bound : value < bound)
        run.fail((field, name) =>
          invalid(
            field,
            value,
            `${name} in body should be greater than ${exclusiveMinimum ? '' : 'or equal to '}${boundText(bound, whole)}`,
          ),
        );
    }
    if (maximum !== undefined) {
      const bound = whole ? Math.trunc(maximum) : maximum;
      if (exclusiveMaximum ? value >= bound : value > bound)
        run.fail((field, name) =>
          invalid(
            field,
            value,
            `${name} in body should be less than ${exclusiveMaximum ? '' : 'or equal to '}${boundText(bound, whole)}`,
          ),
        );
    }
  };
}

/** Kubernetes keeps bounds in floating point, also those of whole numbers. */
const floating = (bound: number | bigint | undefined): number | undefined =>
  bound === undefined || bound === null ? undefined : Number(bound);

function isInRange(value: number | bigint, type: string, format: string): boolean {
  if (type !== 'integer') return Math.abs(Number(value)) <= float32Max;
  if (format === 'int32')
    return Number.isInteger(Number(value)) && value >= -int32Max - 1 && value <= int32Max;
  return typeof value === 'bigint' ? isInt64(value) : Number.isInteger(value) && isInt64(BigInt(value));
}

function checkMultiple(value: number | bigint, multipleOf: number, run: ValidationRun): void {
  const whole = kindOf(value) === 'integer' && Math.trunc(multipleOf) !== 0;
  const factor = whole ? Math.trunc(multipleOf) : multipleOf;
  if (factor < 0)
    run.fail((field, name) =>
      invalid(
        field,
        factor,
        `factor MultipleOf declared for ${name} must be positive: ${boundText(factor, whole)}`,
      ),
    );
  else if (factor !== 0 && !isMultiple(value, factor, whole))
    run.fail((field, name) =>
      invalid(field, value, `${name} in body should be a multiple of ${boundText(factor, whole)}`),
    );
}

function isMultiple(value: number | bigint, factor: number, whole: boolean): boolean {
  if (whole) return typeof value === 'bigint' ? value % BigInt(factor) === 0n : value % factor === 0;
  const ratio = factor < 1 ? (1 / factor) * Number(value) : Number(value) / factor;
  const nearest = Math.round(ratio);
  return ratio === nearest || Math.abs(ratio - nearest) / (Math.abs(ratio) + Math.abs(nearest)) < 1e-9;
}

/** Bounds are of the type of the value: whole, or floating point. */
const boundText = (bound: number, whole: boolean): string => (whole ? goNumber(bound) : goFloat(bound));

export type EnumCheck = (value: unknown, run: ValidationRun) => void;

export function enumCheck(allowed: readonly unknown[] | undefined): EnumCheck | undefined {
  if (!allowed?.length) return undefined;
  const texts = new Set(allowed.map(canonicalText));
  const shown = allowed.map((value) => (typeof value === 'string' ? value : canonicalText(value)));
  return (value, run) => {
    if (!texts.has(canonicalText(value))) run.fail((field) => notSupported(field, value, shown));
  };
}

const canonicalText = (value: unknown): string =>
  typeof value === 'string' ? JSON.stringify(value) : jsonText(withSortedKeys(value));
