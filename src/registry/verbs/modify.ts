/**
 * Modify: the read-change-write cycle behind every change of a stored object. The change is computed from the current
 * state and stored only if that state is still current; when another writer was faster, it is computed again from the
 * new state. So a change without a precondition never fails because of other writers.
 */

import { conflict, modified, plain } from '../../api/errors/errors.ts';
import type { FieldError } from '../../api/errors/field-error.ts';
import type { Change } from '../../api/kind/change.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { validateMetaUpdate } from '../../api/kind/meta.ts';
import { encodesEqual, isSameField } from '../../api/model/encoded-equality.ts';
import { sameJson } from '../../api/ownership/field-walk.ts';
import { jsonText } from '../../api/text/json-text.ts';
import { type ApiObject, type JsonObject, withSortedKeys } from '../../api/text/object.ts';
import { afterPass, inSlices, isLong } from '../../time-slices.ts';
import type { Admission } from '../admission-chain.ts';
import { allocated, committed } from '../allocation/allocation.ts';
import type { Registry } from '../registry.ts';
import type { Request } from '../request.ts';
import type { Target } from '../target.ts';
import { check } from '../validation.ts';
import { Entry } from '../view/entry.ts';
import { converted } from '../view/entry-conversion.ts';
import { storeKey } from '../view/key.ts';
import type { Writing } from '../writing.ts';
import { preparedToStore, withConversions } from './conversion.ts';
import { settleNamespace } from './create.ts';
import { type Track, trackUpdate } from './ownership.ts';
import { inOrder, type Step } from './steps.ts';

/** Attempts before giving up; each failed one means that another writer succeeded. */
const roundsMax = 1000;

/** Computes the new object from the stored one. It may throw, and may run several times. */
export type Edit = (current: Entry) => ApiObject | Promise<ApiObject>;

export async function modify(
  writing: Writing,
  request: Request,
  target: Target,
  change: Edit,
  track: Track = trackUpdate,
): Promise<Entry> {
  const { registry, keyQueue } = writing;
  request.trace?.end('decode');
  const key = storeKey(target.kind.storage.id, target.namespace, target.name);
  const turn = keyQueue.take(key);
  try {
    if (turn) {
      await registry.inTime(turn, request.deadlineMs);
      request.trace?.end('queue');
    }
    return await modifyInTurn(writing, request, target, change, track);
  } finally {
    keyQueue.giveUp(key);
  }
}

async function modifyInTurn(
  writing: Writing,
  request: Request,
  target: Target,
  change: Edit,
  track: Track,
): Promise<Entry> {
  const { registry } = writing;
  const { kind, name } = target;
  const behind = registry.view.of(kind).caughtUp();
  if (behind) await registry.inTime(behind, request.deadlineMs);
  for (let round = 1; round <= roundsMax; round++) {
    const attempt = new Attempt(writing, request, target, registry.find(target), change, track);
    await inOrder(steps, attempt);
    if (!attempt.stored) continue;
    request.warnings.push(...attempt.warnings);
    return attempt.stored;
  }
  throw modified(kind, name);
}

/** A change computed from one state of the object, and stored if that state is still current. */
class Attempt {
  readonly registry: Registry;
  readonly kind: Kind;
  /** Which fields a change of this part of the object may touch, and which rules apply. */
  readonly rules: Change;
  /** Warnings, sent only when the change is stored. */
  readonly warnings: string[] = [];
  old!: ApiObject;
  object!: ApiObject;
  admission!: Admission;
  /** The stored object; undefined when another writer was faster. */
  stored: Entry | undefined;

  constructor(
    readonly writing: Writing,
    readonly request: Request,
    readonly target: Target,
    readonly current: Entry,
    readonly change: Edit,
    readonly track: Track,
  ) {
    this.registry = writing.registry;
    this.kind = target.kind;
    this.rules = target.kind.changes[target.part]!;
  }
}

const steps: readonly Step<Attempt>[] = [
  makeReadable,
  readLong,
  readOld,
  pause,
  changeAndNoteOwner,
  pause,
  letPluginsChange,
  prepareUpdate,
  pause,
  examine,
  allocateAndValidate,
  pause,
  warn,
  admitAndStore,
];

function makeReadable({ kind, current }: Attempt): void | Promise<void> {
  return converted(kind, [current]);
}

/** Reads a long object in turns with other work. */
function readLong({ kind, current }: Attempt): void | Promise<void> {
  if (kind === current.kind && isLong(current.length)) return inSlices(current.reading());
}

function readOld(attempt: Attempt): void {
  const { kind, current } = attempt;
  attempt.old = kind === current.kind ? current.peek() : current.object(kind);
}

function changeAndNoteOwner(attempt: Attempt): void | Promise<void> {
  const { writing, request, target, kind, current, change, track, old } = attempt;
  const tracked = (made: ApiObject): ApiObject | Promise<ApiObject> => {
    const tracking = track(writing, request, target, made, old, current);
    return tracking ? tracking.then(() => made) : made;
  };
  const changed = (): ApiObject | Promise<ApiObject> => {
    const made = change(current);
    const turn = made instanceof Promise ? undefined : afterPass(current.length);
    if (turn) return turn.then(() => tracked(made as ApiObject));
    return made instanceof Promise ? made.then(tracked) : tracked(made);
  };
  const take = (object: ApiObject): void => {
    attempt.object = object;
    attempt.admission = { request, target, operation: 'update', object, old, afterwards: [] };
  };
  const made = kind.conversion ? withConversions(writing.registry, request, changed) : changed();
  if (made instanceof Promise) return made.then(take);
  take(made);
}

/** Lets other work run after a pass over a long object. */
function pause({ current }: Attempt): void | Promise<void> {
  return afterPass(current.length);
}

/** Runs the mutating plugins, but not for changes that the server itself computed. */
function letPluginsChange({ writing, rules, admission }: Attempt): void | Promise<void> {
  if (!rules.isComputed) return writing.admission.mutate(writing.registry, admission);
}

/** Runs the parts of the validation that may take long. */
function examine({ registry, request, rules, object, old }: Attempt): void | Promise<void> {
  const examining =
    rules.examine?.(object, old) ?? (rules.preparation && inSlices(rules.preparation(object, old)));
  if (examining) return registry.inTime(examining, request.deadlineMs);
}

/** Reserves addresses and ports first, so that they are validated, too. */
function allocateAndValidate(attempt: Attempt): void | Promise<void> {
  const { writing, request, target, kind, object, admission } = attempt;
  const errors = (): FieldError[] =>
    writing.admission.errors(writing.registry, admission, () => updateErrors(attempt));
  const refusing = (): void => {
    if (kind.validationWarnings) request.warnings.push(...kind.validationWarnings(object));
  };
  return allocated(writing, admission, () => check(kind, target.name, errors, refusing, writing.allowance));
}

function warn({ kind, rules, object, old, warnings }: Attempt): void {
  if (kind.validationWarnings) warnings.push(...kind.validationWarnings(object));
  if (rules.warnings) warnings.push(...rules.warnings(object, old));
}

async function admitAndStore(attempt: Attempt): Promise<void> {
  const { writing, registry, object, current, admission } = attempt;
  attempt.stored = await writing.admission.admitted(registry, admission, () =>
    put(registry, admission, object, current),
  );
}

/**
 * Stores the new state, or removes the object when nothing holds it any longer. Undefined: another writer was faster.
 */
async function put(
  registry: Registry,
  admission: Admission,
  object: ApiObject,
  current: Entry,
): Promise<Entry | undefined> {
  const { request, target } = admission;
  const { kind, namespace, name } = target;
  const converting = preparedToStore(kind, object);
  if (converting) await converting;
  const value = registry.encode(request, target, object, current);
  const released = isReleased(kind, object);
  if (request.dryRun || (!released && current.holds(value) && !isStale(registry, target)))
    return current.holds(value) ? current : Entry.of(kind, namespace, name, value, current.revision);
  const revision = await committed(registry, admission, target, released ? null : value, current.revision);
  if (revision === undefined) return undefined;
  return released
    ? Entry.of(kind, namespace, name, value, revision)
    : registry.entryOf(target, value, revision);
}

/** Whether the object should be written again although it does not change, such as one encrypted with an old key. */
const isStale = ({ store }: Registry, { kind, namespace, name }: Target): boolean =>
  store.isStale?.(storeKey(kind.storage.id, namespace, name)) ?? false;

/** A marked object is removed with its last finalizer, unless a grace period is still running. */
export function isReleased(kind: Kind, object: ApiObject): boolean {
  const meta = object.metadata;
  if (!meta.deletionTimestamp || meta.finalizers?.length || meta.deletionGracePeriodSeconds) return false;
  return !kind.deletion.isHeld?.(object);
}

/** Checks uid and resourceVersion of the new object against the stored one. */
export function checkPreconditions(
  kind: Kind,
  name: string,
  meta: ApiObject['metadata'],
  current: Entry,
  old: ApiObject,
): void {
  const version = meta.resourceVersion;
  if (version && version !== '0') {
    if (!/^\d+$/.test(version))
      throw plain(`strconv.ParseUint: parsing ${JSON.stringify(version)}: invalid syntax`);
    if (Number(version) !== current.revision) throw modified(kind, name);
  }
  if (meta.uid && meta.uid !== old.metadata.uid)
    throw conflict(
      kind,
      name,
      `StorageError: invalid object, Code: 4, Key: /registry/${kind.custom ? `${kind.group}/` : ''}${kind.resource}/${current.namespace ? `${current.namespace}/` : ''}${name}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${meta.uid}, UID in object meta: ${old.metadata.uid}`,
    );
}

/** Copies from the stored object what this change may not touch. */
function prepareUpdate({ registry, kind, rules, object, old, current }: Attempt): void {
  checkPreconditions(kind, current.name, object.metadata, current, old);
  settleNamespace(kind, object, current.namespace);
  const { managedFields } = object.metadata;
  rules.restore?.(object, old);
  const meta = object.metadata;
  meta.managedFields = managedFields;
  meta.uid = old.metadata.uid;
  meta.creationTimestamp = old.metadata.creationTimestamp;
  // Clients can neither undo a deletion nor start one by an update.
  if (old.metadata.deletionTimestamp) {
    meta.deletionTimestamp = old.metadata.deletionTimestamp;
    meta.deletionGracePeriodSeconds = old.metadata.deletionGracePeriodSeconds;
  }
  meta.generation = old.metadata.generation;
  rules.prepare?.(object, old, { now: registry.now() });
  if (rules.raisesGeneration && kind.generationOf && differs(kind, kind.generationOf, object, old))
    meta.generation = (old.metadata.generation ?? 0) + 1;
}

function differs(
  kind: Kind,
  part: NonNullable<Kind['generationOf']>,
  object: ApiObject,
  old: ApiObject,
): boolean {
  const labelsText = ({ metadata }: ApiObject) => jsonText(withSortedKeys(metadata.labels ?? {}));
  if (part === 'content and labels' && labelsText(object) !== labelsText(old)) return true;
  if (part === 'content' || part === 'content and labels')
    return !sameContent(kind, contentOf(kind, object), contentOf(kind, old));
  const field = kind.model.fields.get(part)!;
  const blank = field.type === 'array' ? [] : {};
  const partOf = (whole: ApiObject) => (whole as unknown as JsonObject)[part] ?? blank;
  return !isSameField(field, partOf(object), partOf(old));
}

/**
 * Whether two objects have the same content. Stored objects may have null for an empty list, where decoded ones have
 * nothing.
 */
const sameContent = ({ custom, model }: Kind, a: JsonObject, b: JsonObject): boolean =>
  custom ? sameJson(a, b) : encodesEqual(model, a, b);

/** Everything but the metadata, and the status where it has its own subresource. */
function contentOf({ hasStatus }: Kind, object: ApiObject): JsonObject {
  const { metadata: _metadata, kind: _kind, apiVersion: _apiVersion, status, ...content } = object;
  return (hasStatus ? content : { ...content, status }) as JsonObject;
}

function updateErrors({ kind, rules, object, old }: Attempt): FieldError[] {
  const errors = validateMetaUpdate(kind, object.metadata, old.metadata);
  if (rules.validate) errors.push(...rules.validate(object, old));
  return errors;
}
