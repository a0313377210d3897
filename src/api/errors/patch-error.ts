/**
 * Errors of patches. The three patch modules throw only this class, which the caller turns into a Status: code and
 * message are final, `kind` decides the rest of the Status.
 */
import { type FieldError, invalid } from './field-error.ts';

/**
 * - `decode`: the body is no patch at all (400, BadRequest, no details)
 * - `too-large`: more operations than allowed (413, RequestEntityTooLarge, no details)
 * - `operation`: well formed, but it cannot be applied to this object (422, Invalid, empty details)
 * - `invalid`: a value of the wrong shape (422, Invalid, details with `causes`)
 * - `directive`: misused strategic-merge directive (400, BadRequest), or a list that cannot be merged (500 without a
 *   reason, because Kubernetes gives these errors no type). No details.
 */
export type PatchErrorKind = 'decode' | 'too-large' | 'operation' | 'invalid' | 'directive';

export class PatchError extends Error {
  constructor(
    readonly code: 400 | 413 | 422 | 500,
    message: string,
    readonly kind?: PatchErrorKind,
    /** For the details of the Status; only `invalid` has any. */
    readonly causes: readonly FieldError[] = [],
  ) {
    super(message);
    this.name = 'PatchError';
  }
}

export const undecodable = (message: string): PatchError => new PatchError(400, message, 'decode');

/** Kubernetes reports neither which operation failed, nor why. */
export const cannotApply = (): PatchError =>
  new PatchError(422, 'the server rejected our request due to an error in our request', 'operation');

/** `shown` is the patch, or the patched object, as the message quotes it. Kind and name stay empty. */
export function invalidValue(shown: string, why: string): PatchError {
  const cause = invalid('patch', shown, why);
  return new PatchError(422, ` "" is invalid: ${cause.field}: ${cause.message}`, 'invalid', [cause]);
}
