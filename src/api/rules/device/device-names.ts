/** Names of devices, their pools and attributes. */
import { type FieldError, invalid, required, tooLong } from '../../errors/field-error.ts';
import { isSubdomain1123 } from '../../values/names.ts';
import { type Findings, problemsOf } from '../shared/findings.ts';
import { driverNameErrors } from './driver-name.ts';

const poolBytesMax = 253;
const identifierBytesMax = 32;
const identifierText =
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')";

/** Subdomains joined by slashes. */
export function* poolNameErrors(name: string | undefined, path: string): Findings {
  if (!name) return yield required(path);
  if (Buffer.byteLength(name) > poolBytesMax) yield tooLong(path, poolBytesMax);
  for (const part of name.split('/')) yield* problemsOf(path, part, isSubdomain1123(part));
}

function identifierErrors(name: string, path: string): FieldError[] {
  const errors: FieldError[] = [];
  if (Buffer.byteLength(name) > identifierBytesMax) errors.push(tooLong(path, identifierBytesMax));
  if (!/^[A-Za-z_]/.test(name) || /[^A-Za-z0-9_]/.test(name))
    errors.push(invalid(path, name, identifierText));
  return errors;
}

/** An identifier, with the domain that it belongs to in front. As in Kubernetes, more slashes are not looked at. */
export function* attributeNameErrors(name: string, path: string): Findings {
  if (!name) return yield required(path, 'name required');
  const parts = name.split('/');
  if (parts.length > 2) return;
  const [domain, id] = parts.length === 2 ? parts : [undefined, parts[0]];
  if (domain === '') yield invalid(path, '', 'the domain must not be empty');
  else if (domain !== undefined) yield* driverNameErrors(domain, path);
  if (id === '') yield invalid(path, '', 'the name must not be empty');
  else yield* identifierErrors(id!, path);
}

/** The same, with a domain. */
export function* fullAttributeNameErrors(name: string, path: string): Findings {
  yield* attributeNameErrors(name, path);
  if (name && !name.includes('/'))
    yield invalid(path, name, 'a fully qualified name must be a domain and a name separated by a slash');
}
