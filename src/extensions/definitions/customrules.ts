/** Validation of custom objects: the schema of their version, and the numbers that their scale reads. */
import type { CompiledSchema, Validation, ValidationWork } from '../../api/customschema/schema.ts';
import { type FieldError, invalid } from '../../api/fielderror.ts';
import { valueAt } from '../../api/jsonpath.ts';
import type { ApiObject, JsonObject } from '../../api/object.ts';
import { goTyped, type ScalePaths, scaleNames } from '../../api/scalepaths.ts';
import { computed, turnToCompute } from '../../registry/looplane.ts';

const replicasMax = 2_147_483_647;

export interface CustomVersion {
  readonly schema: CompiledSchema;
  readonly scale: ScalePaths | undefined;
  readonly hasStatus: boolean;
}

/** The hooks of a kind that validate. */
export function customErrors({ schema, scale, hasStatus }: CustomVersion) {
  /** Rules that fail on values that have not changed only warn; they are found with the errors, and asked for later. */
  const warned = new WeakMap<ApiObject, readonly string[]>();
  /** What was found before `validate` is called. */
  const examined = new WeakMap<ApiObject, Validation>();
  const begin = (object: ApiObject, old: ApiObject | undefined, only?: 'status'): ValidationWork =>
    schema.begin(object as unknown as JsonObject, {
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
  const scaleErrors = (object: ApiObject, parts: readonly ('spec' | 'status')[]): FieldError[] =>
    scale ? parts.flatMap((part) => replicasErrors(object, scale, part)) : [];
  return {
    examine,
    validate: (object: ApiObject, old?: ApiObject): FieldError[] => [
      ...check(object, old),
      ...scaleErrors(object, hasStatus ? ['spec'] : ['spec', 'status']),
    ],
    validateStatus: (object: ApiObject, old: ApiObject): FieldError[] => [
      ...check(object, old, 'status'),
      ...scaleErrors(object, ['status']),
    ],
    validationWarnings: (object: ApiObject): readonly string[] => warned.get(object) ?? [],
    warnings: ({ metadata }: ApiObject): string[] => finalizerWarnings(metadata.finalizers),
  };
}

/** One slice of a validation. */
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

function replicasErrors(object: ApiObject, scale: ScalePaths, part: 'spec' | 'status'): FieldError[] {
  const path = scale[part];
  const value = valueAt(object, scaleNames(path));
  if (value === undefined || value === null) return [];
  if (!Number.isInteger(value) && typeof value !== 'bigint')
    return [invalid(path, 0, `${path} accessor error: ${goTyped(value)}, expected int64`)];
  const replicas = Number(value);
  if (replicas < 0) return [invalid(path, value, 'should be a non-negative integer')];
  if (replicas > replicasMax) return [invalid(path, value, `should be less than or equal to ${replicasMax}`)];
  return [];
}

/** Any name is a finalizer of a custom object, but those without a domain may meet. */
function finalizerWarnings(finalizers: readonly string[] = []): string[] {
  return finalizers.flatMap((name) => {
    if (name.includes('/') || ['orphan', 'foregroundDeletion'].includes(name)) return [];
    const including = name.includes('.') ? ' including a path (/)' : '';
    return [
      `metadata.finalizers: ${JSON.stringify(name)}: prefer a domain-qualified finalizer name${including} to avoid accidental conflicts with other finalizer writers`,
    ];
  });
}
