/** Names of field managers: their bounds and validation. */
import { type FieldError, tooLong } from '../api/errors/field-error.ts';
import { goQuoted } from '../api/model/go-format.ts';

/** Longest field manager; longer ones from user agents are cut. */
export const fieldManagerBytesMax = 128;

/** A character that Go does not call printable: letters, marks, numbers, punctuation, symbols and the space are. */
export const unprintable = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

export function managerErrors(field: string, manager: string): FieldError[] {
  if (Buffer.byteLength(manager) > fieldManagerBytesMax) return [tooLong(field, fieldManagerBytesMax)];
  const at = manager.search(unprintable);
  if (at < 0) return [];
  const code = manager.codePointAt(at)!.toString(16).toUpperCase().padStart(4, '0');
  // Go counts bytes.
  const position = Buffer.byteLength(manager.slice(0, at));
  return [
    {
      field,
      reason: 'FieldValueInvalid',
      message: `Invalid value: ${goQuoted(manager)}: invalid character U+${code} (at position ${position})`,
    },
  ];
}
