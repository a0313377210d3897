/**
 * The interface that every kind implements. A file in `kinds/` holds only what is special about its kind; the order
 * of steps of all verbs is in the registry.
 *
 * Hooks get objects in working form (see decode.ts) and change them in place; `old` is the stored object and is never
 * changed. Hooks read no clock: the time is in the context.
 */

import type { FieldError } from '../errors/field-error.ts';
import { type Model, modelOf } from '../model/model.ts';
import type { ApiObject } from '../text/object.ts';
import type { Cell } from '../values/elapsed.ts';
import { type NameRule, subdomainName } from '../values/names.ts';
import type { User } from '../values/user.ts';
import { type Changes, changesOf, type WriteContext } from './change.ts';
import type { ResetFields } from './reset-fields.ts';
import type { BindingRules, EvictionRules, GuardRules, ScaleRules, Subresource } from './subresource.ts';

/**
 * The id of a kind in store keys, collections and maps: group and resource, as in `core/pods` and `apps/deployments`,
 * because two groups may have resources of the same name. The core group has the name `core` here; no other can have
 * it, because group names of users contain a dot. A kind that may be defined anew has its incarnation at the end.
 */
export type ResourceId = `${string}/${string}`;

const resourceId = (group: string, resource: string, incarnation: string | undefined): ResourceId =>
  `${group || 'core'}/${resource}${incarnation === undefined ? '' : incarnationMark + incarnation}`;

/** Separates the incarnation from the resource; no resource name contains it. */
const incarnationMark = '#';

/** The reverse: group ('' for the core) and resource. */
export function groupResource(id: string): { group: string; resource: string } {
  const slash = id.indexOf('/');
  const group = id.slice(0, Math.max(slash, 0));
  const mark = id.indexOf(incarnationMark);
  const resource = id.slice(slash + 1, mark < 0 ? undefined : mark);
  return { group: group === 'core' ? '' : group, resource };
}

export type Verb = 'create' | 'delete' | 'deletecollection' | 'get' | 'list' | 'patch' | 'update' | 'watch';

/** A column of `kubectl get`. */
export interface Column {
  readonly name: string;
  readonly description: string;
  readonly type?: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  /** `name`, or a format of OpenAPI. */
  readonly format?: string;
  /** Shown only with `-o wide`. */
  readonly wide?: true;
  /** Above 0 it is shown only with `-o wide`; default: 1 for a wide column. */
  readonly priority?: number;
}

export interface TableRowCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/**
 * A kind that is another version of a stored kind. Objects are converted when they are encoded and decoded; defaults,
 * validation and tables are those of the requested version.
 */
interface StoredVersion<T extends ApiObject> {
  readonly kind: Kind;
  /** The stored form. Fields that this version does not have are taken from `old`, the object stored now. */
  toStored(object: T, old: ApiObject | undefined): ApiObject;
  fromStored(object: ApiObject): T;
}

/** Converts objects between the versions of a custom kind, in time. */
export interface Conversion {
  /** The objects as a version of their kind, in the same order. */
  convert(objects: readonly ApiObject[], to: Kind): Promise<ApiObject[]>;
}

/** What the kind is called, and where it is served. */
interface KindNames {
  readonly kind: string;
  readonly resource: string;
  readonly singular: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  /** Kind of the lists; default: the kind and `List`. */
  readonly listKind?: string;
  readonly group?: string;
  readonly version?: string;
  /** The built-in field table with the model; default: `core-v1`. */
  readonly table?: string;
  /** The model itself, for a kind that is added at run time (`modelsOf`). */
  readonly model?: Model;
  readonly namespaced: boolean;
  readonly nameRule?: NameRule;
  /** A generateName is the name itself, without a suffix. */
  readonly prefixIsName?: boolean;
  /** Sent in a Warning header of every answer about the kind, because it is deprecated. */
  readonly deprecation?: string;
}

/** How its objects are stored, and what became of kinds that were defined by users. */
interface KindVersions<T extends ApiObject> {
  /** The kind as which it is stored; default: itself. */
  readonly stored?: StoredVersion<T>;
  /**
   * The version that `storageVersionHash` is made from, of a kind that Kubernetes stores in another version than this
   * server: clients compare the hash with that of other servers. Default: the version as which it is stored here.
   */
  readonly hashedVersion?: string;
  /**
   * A custom kind: it is defined by an object of a user. Kubernetes serves it somewhat differently: items of lists have
   * kind and apiVersion, there is no strategic merge patch and no protobuf, finalizers may have any name, PUT needs a
   * resourceVersion.
   */
  readonly custom?: boolean;
  /** Tells the objects of this kind apart from those of a former one of the same name. */
  readonly incarnation?: string;
  /** Changes when something that watching clients rely on changes: then their watches end, and they begin new ones. */
  readonly edition?: string;
  /** The kind is known because objects are stored as it, but it is not served. */
  readonly hidden?: boolean;
  /** Objects of one version become those of another by asking a webhook; see `registry/verbs/conversion.ts`. */
  readonly conversion?: Conversion | undefined;
  /**
   * Removes what a decoded object may not contain, where that is not in the model, and adds the paths of unknown fields
   * to the list. Runs on every decoded body.
   */
  prune?(object: T, unknown: string[]): void;
  /** The same for what an apply results in: its fields are known to its types, of which some allow any. */
  pruneApplied?(object: T): void;
  /**
   * Brings an object into the form in which this kind would store it now. It may have been stored under an earlier
   * definition of the kind.
   */
  refresh?(object: T): void;
}

/** What clients may do, and what a create or an update does to an object, in the order of the steps. */
interface KindWrites<T extends ApiObject> {
  /** All of them when not given. */
  readonly verbs?: readonly Verb[];
  readonly subresources?: readonly Subresource<T>[];
  /** For kinds whose objects guard others against eviction. */
  readonly guard?: GuardRules<T>;
  /** PUT of a missing object creates it. */
  readonly createOnUpdate?: boolean;
  /** PUT needs a resourceVersion. */
  readonly versionRequired?: boolean;
  /** Why no objects can be created now. */
  readonly createRefusal?: string;
  /** Finalizers may have any name; default: as for custom kinds. */
  readonly anyFinalizer?: boolean;
  /**
   * The part whose changes increase `metadata.generation`; without it there is no generation. `content` is everything
   * but the metadata and, where it is a subresource, the status.
   */
  readonly generationOf?: 'spec' | 'template' | 'webhooks' | 'content' | 'content and labels';
  /** Fields that nobody can own through an update, because it does not change them; default: the status, if it has a path. */
  readonly resets?: ResetFields;
  /** Written often, read by machines, applied by nobody: what Wherry itself writes is not in `metadata.managedFields`. */
  readonly untracked?: true;

  /**
   * For a PUT, before the defaults: takes from the stored object what the server itself put there and the client left
   * out, where defaults do not bring it back. Old clients do not know these fields, and must not lose or be refused them.
   */
  takeServerValues?(object: T, old: T): void;
  /** Fills what the client may leave out. Runs on every decoded object. */
  defaults?(object: T): void;
  /** On create, fills what the decoder of Kubernetes fills in, so that the creator owns it. */
  defaultsOfNew?(object: T): void;
  /** Resets fields that clients may not set on create. The status is cleared before, unless keepStatusOnCreate. */
  prepareForCreate?(object: T, context: WriteContext): void;
  readonly keepStatusOnCreate?: boolean;
  /** For kinds that keep who created an object, and on which connection. */
  setCreator?(object: T, user: User, connection?: { readonly remoteAddress?: string | undefined }): void;
  /** Restores fields that an update may not change. The status is restored before. */
  prepareForUpdate?(object: T, old: T, context: WriteContext): void;
  /**
   * Does those parts of the validation that may take long, right before it, and lets others compute in between. The
   * object must not change until `validate` is called.
   */
  examine?(object: T, old: T | undefined): Promise<void> | undefined;
  /**
   * Works out what `validate` needs and what takes long, so that it finds that done. It runs in slices, between which
   * others compute; each `yield` tells about how many steps it took, of which ten thousand take half a millisecond.
   */
  preparation?(object: T, old: T | undefined): Generator<number, void>;
  /** Validation of every write. `old` is set on an update, for rules that accept unchanged values. */
  validate?(object: T, old?: T): FieldError[];
  validateUpdate?(object: T, old: T): FieldError[];
  /** Texts for Warning headers that validation has found, also when it refuses the object. */
  validationWarnings?(object: T): readonly string[];
  /** Texts for Warning headers of a create or update. */
  warnings?(object: T, old: T | undefined): string[];
}

/** What a DELETE does. */
export interface DeletionRules<T extends ApiObject> {
  /** Whether a DELETE answers with the object rather than a Status. */
  readonly returnsObject?: boolean;
  /** What happens to dependents when the request does not say; default: `Background`. */
  readonly propagation?: 'Background' | 'Orphan';
  /** Sent in a Warning header of a DELETE without a propagation policy. */
  readonly warning?: string;
  /** Never gets a garbage collection finalizer. */
  readonly uncollected?: boolean;
  /**
   * Dependents that are to stay forget the object before its DELETE is answered, unless the request says what becomes of
   * them: Kubernetes 1.1 deleted it at once.
   */
  readonly orphansAtOnce?: true;
  /** A DELETE for another uid is refused in other words: Kubernetes checks it before the store does. */
  readonly checksUidFirst?: true;
  /** Changes an object that a DELETE marks, instead of the usual marks beyond the time. */
  mark?(object: T, context: WriteContext): void;
  /** Whether something beside `metadata.finalizers` holds an object that is marked. */
  isHeld?(object: T): boolean;
  /** For kinds with graceful deletion: the grace period in seconds, 0 for none. `requested` is that of the DELETE. */
  gracePeriodSeconds?(object: T, requested: number | undefined): number;
  /** The server's own finalizer, which holds an object that is in use. */
  readonly protection?: Protection<T>;
}

export interface Protection<T extends ApiObject> {
  readonly finalizer: string;
  isInUse(object: T, others: OtherObjects): boolean;
}

/** Stored objects, for hooks that must look at others than their own. */
export interface OtherObjects {
  /**
   * Whether an object of a kind passes a test.
   * @param namespace undefined: any
   * @param mark a text that all objects contain that could pass; others are not read
   */
  some(
    of: ResourceId,
    namespace: string | undefined,
    mark: string,
    test: (object: ApiObject) => boolean,
  ): boolean;
}

/** How objects are selected, and shown to people. */
interface KindViews<T extends ApiObject> {
  /** Field selector paths beyond metadata.name and metadata.namespace. */
  readonly selectableFields?: Readonly<Record<string, (object: T) => string>>;
  /** The text of a field that is selectable in another version of the kind. */
  otherField?(object: T, path: string): string;
  /** Deprecated field selector paths and their replacements. */
  readonly fieldAliases?: Readonly<Record<string, string>>;
  /** The error for an unknown field selector path, when it differs from the general one. */
  unknownField?(path: string): string;
  readonly columns?: readonly Column[];
  /** One cell per column. Kept as long as the object does not change: how long ago something was is an `Elapsed`. */
  cells?(object: T): Cell[];
  rowConditions?(object: T): TableRowCondition[] | undefined;
}

/** What is special about a kind: its names, its versions, how it is written, deleted and shown. */
export interface KindForm<T extends ApiObject>
  extends KindNames,
    KindVersions<T>,
    KindWrites<T>,
    KindViews<T> {
  readonly deletion?: DeletionRules<T>;
}

/** A kind with every field set, so that code on the request path needs no defaults. */
export interface Kind extends KindForm<ApiObject> {
  /** Its own group and resource. Its objects are stored under `storage.id`. */
  readonly id: ResourceId;
  readonly group: string;
  readonly version: string;
  readonly apiVersion: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly listKind: string;
  readonly nameRule: NameRule;
  readonly verbs: readonly Verb[];
  readonly subresources: readonly Subresource[];
  readonly deletion: DeletionRules<ApiObject> & { readonly propagation: 'Background' | 'Orphan' };
  readonly selectableFields: Readonly<Record<string, (object: ApiObject) => string>>;
  readonly fieldAliases: Readonly<Record<string, string>>;
  readonly model: Model;
  /** The kind as which objects are stored: itself, or the one it is a version of. */
  readonly storage: Kind;
  readonly hasStatus: boolean;
  /** How its objects are changed, by part. */
  readonly changes: Changes;
  // The rules of its subresources.
  readonly binding: BindingRules | undefined;
  readonly eviction: EvictionRules | undefined;
  readonly scaling: ScaleRules | undefined;
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
  const subresources = (form.subresources ?? []) as readonly Subresource[];
  let model = form.model;
  const kind: Omit<Kind, 'storage'> = {
    ...(form as unknown as KindForm<ApiObject>),
    // Looked up when first used: a start needs few of the field tables.
    get model() {
      model ??= modelOf(form.kind, form.table ?? 'core-v1');
      return model;
    },
    id: resourceId(group, form.resource, form.incarnation),
    group,
    version,
    apiVersion: group ? `${group}/${version}` : version,
    shortNames: form.shortNames ?? [],
    categories: form.categories ?? [],
    listKind: form.listKind ?? `${form.kind}List`,
    anyFinalizer: form.anyFinalizer ?? form.custom,
    nameRule: form.nameRule ?? subdomainName,
    verbs: form.verbs ?? allVerbs,
    subresources,
    deletion: { propagation: 'Background', ...form.deletion } as Kind['deletion'],
    selectableFields: (form.selectableFields ?? {}) as Kind['selectableFields'],
    fieldAliases: form.fieldAliases ?? {},
    hasStatus: subresources.some(({ name }) => name === 'status'),
    changes: changesOf(form as unknown as KindForm<ApiObject>, subresources),
    binding: subresources.find((one) => one.binding)?.binding,
    eviction: subresources.find((one) => one.eviction)?.eviction,
    scaling: subresources.find((one) => one.scaling)?.scaling,
  };
  const defined = kind as { -readonly [K in keyof Kind]: Kind[K] };
  defined.storage = form.stored?.kind ?? defined;
  return defined;
}
