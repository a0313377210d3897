/** Secret: small pieces of confidential data. */
import { type FieldError, invalid, key, required, tooLong } from '../../errors/field-error.ts';
import type { Secret } from '../../generated/types.ts';
import { defineKind } from '../../kind/kind.ts';
import { cannotUnmarshal } from '../../model/go-format.ts';
import { ageCell, ageColumn, nameColumn } from '../../rules/shared/columns.ts';
import {
  base64Bytes,
  dataBytes,
  dataBytesMax,
  dataKeyErrors,
  immutableErrors,
} from '../../rules/shared/config-data.ts';
import { collect, type Findings } from '../../rules/shared/findings.ts';
import { tlsPairProblem } from '../../rules/shared/tls-pem.ts';
import { JsonError, readJsonText } from '../../text/json.ts';
import { isJsonObject, setKey } from '../../text/object.ts';

const accountAnnotation = 'kubernetes.io/service-account.name';

/** Required keys of each type. Other types are free text without rules. */
const typeRules: Readonly<Record<string, (secret: Secret) => FieldError[]>> = {
  'kubernetes.io/service-account-token': (secret) =>
    secret.metadata.annotations?.[accountAnnotation]
      ? []
      : [required(key('metadata.annotations', accountAnnotation))],
  'kubernetes.io/dockercfg': (secret) => jsonErrors(secret, '.dockercfg'),
  'kubernetes.io/dockerconfigjson': (secret) => jsonErrors(secret, '.dockerconfigjson'),
  'kubernetes.io/basic-auth': (secret) => {
    const missing = missingErrors(secret, 'username', 'password');
    return missing.length === 2 ? missing : [];
  },
  'kubernetes.io/ssh-auth': (secret) =>
    dataOf(secret, 'ssh-privatekey') ? [] : [required(key('data', 'ssh-privatekey'))],
  'kubernetes.io/tls': (secret) => missingErrors(secret, 'tls.crt', 'tls.key'),
};

const dataOf = (secret: Secret, name: string): string | undefined =>
  secret.data && Object.hasOwn(secret.data, name) ? secret.data[name] : undefined;

const textOf = (secret: Secret, name: string): string =>
  Buffer.from(dataOf(secret, name) ?? '', 'base64').toString('utf8');

const missingErrors = (secret: Secret, ...names: string[]): FieldError[] =>
  names.filter((name) => dataOf(secret, name) === undefined).map((name) => required(key('data', name)));

/** A registry configuration is a JSON object. Errors do not quote the secret. */
function jsonErrors(secret: Secret, name: string): FieldError[] {
  if (dataOf(secret, name) === undefined) return [required(key('data', name))];
  const problem = jsonProblem(textOf(secret, name));
  return problem ? [invalid(key('data', name), '<secret contents redacted>', problem)] : [];
}

function jsonProblem(text: string): string | undefined {
  try {
    const { value } = readJsonText(text);
    if (isJsonObject(value) || value === null) return undefined;
    return cannotUnmarshal(value, 'value of type map[string]interface {}');
  } catch (error) {
    if (error instanceof JsonError) return error.message;
    throw error;
  }
}

function* secretErrors(secret: Secret): Findings {
  yield* dataKeyErrors(secret.data, 'data');
  if (dataBytes(secret.data, base64Bytes) > dataBytesMax) yield tooLong('data', dataBytesMax);
  const type = secret.type ?? '';
  if (Object.hasOwn(typeRules, type)) yield* typeRules[type]!(secret);
}

export const secret = defineKind<Secret>({
  kind: 'Secret',
  resource: 'secrets',
  singular: 'secret',
  namespaced: true,

  // stringData is write-only: it is merged into data.
  defaults(secret) {
    for (const [name, text] of Object.entries(secret.stringData ?? {})) {
      secret.data ??= {};
      setKey(secret.data, name, Buffer.from(text, 'utf8').toString('base64'));
    }
    delete secret.stringData;
  },
  defaultsOfNew(secret) {
    secret.type ||= 'Opaque';
  },
  prepareForUpdate(secret, old) {
    secret.type ||= old.type;
  },

  validate: (secret) => collect(secretErrors(secret)),
  validateUpdate(secret, old) {
    const errors = immutableErrors(secret, old, ['data']);
    if (secret.type !== old.type) errors.unshift(invalid('type', secret.type ?? '', 'field is immutable'));
    return errors;
  },
  warnings(secret) {
    if (secret.type !== 'kubernetes.io/tls') return [];
    const problem = tlsPairProblem(textOf(secret, 'tls.crt'), textOf(secret, 'tls.key'));
    return problem ? [problem] : [];
  },

  selectableFields: { type: (secret) => secret.type ?? '' },
  columns: [
    nameColumn,
    { name: 'Type', description: 'What the secret is for.' },
    { name: 'Data', description: 'Number of keys.' },
    ageColumn,
  ],
  cells: (secret) => [
    secret.metadata.name,
    secret.type ?? '',
    Object.keys(secret.data ?? {}).length,
    ageCell(secret),
  ],
});
