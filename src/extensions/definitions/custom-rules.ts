/** Validation of custom objects: the schema of their version, and the numbers that their scale reads. */

import { type FieldError, invalid } from '../../api/errors/field-error.ts';
import { accessProblem, readAt, type ScalePaths, scaleNames } from '../../api/kind/scale-paths.ts';
import { goQuoted } from '../../api/model/go-format.ts';
import type { CompiledSchema, Validation, ValidationWork } from '../../api/model/json-schema.ts';
import type { ApiObject, JsonObject } from '../../api/text/object.ts';
import { isQualifiedName } from '../../api/values/names.ts';
import { computed, turnToCompute } from '../../time-slices.ts';

const replicasMax = 2_147_483_647;

export interface CustomVersion {
  readonly schema: CompiledSchema;
  readonly scale: ScalePaths | undefined;
  /** Whether what is wrong with unchanged values may stay so. */
  readonly ratchets: boolean;
}

/** The validation hooks of a kind. */
export function customErrors({ schema, scale, ratchets }: CustomVersion) {
  /** Warnings of rules that fail on unchanged values. They are found together with the errors, and requested later. */
  const warned = new WeakMap<ApiObject, readonly string[]>();
  /** Results that were computed before `validate` is called. */
  const examined = new WeakMap<ApiObject, Validation>();
  const begin = (object: ApiObject, old: ApiObject | undefined, only?: 'status'): ValidationWork =>
    schema.begin(object as unknown as JsonObject, {
      ratchets,
      ...(old ? { old: old as unknown as JsonObject } : {}),
      ...(only ? { only } : {}),
    });
  const check = (object: ApiObject, old: ApiObject | undefined, only?: 'status'): FieldError[] => {
    const { errors, warnings } = examined.get(object) ?? validated(begin(object, old, only));
    examined.delete(object);
    if (warnings.length) warned.set(object, warnings);
    return [...errors];
  };
  const finish = async (object: ApiObject, work: ValidationWork, turn?: Promise<void>): Promise<void> => {
    await turn;
    for (;;) {
      const validation = advance(work);
      if (validation) return void examined.set(object, validation);
      await turnToCompute();
    }
  };
  const examine = (
    object: ApiObject,
    old: ApiObject | undefined,
    only?: 'status',
  ): Promise<void> | undefined => {
    if (!schema.hasRules) return undefined;
    const turn = turnToCompute();
    const work = begin(object, old, only);
    const validation = turn ? undefined : advance(work);
    if (!validation) return finish(object, work, turn ?? turnToCompute());
    examined.set(object, validation);
    return undefined;
  };
  const specScaleErrors = (object: ApiObject): FieldError[] =>
    scale ? replicasErrors(object, scale.spec) : [];
  const statusScaleErrors = (object: ApiObject): FieldError[] =>
    scale ? [...replicasErrors(object, scale.status), ...selectorErrors(object, scale.selector)] : [];
  return {
    examine,
    validate: (object: ApiObject, old?: ApiObject): FieldError[] => [
      ...check(object, old),
      ...specScaleErrors(object),
      ...statusScaleErrors(object),
    ],
    validateStatus: (object: ApiObject, old: ApiObject): FieldError[] => [
      ...check(object, old, 'status'),
      ...statusScaleErrors(object),
    ],
    validationWarnings: (object: ApiObject): readonly string[] => warned.get(object) ?? [],
    warnings: ({ metadata }: ApiObject, old: ApiObject | undefined): string[] =>
      finalizerWarnings(metadata.finalizers, old?.metadata.finalizers),
  };
}

/** Runs one slice of a validation. */
function advance(work: ValidationWork): Validation | undefined {
  const before = work.spent;
  const validation = work.advance();
  computed(work.spent - before);
  return validation;
}

function validated(work: ValidationWork): Validation {
  for (;;) {
    const validation = work.advance();
    if (validation) return validation;
  }
}

function replicasErrors(object: ApiObject, path: string): FieldError[] {
  const found = readAt(object, path);
  if (!found) return [];
  if ('problem' in found) return [invalid(path, 0, found.problem)];
  const { value } = found;
  if (!Number.isInteger(value) && typeof value !== 'bigint')
    return [invalid(path, 0, accessProblem(scaleNames(path), value, 'int64'))];
  const replicas = Number(value);
  if (replicas < 0) return [invalid(path, value, 'should be a non-negative integer')];
  if (replicas > replicasMax) return [invalid(path, value, `should be less than or equal to ${replicasMax}`)];
  return [];
}

function selectorErrors(object: ApiObject, path: string | undefined): FieldError[] {
  const found = path ? readAt(object, path) : undefined;
  if (!path || !found) return [];
  if ('problem' in found) return [invalid(path, '', found.problem)];
  if (typeof found.value === 'string') return [];
  return [invalid(path, '', accessProblem(scaleNames(path), found.value, 'string'))];
}

/** Finalizers of Kubernetes itself. */
const standardFinalizers: readonly string[] = ['foregroundDeletion', 'kubernetes', 'orphan'];

/**
 * Warns of finalizers without a domain, which may collide. Custom objects may have any finalizer; only new ones are
 * checked.
 */
function finalizerWarnings(finalizers: readonly string[] = [], old: readonly string[] = []): string[] {
  const added = [...new Set(finalizers)].filter((name) => !old.includes(name)).sort();
  return added.flatMap((name) => {
    const about = (text: string): string => `metadata.finalizers: ${goQuoted(name)}: ${text}`;
    const warnings = isQualifiedName(name).map(about);
    if (name.includes('/') || standardFinalizers.includes(name)) return warnings;
    const including = name.includes('.') ? ' including a path (/)' : '';
    return [
      ...warnings,
      about(
        `prefer a domain-qualified finalizer name${including} to avoid accidental conflicts with other finalizer writers`,
      ),
    ];
  });
}
