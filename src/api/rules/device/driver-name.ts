/** Names of drivers, of storage and of devices. */
import { type FieldError, required, tooLong } from '../../errors/field-error.ts';
import { isSubdomain1123 } from '../../values/names.ts';
import { problemsOf } from '../shared/findings.ts';

const nameBytesMax = 63;

/** A subdomain, in which capitals are allowed. */
export function driverNameErrors(name: string | undefined, path: string): readonly FieldError[] {
  if (!name) return [required(path)];
  return [
    ...(Buffer.byteLength(name) > nameBytesMax ? [tooLong(path, nameBytesMax)] : []),
    ...problemsOf(path, name, isSubdomain1123(name.toLowerCase())),
  ];
}
