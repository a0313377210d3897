/** What classes of storage have in common: who makes their volumes, and parameters for it. */
import { type FieldError, invalid, required, tooLong } from '../../errors/field-error.ts';
import { isQualifiedName } from '../../values/names.ts';
import { problemsOf } from '../shared/findings.ts';

const parametersMax = 512;
const parametersBytesMax = 262_144;

/** The name of a provisioner: a qualified name, in which capitals are allowed. */
export function provisionerErrors(name: string | undefined, path: string): readonly FieldError[] {
  if (!name) return [required(path)];
  const lower = name.toLowerCase();
  return problemsOf(path, lower, isQualifiedName(lower));
}

export function parameterErrors(parameters: Readonly<Record<string, string>> = {}): FieldError[] {
  const path = 'parameters';
  const entries = Object.entries(parameters);
  if (entries.length > parametersMax) return [tooLong(path, parametersMax)];
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const [key, value] of entries) {
    if (key === '') errors.push(invalid(path, key, 'field can not be empty.'));
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes > parametersBytesMax) errors.push(tooLong(path, parametersBytesMax));
  return errors;
}
