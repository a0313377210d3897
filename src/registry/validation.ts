/** Validation: what is wrong with an object, told as far as that is of use. */
import { invalid as invalidObject, unprocessable } from '../api/errors.ts';
import { type FieldError, invalid, tooLong } from '../api/fielderror.ts';
import type { Kind } from '../api/kind.ts';
import { KEY_BYTES_MAX } from '../store/engine.ts';
import { storeKey } from './key.ts';

/** Errors told of in one answer. A body can hold a million wrong values, and each error is longer than its value. */
const errorsMax = 100;

const notAscii = /[^\x00-\x7f]/;
/** Half of a pair has no UTF-8 form; it can come out of YAML, and from cutting a generateName. */
const surrogate = /\p{Surrogate}/u;

/** Throws when the rules find errors. */
export function check(kind: Kind, name: string, rules: () => FieldError[]): void {
  const errors = found(rules);
  if (errors.length) throw invalidObject(kind, name, errors.slice(0, errorsMax));
}

function found(rules: () => FieldError[]): FieldError[] {
  try {
    return rules();
  } catch (error) {
    // Rules hand errors on as arguments of a call. When that overflows the stack, the object is to blame.
    if (error instanceof RangeError) throw unprocessable();
    throw error;
  }
}

/** What keeps a name out of the store. Kinds that take any text as a name have no other bound on it. */
export function nameErrors(kind: Kind, namespace: string, name: string): FieldError[] {
  const field = 'metadata.name';
  // Nearly all names are short, and ASCII.
  const shortMax = KEY_BYTES_MAX / 3 - kind.storage.id.length - namespace.length;
  if (name.length < shortMax && !notAscii.test(name)) return [];
  const bytesMax = KEY_BYTES_MAX - Buffer.byteLength(storeKey(kind.storage.id, namespace, ''));
  if (Buffer.byteLength(name) > bytesMax) return [tooLong(field, bytesMax)];
  return surrogate.test(name) ? [invalid(field, name, 'must be well-formed text')] : [];
}
