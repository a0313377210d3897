/** Validation: runs the rules of a kind and throws a Status with the errors. */
import { invalid as invalidObject, unprocessable } from '../api/errors/errors.ts';
import { type FieldError, invalid, tooLong } from '../api/errors/field-error.ts';
import type { Kind } from '../api/kind/kind.ts';
import { privilegedRefusal } from '../api/rules/pod/security-context.ts';
import { KEY_BYTES_MAX } from '../store/engine.ts';
import { storeKey } from './view/key.ts';

/**
 * Maximum number of errors in one answer. A body can hold a million wrong values, and each error is longer than its
 * value.
 */
const errorsMax = 100;

const notAscii = /[^\x00-\x7f]/;
/** A lone surrogate has no UTF-8 form; it can come from YAML escapes, and from cutting a generateName. */
const surrogate = /\p{Surrogate}/u;

/** Exceptions from the rules of kinds that a server may allow. */
export interface Allowance {
  /** Whether containers may be privileged. */
  readonly privileged: boolean;
}

/** @param refusing called before an object is refused */
export function check(
  kind: Kind,
  name: string,
  rules: () => FieldError[],
  refusing?: () => void,
  allowance?: Allowance,
): void {
  let errors = found(rules);
  if (errors.length && allowance?.privileged) errors = errors.filter((error) => !refusesPrivileged(error));
  if (errors.length) refusing?.();
  if (errors.length) throw invalidObject(kind, name, errors.slice(0, errorsMax));
}

const refusesPrivileged = ({ field, message }: FieldError): boolean =>
  field.endsWith('.securityContext.privileged') && message === `Forbidden: ${privilegedRefusal}`;

function found(rules: () => FieldError[]): FieldError[] {
  try {
    return rules();
  } catch (error) {
    // Rules pass errors as call arguments (`push(...errors)`). A stack overflow there means that the object has too
    // many.
    if (error instanceof RangeError) throw unprocessable();
    throw error;
  }
}

/** Errors of a name that cannot be a store key. For kinds that accept any text as a name this is the only bound. */
export function nameErrors(kind: Kind, namespace: string, name: string): FieldError[] {
  const field = 'metadata.name';
  // Fast path: nearly all names are short, and ASCII.
  const shortMax = KEY_BYTES_MAX / 3 - kind.storage.id.length - namespace.length;
  if (name.length < shortMax && !notAscii.test(name)) return [];
  const bytesMax = KEY_BYTES_MAX - Buffer.byteLength(storeKey(kind.storage.id, namespace, ''));
  if (Buffer.byteLength(name) > bytesMax) return [tooLong(field, bytesMax)];
  return surrogate.test(name) ? [invalid(field, name, 'must be well-formed text')] : [];
}
