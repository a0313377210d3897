/**
 * Changes: what an update of an object, or of one of its parts, may touch, and which rules hold for it. A kind has one for
 * each part, made when the kind is defined, so that a write need not ask which part it is about.
 */
import type { FieldError } from '../errors/field-error.ts';
import { type ApiObject, cloneJson, type JsonObject } from '../text/object.ts';
import { nothingReset, type ResetFields, statusReset } from './reset-fields.ts';

/** What the hooks of a write may use. */
export interface WriteContext {
  /** RFC 3339, whole seconds. */
  readonly now: string;
}

/** How a stored object is changed: by an update of the object itself, or of one of its parts. */
export interface Change<T extends ApiObject = ApiObject> {
  /** Takes from the stored object what this change may not touch. It copies: `old` is shared, and hooks may change copies. */
  restore?(object: T, old: T): void;
  /** Sets and restores more, when the metadata is complete. */
  prepare?(object: T, old: T, context: WriteContext): void;
  /** Like `examine` of the kind. */
  examine?(object: T, old: T): Promise<void> | undefined;
  /** Like `preparation` of the kind. */
  preparation?(object: T, old: T): Generator<number, void>;
  validate?(object: T, old: T): FieldError[];
  /** Texts for Warning headers. */
  warnings?(object: T, old: T): string[];
  /** Whether it may change the fields that `generationOf` of the kind names. */
  readonly raisesGeneration?: boolean;
  /** The server itself has worked it out: plugins do not change it. */
  readonly isComputed?: boolean;
  /**
   * Whether it may be applied to an object that has changed or gone since it was read, where the server allows that.
   */
  readonly mayComeLate?: boolean;
  /** Fields that nobody can own through it, because it does not change them. */
  readonly resets: ResetFields;
}

/** Changes by part; `whole` are changes that the server itself computes, such as binding a pod. */
export interface Changes {
  readonly main: Change;
  readonly scale: Change;
  readonly whole: Change;
  readonly [part: string]: Change | undefined;
}

/** The hooks of a kind from which its changes are made. */
interface UpdateHooks {
  readonly resets?: ResetFields;
  prepareForUpdate?: Change['prepare'];
  examine?(object: ApiObject, old: ApiObject | undefined): Promise<void> | undefined;
  preparation?(object: ApiObject, old: ApiObject | undefined): Generator<number, void>;
  validate?(object: ApiObject, old?: ApiObject): FieldError[];
  validateUpdate?(object: ApiObject, old: ApiObject): FieldError[];
  warnings?(object: ApiObject, old: ApiObject | undefined): string[];
}

export function changesOf(
  kind: UpdateHooks,
  subresources: readonly { readonly name: string; readonly change?: Change }[],
): Changes {
  const status = subresources.find(({ name }) => name === 'status')?.change;
  const resets = kind.resets ?? (status ? statusReset : nothingReset);
  const main: Change = {
    restore: status && restoreStatus,
    prepare: kind.prepareForUpdate,
    examine: kind.examine,
    preparation: kind.preparation,
    validate: (object, old) => [
      ...(kind.validate?.(object, old) ?? []),
      ...(kind.validateUpdate?.(object, old) ?? []),
    ],
    warnings: kind.warnings,
    raisesGeneration: true,
    resets,
  };
  // Every kind has the same members in the same order, so that the engine finds them at the same places.
  const changes: Record<string, Change | undefined> & Pick<Changes, 'main' | 'scale' | 'whole'> = {
    main,
    // The number of replicas is in the spec.
    scale: main,
    whole: { isComputed: true, resets },
    status: undefined,
    finalize: undefined,
    ephemeralcontainers: undefined,
    resize: undefined,
    approval: undefined,
  };
  for (const { name, change } of subresources) if (change) changes[name] = change;
  return changes;
}

function restoreStatus(object: ApiObject, old: ApiObject): void {
  object.status = cloneJson(old.status);
}

/** Takes all fields except the metadata and one part from the stored object. */
export const allBut =
  (part: 'status' | 'spec') =>
  (object: ApiObject, old: ApiObject): void => {
    const target = object as unknown as JsonObject;
    const source = old as unknown as JsonObject;
    for (const name of new Set([...Object.keys(target), ...Object.keys(source)]))
      if (name !== 'metadata' && name !== part) target[name] = cloneJson(source[name]);
  };
