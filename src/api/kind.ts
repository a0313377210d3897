/**
 * The form every kind fills in. A file in `kinds/` holds only what is special about its kind; the order of the
 * steps that carry all kinds through all verbs lives once, in the registry.
 *
 * Hooks get objects in working form (see decode.ts) and change them in place; `old` is the stored object and is
 * never changed. Hooks know no clock: the time comes in the context.
 */
import type { FieldError } from './fielderror.ts';
import { type Model, modelOf } from './model.ts';
import { type NameRule, subdomainName } from './names.ts';
import type { ApiObject } from './object.ts';

/**
 * What a kind is known by in keys, collections and every map: group and resource, as in `core/pods` and
 * `apps/deployments`. Two groups may have resources of one name. The core group has no name of its own; `core` cannot
 * be another's, because group names of users contain a dot.
 */
export type ResourceId = `${string}/${string}`;

const resourceId = (group: string, resource: string): ResourceId => `${group || 'core'}/${resource}`;

/** The way back: group ('' for the core) and resource. */
export function groupResource(id: string): { group: string; resource: string } {
  const slash = id.indexOf('/');
  const group = id.slice(0, Math.max(slash, 0));
  return { group: group === 'core' ? '' : group, resource: id.slice(slash + 1) };
}

export type Verb = 'create' | 'delete' | 'deletecollection' | 'get' | 'list' | 'patch' | 'update' | 'watch';

/** A column of `kubectl get`. */
export interface Column {
  readonly name: string;
  readonly description: string;
  readonly type?: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly format?: 'name';
  /** Shown only with `-o wide`. */
  readonly wide?: true;
}

export interface TableRowCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** What the hooks of a write may ask for. */
interface WriteContext {
  /** RFC 3339, whole seconds. */
  readonly now: string;
}

/** A part of an object with its own path, such as `pods/status`. */
export interface Subresource {
  readonly name: string;
  readonly verbs: readonly Verb[];
  /** Kind of the body; the parent's when not given. */
  readonly kind?: string;
  /** Group and version of that kind when they are not the parent's. */
  readonly group?: string;
  readonly version?: string;
}

/**
 * One thing in two versions: objects of this kind are kept as objects of another. Conversion sits between the
 * object and its bytes; defaults, validation and tables are those of the version that is asked for.
 */
interface StoredVersion<T extends ApiObject> {
  readonly kind: Kind;
  /** The stored form. What this version has no words for is taken from `old`, the object stored now. */
  toStored(object: T, old: ApiObject | undefined): ApiObject;
  fromStored(object: ApiObject): T;
}

export interface KindForm<T extends ApiObject> {
  // Names
  readonly kind: string;
  readonly resource: string;
  readonly singular: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly group?: string;
  readonly version?: string;
  /** The built-in field table that holds the model; `core-v1` when not given. */
  readonly table?: string;
  /** The model itself, for a kind that comes at run time (`modelsOf`). */
  readonly model?: Model;
  readonly namespaced: boolean;
  readonly nameRule?: NameRule;
  /** The kind it is stored as; itself when not given. */
  readonly stored?: StoredVersion<T>;

  // Verbs: all of them when not given
  readonly verbs?: readonly Verb[];
  readonly subresources?: readonly Subresource[];

  /** Told in a Warning header of every answer about the kind: it is on its way out. */
  readonly deprecation?: string;

  // Behaviour switches
  /** PUT of a missing object creates it. */
  readonly createOnUpdate?: boolean;
  /** DELETE answers with the object rather than a Status. */
  readonly deleteReturnsObject?: boolean;
  /** The part whose change counts up `metadata.generation`; no generation is kept when not given. */
  readonly generationOf?: 'spec' | 'template';
  /** What becomes of dependents when DELETE does not say; `Background` when not given. */
  readonly defaultPropagation?: 'Background' | 'Orphan';
  /** Told in a Warning header of a DELETE that does not say what becomes of dependents. */
  readonly deletionWarning?: string;
  /** Never gets a garbage collection finalizer. */
  readonly uncollected?: boolean;

  // Life
  /**
   * For a PUT, before the defaults: takes from the stored object what the server itself put there and the client left
   * out, where defaults do not bring it back. Old clients do not know these fields, and must not lose or be refused them.
   */
  takeServerValues?(object: T, old: T): void;
  /** Fills what the client may leave out. Runs on every decoded object. */
  defaults?(object: T): void;
  /** Resets what a client may not decide on create. The status is emptied before, unless keepStatusOnCreate. */
  prepareForCreate?(object: T, context: WriteContext): void;
  readonly keepStatusOnCreate?: boolean;
  /** Takes from the stored object what an update may not change. The status is taken before. */
  prepareForUpdate?(object: T, old: T, context: WriteContext): void;
  /** Rules of every write. `old` is there on an update, for rules that let be what was there already. */
  validate?(object: T, old?: T): FieldError[];
  validateUpdate?(object: T, old: T): FieldError[];
  /** The same for the /status path; the spec is taken from the stored object before. */
  prepareStatusUpdate?(object: T, old: T, context: WriteContext): void;
  validateStatusUpdate?(object: T, old: T): FieldError[];
  /** The same for the /finalize path, which changes the spec alone. */
  validateFinalize?(object: T, old: T): FieldError[];
  /** The same for the /ephemeralcontainers path of pods, which changes nothing but those. */
  validateEphemeralContainers?(object: T, old: T): FieldError[];
  /** The same for the /resize path of pods: takes all but resources from the stored object, a copy of its own. */
  prepareResize?(object: T, kept: T): void;
  validateResize?(object: T, old: T): FieldError[];
  /** Texts for Warning headers of a create or update. */
  warnings?(object: T, old: T | undefined): string[];
  /**
   * Kinds that are deleted gracefully: the seconds to wait, 0 for at once. `requested` is what DELETE asked for.
   */
  gracePeriodSeconds?(object: T, requested: number | undefined): number;

  // Views
  /** Field selector paths beyond metadata.name and metadata.namespace. */
  readonly selectableFields?: Readonly<Record<string, (object: T) => string>>;
  /** Old field selector paths and what they are called now. */
  readonly fieldAliases?: Readonly<Record<string, string>>;
  /** How an unknown field selector path is refused, when the kind has its own words. */
  unknownField?(path: string): string;
  readonly columns?: readonly Column[];
  /** One cell per column. */
  cells?(object: T, nowMs: number): unknown[];
  rowConditions?(object: T): TableRowCondition[] | undefined;
}

/** A kind with every field set, so that the request path never asks whether it is. */
export interface Kind extends KindForm<ApiObject> {
  /** Its own group and resource. Where its objects are kept is `storage.id`. */
  readonly id: ResourceId;
  readonly group: string;
  readonly version: string;
  readonly apiVersion: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly nameRule: NameRule;
  readonly verbs: readonly Verb[];
  readonly subresources: readonly Subresource[];
  readonly defaultPropagation: 'Background' | 'Orphan';
  readonly selectableFields: Readonly<Record<string, (object: ApiObject) => string>>;
  readonly fieldAliases: Readonly<Record<string, string>>;
  readonly model: Model;
  /** The kind whose objects are in the store: itself, or the one it is a version of. */
  readonly storage: Kind;
  readonly hasStatus: boolean;
}

const allVerbs: readonly Verb[] = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'update',
  'watch',
];

export function defineKind<T extends ApiObject>(form: KindForm<T>): Kind {
  const group = form.group ?? '';
  const version = form.version ?? 'v1';
  const model = form.model ?? modelOf(form.kind, form.table ?? 'core-v1');
  const kind: Omit<Kind, 'storage'> = {
    ...(form as unknown as KindForm<ApiObject>),
    id: resourceId(group, form.resource),
    group,
    version,
    apiVersion: group ? `${group}/${version}` : version,
    shortNames: form.shortNames ?? [],
    categories: form.categories ?? [],
    nameRule: form.nameRule ?? subdomainName,
    verbs: form.verbs ?? allVerbs,
    subresources: form.subresources ?? [],
    defaultPropagation: form.defaultPropagation ?? 'Background',
    selectableFields: (form.selectableFields ?? {}) as Kind['selectableFields'],
    fieldAliases: form.fieldAliases ?? {},
    model,
    hasStatus: form.subresources?.some((sub) => sub.name === 'status') ?? false,
  };
  const storage = form.stored?.kind;
  const defined = kind as { -readonly [K in keyof Kind]: Kind[K] };
  defined.storage = storage ?? defined;
  return defined;
}

const readWrite: readonly Verb[] = ['get', 'patch', 'update'];

/** The status of an object as a path of its own. */
export const statusSubresource: Subresource = { name: 'status', verbs: readWrite };
