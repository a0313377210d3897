/** Object metadata: the rules that hold for every kind. */
import { type FieldError, forbidden, invalid, required } from '../errors/field-error.ts';
import type { ObjectMeta, OwnerReference } from '../generated/types.ts';
import type { ApiObject } from '../text/object.ts';
import { isLabel1123, isQualifiedName, validateAnnotations, validateLabels } from '../values/names.ts';
import type { Kind } from './kind.ts';

const standardFinalizers = new Set(['kubernetes', 'orphan', 'foregroundDeletion']);

/** Letters of generated names: no vowels and no look-alikes, so that no words are generated. */
export const suffixLetters = 'bcdfghjklmnpqrstvwxz2456789';
export const suffixLength = 5;
const generatedPrefixMax = 58;

/** A random name suffix; the argument returns a random whole number below a bound. */
export function nameSuffix(randomBelow: (bound: number) => number): string {
  let suffix = '';
  for (let i = 0; i < suffixLength; i++) suffix += suffixLetters[randomBelow(suffixLetters.length)];
  return suffix;
}

export const generatedName = (generateName: string, suffix: string): string =>
  generateName.slice(0, generatedPrefixMax) + suffix;

/** For status paths that change nothing but the status: all metadata is that of the stored object. */
export function takeStoredMetadata(object: ApiObject, old: ApiObject): void {
  const { resourceVersion, managedFields } = object.metadata;
  object.metadata = { ...old.metadata, resourceVersion, managedFields };
}

/** Path of an object, as `metadata.selfLink` shows it. */
export function selfLink(
  kind: Pick<Kind, 'apiVersion' | 'namespaced' | 'resource'>,
  namespace: string,
  name: string,
): string {
  const prefix = kind.apiVersion.includes('/') ? `/apis/${kind.apiVersion}` : `/api/${kind.apiVersion}`;
  const scope = kind.namespaced ? `/namespaces/${namespace}` : '';
  return `${prefix}${scope}/${kind.resource}/${encodeURIComponent(name)}`;
}

export function validateMeta(
  kind: Pick<Kind, 'nameRule' | 'namespaced' | 'anyFinalizer'>,
  meta: ObjectMeta,
): FieldError[] {
  const errors: FieldError[] = [];
  if (meta.generateName)
    for (const problem of kind.nameRule(meta.generateName, true))
      errors.push(invalid('metadata.generateName', meta.generateName, problem));
  if (!meta.name) errors.push(required('metadata.name', 'name or generateName is required'));
  else
    for (const problem of [...kind.nameRule(meta.name, false), ...controlCharacters(meta.name)])
      errors.push(invalid('metadata.name', meta.name, problem));
  if (kind.namespaced) {
    if (!meta.namespace) errors.push(required('metadata.namespace'));
    else
      for (const problem of isLabel1123(meta.namespace))
        errors.push(invalid('metadata.namespace', meta.namespace, problem));
  }
  if ((meta.generation ?? 0) < 0)
    errors.push(invalid('metadata.generation', meta.generation, 'must be greater than or equal to 0'));
  errors.push(...validateLabels(meta.labels, 'metadata.labels'));
  errors.push(...validateAnnotations(meta.annotations, 'metadata.annotations'));
  errors.push(...validateOwnerReferences(meta.ownerReferences));
  errors.push(...validateFinalizers(meta.finalizers, 'metadata.finalizers', kind.anyFinalizer));
  return errors;
}

/** Refuses zero bytes: they separate the segments of store keys, so such a name could pose as two segments. */
const controlCharacters = (name: string): string[] =>
  name.includes('\u0000') ? ['may not contain U+0000'] : [];

/** The error of a finalizer without a prefix: only a few are allowed. */
export const unqualifiedProblems = (finalizer: string): string[] =>
  finalizer.includes('/') || standardFinalizers.has(finalizer)
    ? []
    : ['name is neither a standard finalizer name nor is it fully qualified'];

function validateFinalizers(
  finalizers: readonly string[] | undefined,
  path: string,
  anyName: boolean | undefined,
): FieldError[] {
  const errors: FieldError[] = [];
  if (!finalizers) return errors;
  finalizers.forEach((finalizer, i) => {
    for (const problem of isQualifiedName(finalizer)) errors.push(invalid(path, finalizer, problem));
    if (anyName) return;
    for (const problem of unqualifiedProblems(finalizer))
      errors.push(invalid(`${path}[${i}]`, finalizer, problem));
  });
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion'))
    errors.push(invalid(path, finalizers, 'finalizer orphan and foregroundDeletion cannot be both set'));
  return errors;
}

function validateOwnerReferences(references: readonly OwnerReference[] | undefined): FieldError[] {
  const errors: FieldError[] = [];
  const path = 'metadata.ownerReferences';
  let controller: OwnerReference | undefined;
  let several = false;
  for (const reference of references ?? []) {
    const version = reference.apiVersion?.slice(reference.apiVersion.indexOf('/') + 1);
    if (!version)
      errors.push(invalid(`${path}.apiVersion`, reference.apiVersion ?? '', 'version must not be empty'));
    for (const name of ['kind', 'name', 'uid'] as const)
      if (!reference[name]) errors.push(invalid(`${path}.${name}`, '', 'must not be empty'));
    if (reference.apiVersion === 'v1' && reference.kind === 'Event')
      errors.push(invalid(path, reference, '/v1, Kind=Event is disallowed from being an owner'));
    // Reported once, because the error quotes all references.
    if (reference.controller && controller && !several) {
      several = true;
      errors.push(
        invalid(
          path,
          references,
          `Only one reference can have Controller set to true. Found "true" in references for ${controller.kind}/${controller.name} and ${reference.kind}/${reference.name}`,
        ),
      );
    }
    if (reference.controller) controller ??= reference;
  }
  return errors;
}

export function validateMetaUpdate(kind: Kind, meta: ObjectMeta, old: ObjectMeta): FieldError[] {
  const errors = validateMeta(kind, meta);
  if (old.deletionTimestamp) {
    const known = new Set(old.finalizers);
    const added = (meta.finalizers ?? []).filter((finalizer) => !known.has(finalizer));
    if (added.length)
      errors.push(
        forbidden(
          'metadata.finalizers',
          `no new finalizers can be added if the object is being deleted, found new finalizers []string{${added.map((name) => JSON.stringify(name)).join(', ')}}`,
        ),
      );
  }
  for (const name of ['uid', 'creationTimestamp', 'deletionTimestamp', 'deletionGracePeriodSeconds'] as const)
    if (meta[name] !== old[name])
      errors.push(invalid(`metadata.${name}`, meta[name] ?? null, 'field is immutable'));
  return errors;
}
