/**
 * Subresources: parts of an object that have a path of their own, such as `pods/status`. Each is a form: what clients may
 * send there, what a change through it leaves as it is, and its rules. `defineKind` makes from them, once, what the
 * registry asks with every write (`Kind.changes`).
 */
import type { FieldError } from '../errors/field-error.ts';
import { type ApiObject, cloneJson, type JsonObject } from '../text/object.ts';
import { allBut, type Change } from './change.ts';
import type { ResourceId, Verb } from './kind.ts';
import { specReset, statusReset } from './reset-fields.ts';
import type { ScalePaths } from './scale-paths.ts';

/** What kinds say about a part that is changed by PUT and PATCH. */
type ChangeRules<T extends ApiObject> = Partial<
  Pick<Change<T>, 'prepare' | 'examine' | 'validate' | 'resets'>
>;

/** How objects are assigned by a POST of a binding, which is not stored. */
export interface BindingRules<T extends ApiObject = ApiObject> {
  /** The errors of the binding itself. */
  errors(binding: ApiObject): FieldError[];
  /** Does what the binding says, or throws. */
  assign(object: T, binding: ApiObject, now: string): void;
}

/** How objects are evicted: deleted, unless a guard refuses it. */
export interface EvictionRules<T extends ApiObject = ApiObject> {
  /** The kind of the guards; it has `guard`. */
  readonly guards: ResourceId;
  /** `guarded`: guards are asked. `waiting`: they are not, as long as the object does not change. `over`: nor later. */
  stateOf(object: T): 'guarded' | 'waiting' | 'over';
  /** Notes in the object why it is deleted. */
  note(object: T, now: string): void;
}

/** Objects that guard others against eviction, such as disruption budgets. */
export interface GuardRules<T extends ApiObject = ApiObject> {
  isGuarding(guard: T, object: ApiObject): boolean;
  /** Why an object with several guards cannot be evicted. */
  readonly severalRefusal: string;
  /** Whether the object may be evicted as it is, without a change of the guard. */
  isExempt(guard: T, object: ApiObject): boolean;
  /** Notes the eviction of an object in the status of its guard, or throws. */
  spend(guard: T, name: string, now: string): void;
  /** The answer when guard or object change again and again. */
  unsettled(name: string): Error;
}

/** How objects are scaled. */
export interface ScaleRules {
  /** The paths of the numbers in a custom kind. */
  readonly paths?: ScalePaths | undefined;
  /** The selector is a map of labels, not a LabelSelector. */
  readonly selectorIsMap?: boolean;
}

export interface Subresource<T extends ApiObject = ApiObject> {
  readonly name: string;
  readonly verbs: readonly Verb[];
  /** Kind of the body; default: that of the parent. */
  readonly kind?: string;
  /** Group and version of that kind, when they differ from the parent's. */
  readonly group?: string;
  readonly version?: string;

  // What it does: one of these, or a handler of the server's own.
  readonly change?: Change<T>;
  readonly binding?: BindingRules<T>;
  readonly eviction?: EvictionRules<T>;
  readonly scaling?: ScaleRules;
}

const readWrite: readonly Verb[] = ['get', 'patch', 'update'];

/** The status, which clients cannot change by an update of the object. */
export const status = <T extends ApiObject>(rules: ChangeRules<T> = {}): Subresource<T> => ({
  name: 'status',
  verbs: readWrite,
  change: { resets: specReset, ...rules, restore: allBut('status') },
});

/** The conditions of a signing request. */
export const approval = <T extends ApiObject>(rules: ChangeRules<T>): Subresource<T> => ({
  name: 'approval',
  verbs: readWrite,
  change: { resets: statusReset, ...rules, restore: allBut('status') },
});

/** The finalizers in the spec of a namespace. */
export const finalize = <T extends ApiObject>(rules: ChangeRules<T>): Subresource<T> => ({
  name: 'finalize',
  verbs: ['update'],
  change: {
    resets: statusReset,
    ...rules,
    restore: allBut('spec'),
    raisesGeneration: true,
    mayComeLate: true,
  },
});

/** The containers that are added to a running pod. */
export const ephemeralContainers = <T extends ApiObject>(rules: ChangeRules<T>): Subresource<T> => ({
  name: 'ephemeralcontainers',
  verbs: readWrite,
  change: {
    resets: statusReset,
    ...rules,
    restore(object, old) {
      const { ephemeralContainers } = (object.spec ?? {}) as JsonObject;
      const kept = cloneJson(old) as T;
      Object.assign(object, kept, { spec: { ...(kept.spec as JsonObject), ephemeralContainers } });
    },
    raisesGeneration: true,
  },
});

/** The resources of the containers of a running pod. */
export const resize = <T extends ApiObject>({
  take,
  ...rules
}: ChangeRules<T> & {
  /** Restores all fields but resources from a copy of the stored object. */
  take(object: T, kept: T): void;
}): Subresource<T> => ({
  name: 'resize',
  verbs: readWrite,
  change: {
    resets: statusReset,
    ...rules,
    restore: (object, old) => take(object, cloneJson(old) as T),
    raisesGeneration: true,
  },
});

/** The number of replicas. A change of it is an update of the object. */
export const scale = (scaling: ScaleRules = {}): Subresource => ({
  name: 'scale',
  kind: 'Scale',
  group: 'autoscaling',
  version: 'v1',
  verbs: readWrite,
  scaling,
});

export const binding = <T extends ApiObject>(rules: BindingRules<T>): Subresource<T> => ({
  name: 'binding',
  kind: 'Binding',
  verbs: ['create'],
  binding: rules,
});

export const eviction = <T extends ApiObject>(rules: EvictionRules<T>): Subresource<T> => ({
  name: 'eviction',
  kind: 'Eviction',
  group: 'policy',
  version: 'v1',
  verbs: ['create'],
  eviction: rules,
});
