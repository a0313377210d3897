/** Create: from a decoded object to a stored one, in the order of `steps`. */
import {
  alreadyExists,
  badRequest,
  forbidden,
  generateNameExhausted,
  namespaceNotFound,
  plain,
} from '../../api/errors/errors.ts';
import type { FieldError } from '../../api/errors/field-error.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { generatedName, nameSuffix, validateMeta } from '../../api/kind/meta.ts';
import type { ApiObject } from '../../api/text/object.ts';
import { afterPass, inSlices } from '../../time-slices.ts';
import type { Admission } from '../admission-chain.ts';
import { allocated, committed } from '../allocation/allocation.ts';
import { withdrawn } from '../namespace-remains.ts';
import type { Registry } from '../registry.ts';
import type { Request } from '../request.ts';
import { named, type Place, type Target } from '../target.ts';
import { check, nameErrors } from '../validation.ts';
import { Entry } from '../view/entry.ts';
import type { Writing } from '../writing.ts';
import { preparedToStore, withConversions } from './conversion.ts';
import { type TrackCreate, trackCreate } from './ownership.ts';
import { inOrder, type Step } from './steps.ts';

/** Attempts to find a free generated name. */
const nameTriesMax = 8;
const versionMax = 2n ** 64n - 1n;

/** Sets the namespace of the path, and refuses an object that names another. */
export function settleNamespace(kind: Pick<Kind, 'namespaced'>, object: ApiObject, namespace: string): void {
  if (!kind.namespaced) {
    delete object.metadata.namespace;
    return;
  }
  if (object.metadata.namespace && object.metadata.namespace !== namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  object.metadata.namespace = namespace;
}

/** A new object on its way to the store. */
class Creation {
  readonly registry: Registry;
  readonly kind: Kind;
  /** Set when admission starts; with a generated name, its target gets the name later. */
  admission!: Omit<Admission, 'target'> & { target: Target };
  /** Whether the name was generated here, and so may be taken. */
  isNamed = false;
  entry!: Entry;

  constructor(
    readonly writing: Writing,
    readonly request: Request,
    readonly collection: Target,
    readonly object: ApiObject,
    readonly track: TrackCreate,
    readonly bytes: number,
  ) {
    this.registry = writing.registry;
    this.kind = collection.kind;
  }
}

const steps: readonly Step<Creation>[] = [
  refuse,
  pause,
  fillIn,
  noteOwner,
  pause,
  catchUp,
  letPluginsChange,
  identify,
  examine,
  allocateAndValidate,
  pause,
  warn,
  admitAndStore,
];

export async function create(
  writing: Writing,
  request: Request,
  collection: Target,
  object: ApiObject,
  /** Computes the managed fields; an apply has computed them before. */
  track: TrackCreate = trackCreate,
  /** Length of the body, if it is long. */
  bytes = 0,
): Promise<Entry> {
  request.trace?.end('decode');
  const creation = new Creation(writing, request, collection, object, track, bytes);
  await inOrder(steps, creation);
  return creation.entry;
}

/** Refuses objects of kinds that cannot be created at the moment. */
function refuse({ kind, object }: Creation): void {
  if (kind.createRefusal) throw forbidden(kind, object.metadata.name ?? '', kind.createRefusal);
}

/** Lets other work run after a pass over a long body. */
function pause({ bytes }: Creation): void | Promise<void> {
  return afterPass(bytes);
}

function fillIn({ kind, collection, object }: Creation): void {
  kind.defaults?.(object);
  kind.defaultsOfNew?.(object);
  settleNew(kind, object, collection.namespace);
}

function noteOwner(creation: Creation): void | Promise<void> {
  const { writing, registry, request, kind, collection, object, track } = creation;
  if (!kind.conversion) return track(writing, request, collection, object);
  const { managedFields } = object.metadata;
  return withConversions(registry, request, () => {
    object.metadata.managedFields = managedFields;
    track(writing, request, collection, object);
  });
}

/**
 * Waits until the view is current: another server may just have created or deleted the namespace, or an object of this
 * name.
 */
function catchUp({ registry, request }: Creation): void | Promise<void> {
  const behind = registry.view.caughtUp();
  if (behind) return registry.inTime(behind, request.deadlineMs);
}

async function letPluginsChange(creation: Creation): Promise<void> {
  const { writing, request, kind, collection, object } = creation;
  const sent = object.metadata;
  const target = named(collection, sent.name ?? '');
  creation.admission = { request, target, operation: 'create', object, old: undefined, afterwards: [] };
  await writing.admission.mutate(writing.registry, creation.admission);
  if (object.metadata === sent) return;
  // A webhook has changed the object.
  settleNew(kind, object, collection.namespace);
  creation.admission.target = named(collection, object.metadata.name ?? '');
}

/** Sets creation time, uid and name, and removes fields that clients may not set. */
function identify(creation: Creation): void {
  const { registry, request, kind, collection, object } = creation;
  const meta = object.metadata;
  creation.isNamed = !meta.name && Boolean(meta.generateName);
  meta.creationTimestamp = registry.now();
  meta.uid = registry.sources.uid();
  if (creation.isNamed) {
    meta.name = newName(registry, kind, meta.generateName!);
    creation.admission.target = named(collection, meta.name);
  }
  prepare(kind, object, registry.now());
  kind.setCreator?.(object, request.user, request.connection);
}

/** The parts of the validation that may take long. */
function examine({ registry, request, kind, object }: Creation): void | Promise<void> {
  const examining =
    kind.examine?.(object, undefined) ?? (kind.preparation && inSlices(kind.preparation(object, undefined)));
  if (examining) return registry.inTime(examining, request.deadlineMs);
}

/** Reserves addresses and ports first, so that they are validated, too. */
function allocateAndValidate(creation: Creation): void | Promise<void> {
  const { writing, registry, kind, object, admission } = creation;
  const { namespace, name } = admission.target;
  const errors = (): FieldError[] => [
    ...validateMeta(kind, object.metadata),
    ...nameErrors(kind, namespace, name),
    ...writing.admission.errors(registry, admission, () => kind.validate?.(object) ?? []),
  ];
  return allocated(writing, admission, () => check(kind, name, errors, undefined, writing.allowance));
}

function warn({ request, kind, object }: Creation): void {
  if (kind.warnings) request.warnings.push(...kind.warnings(object, undefined));
}

async function admitAndStore(creation: Creation): Promise<void> {
  const { writing, object, admission, isNamed } = creation;
  const entry = await writing.admission.admitted(writing.registry, admission, () =>
    insert(writing, admission, admission.target, object, isNamed),
  );
  creation.entry = entry!;
}

/** Sets the namespace, and removes fields that a new object cannot have yet. */
function settleNew(kind: Kind, object: ApiObject, namespace: string): void {
  settleNamespace(kind, object, namespace);
  const meta = object.metadata;
  meta.deletionTimestamp = undefined;
  meta.deletionGracePeriodSeconds = undefined;
}

/** Whether a text is the resourceVersion of an object, that is, a number other than 0. */
const isVersion = (text = ''): boolean =>
  /^\d{1,20}$/.test(text) && BigInt(text) > 0n && BigInt(text) <= versionMax;

/** Stores a new object; when a generated name is taken, another is generated. */
async function insert(
  { registry, admission: chain }: Writing,
  admission: Admission,
  first: Target,
  object: ApiObject,
  generate: boolean,
): Promise<Entry> {
  const { request } = admission;
  const { kind, namespace } = first;
  const meta = object.metadata;
  // In Kubernetes the store refuses this, so it comes after admission and validation, and not for dry runs.
  if (!request.dryRun && isVersion(meta.resourceVersion))
    throw plain('resourceVersion should not be set on objects to be created');
  for (let target = first, tries = 1; ; tries++) {
    const { name } = target;
    const converting = preparedToStore(kind, object);
    if (converting) await converting;
    const value = registry.encode(request, target, object);
    const taken = registry.view.collection(kind).get(namespace, name);
    if (!taken && request.dryRun) return Entry.of(kind, namespace, name, value, 0);
    if (!taken) {
      const revision = await committed(registry, admission, target, value, 0);
      if (revision !== undefined) {
        if (chain.asksForNamespaces && (await withdrawn(registry, request, target, revision)))
          throw namespaceNotFound(namespace);
        return registry.entryOf(target, value, revision);
      }
    }
    if (!generate) throw alreadyExists(kind, name, isDeleting(registry, target));
    // Other names have been tried since 1.31.
    if (registry.kinds.minor && !registry.kinds.minor.isOn('RetryGenerateName'))
      throw alreadyExists(kind, name, isDeleting(registry, target));
    if (tries >= nameTriesMax) throw generateNameExhausted(kind, name);
    meta.name = newName(registry, kind, meta.generateName!);
    target = named(first, meta.name);
    // Some kinds repeat their name in other fields.
    kind.prepareForCreate?.(object, { now: meta.creationTimestamp! });
  }
}

const newName = ({ sources }: Registry, { prefixIsName }: Kind, prefix: string): string =>
  prefixIsName
    ? prefix
    : generatedName(
        prefix,
        nameSuffix((bound) => sources.randomBelow(bound)),
      );

function prepare(kind: Kind, object: ApiObject, now: string): void {
  if (kind.hasStatus && !kind.keepStatusOnCreate) object.status = undefined;
  if (kind.generationOf) object.metadata.generation = 1;
  kind.prepareForCreate?.(object, { now });
}

const isDeleting = (registry: Registry, { kind, namespace, name }: Place): boolean =>
  registry.view.collection(kind).get(namespace, name)?.object().metadata.deletionTimestamp !== undefined;
