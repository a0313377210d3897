/** The rules of definitions of custom kinds, but for their schemas. */

import { someSchema } from '../../custom-schema/schema-walk.ts';
import {
  child,
  type FieldError,
  index,
  invalid,
  key,
  notSupported,
  required,
} from '../../errors/field-error.ts';
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
} from '../../generated/types.ts';
import type { Schema } from '../../model/json-schema.ts';
import { isLabel1035, isSubdomain1123 } from '../../values/names.ts';
import { type Findings, joinedProblems } from '../shared/findings.ts';
import { conversionErrors } from './definition-conversion.ts';
import { innerVersions } from './definition-inner-form.ts';
import { namesErrors } from './definition-names.ts';
import { schemasErrors, schemasOf } from './definition-schemas.ts';
import { viewsErrors } from './definition-views.ts';

const warningLengthMax = 256;
const scopes: readonly string[] = ['Cluster', 'Namespaced'];
/** A character that Go does not call printable. */
const unprintable = /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u;

export function* definitionErrors(
  definition: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
): Findings {
  const { metadata, spec = {}, status = {} } = definition;
  const { group = '', names = {} } = spec;
  if (!old && metadata.name !== `${names.plural ?? ''}.${group}`)
    yield invalid('metadata.name', metadata.name ?? '', 'must be spec.names.plural+"."+spec.group');
  yield* groupErrors(group);
  yield* approvalErrors(definition, old);
  if (!spec.scope) yield required('spec.scope');
  else if (!scopes.includes(spec.scope)) yield notSupported('spec.scope', spec.scope, scopes);
  yield* versionsErrors(spec);
  yield* namesErrors(names, 'spec.names');
  yield* conversionErrors(spec, old);
  yield* viewsErrors(spec, old?.spec);
  yield* schemasErrors(spec, old?.spec);
  if (!status.storedVersions?.length)
    yield invalid('status.storedVersions', null, 'must have at least one stored version');
}

function* groupErrors(group: string): Findings {
  const path = 'spec.group';
  if (!group) return yield required(path);
  const problems = isSubdomain1123(group);
  yield* joinedProblems(path, group, problems);
  if (!problems.length && !group.includes('.'))
    yield invalid(path, group, 'should be a domain with at least one dot');
}

const approvalAnnotation = 'api-approved.kubernetes.io';
const approvalPlace = 'https://github.com/kubernetes/enhancements/pull/1111';

/** Groups that belong to the Kubernetes project. */
export const isProtectedGroup = (group: string): boolean => /(^|\.)(k8s|kubernetes)\.io$/.test(group);

export interface Approval {
  readonly reason: 'ApprovedAnnotation' | 'UnapprovedAnnotation' | 'InvalidAnnotation' | 'MissingAnnotation';
  readonly message: string;
}

/** What the annotation says about a kind in a protected group. */
export function approvalOf({ metadata }: CustomResourceDefinition): Approval {
  const text = metadata.annotations?.[approvalAnnotation] ?? '';
  const must = `protected groups must have approval annotation "${approvalAnnotation}"`;
  if (!text) return { reason: 'MissingAnnotation', message: `${must}, see ${approvalPlace}` };
  if (text.startsWith('unapproved'))
    return { reason: 'UnapprovedAnnotation', message: `not approved: ${JSON.stringify(text)}` };
  if (URL.canParse(text) && /^[a-zA-Z][-+.a-zA-Z0-9]*:\/\/[^/?#]/.test(text))
    return { reason: 'ApprovedAnnotation', message: `approved in ${text}` };
  return {
    reason: 'InvalidAnnotation',
    message: `${must} with either a URL or a reason starting with "unapproved", see ${approvalPlace}`,
  };
}

function* approvalErrors(
  definition: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
): Findings {
  if (!isProtectedGroup(definition.spec?.group ?? '')) return;
  const { reason, message } = approvalOf(definition);
  if (old && approvalOf(old).reason === reason) return;
  const path = key('metadata.annotations', approvalAnnotation);
  if (reason === 'MissingAnnotation') yield required(path, message);
  if (reason === 'InvalidAnnotation')
    yield invalid(path, definition.metadata.annotations![approvalAnnotation], message);
}

function* versionsErrors(spec: CustomResourceDefinitionSpec): Findings {
  const path = 'spec.versions';
  const { versions = [] } = spec;
  for (const [i, version] of versions.entries()) yield* versionErrors(version, index(path, i));
  const first = versions[0]?.name;
  if (first) yield* joinedProblems('spec.version', first, isLabel1035(first));
  const names = versions.map(({ name }) => name);
  if (new Set(names).size < names.length) yield shownVersions(spec, 'must contain unique version names');
  if (versions.filter(({ storage }) => storage).length !== 1)
    yield shownVersions(spec, 'must have exactly one version marked as storage version');
  if (spec.preserveUnknownFields)
    yield invalid(
      'spec.preserveUnknownFields',
      true,
      'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
    );
  if (spec.preserveUnknownFields && schemasOf(spec).some((schema) => someSchema(schema, hasDefault)))
    yield invalid('spec.preserveUnknownFields', true, 'must be false in order to use defaults in the schema');
}

const hasDefault = (schema: Schema): boolean => (schema.default ?? undefined) !== undefined;

const shownVersions = (spec: CustomResourceDefinitionSpec, detail: string): FieldError => ({
  field: 'spec.versions',
  reason: 'FieldValueInvalid',
  message: `Invalid value: ${innerVersions(spec)}: ${detail}`,
});

function* versionErrors(version: CustomResourceDefinitionVersion, path: string): Findings {
  const { name = '', deprecationWarning: warning } = version;
  yield* joinedProblems(child(path, 'name'), name, isLabel1035(name));
  if (!version.schema?.openAPIV3Schema) yield required(`${path}.schema.openAPIV3Schema`);
  if (warning === undefined) return;
  const wrong = (detail: string): FieldError => invalid(child(path, 'deprecationWarning'), warning, detail);
  if (!version.deprecated) return yield wrong('can only be set for deprecated versions');
  if (Buffer.byteLength(warning) > warningLengthMax)
    yield wrong(`must be <= ${warningLengthMax} characters long`);
  if (warning === '') yield wrong('must not be an empty string');
  const at = warning.search(unprintable);
  if (at >= 0)
    yield wrong(
      `must only contain printable UTF-8 characters; non-printable character found at index ${Buffer.byteLength(warning.slice(0, at))}`,
    );
}

/** What may not change: where objects are found, and once they are served, what they are called. */
export function* definitionUpdateErrors(
  { spec = {}, status = {} }: CustomResourceDefinition,
  old: CustomResourceDefinition,
): Findings {
  const before = old.spec ?? {};
  const kept = (path: string, value: unknown, former: unknown): FieldError[] =>
    value === former ? [] : [invalid(path, value ?? '', 'field is immutable')];
  yield* kept('spec.group', spec.group, before.group);
  yield* kept('spec.names.plural', spec.names?.plural, before.names?.plural);
  if (isEstablished(old)) {
    yield* kept('spec.scope', spec.scope, before.scope);
    yield* kept('spec.names.kind', spec.names?.kind, before.names?.kind);
  }
  const names = new Set(spec.versions?.map(({ name }) => name));
  for (const [i, stored] of (status.storedVersions ?? []).entries())
    if (!names.has(stored))
      yield invalid(
        index('status.storedVersions', i),
        stored,
        `missing from spec.versions; ${stored} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${stored} and removes ${stored} from status.storedVersions`,
      );
}

const isEstablished = ({ status }: CustomResourceDefinition): boolean =>
  status?.conditions?.some(({ type, status: is }) => type === 'Established' && is === 'True') ?? false;
