/**
 * Server-side apply: a PATCH with all fields that a manager wants to set. It is merged into the stored object. Fields
 * that the manager applied before and leaves out now are removed; changing fields that other managers own is a
 * conflict.
 */
import { ownershipModel } from '../../api/custom-schema/ownership-model.ts';
import {
  badRequest,
  conflict,
  invalid,
  modified,
  notFound,
  plain,
  StatusError,
} from '../../api/errors/errors.ts';
import { invalid as invalidField } from '../../api/errors/field-error.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { DecodeError, decodeObject } from '../../api/model/decode.ts';
import { normalized } from '../../api/model/encode.ts';
import { goQuoted } from '../../api/model/go-format.ts';
import { type ManagedText, setEntries, writingSets } from '../../api/model/managed-text.ts';
import type { Model } from '../../api/model/model.ts';
import { withWrappedIntegers } from '../../api/model/wrapped-integers.ts';
import { typedProblem } from '../../api/ownership/field-check.ts';
import { structOf } from '../../api/ownership/field-type.ts';
import {
  type Application,
  ApplyConflict,
  applied,
  applying,
  type Conflict,
  memoized,
} from '../../api/ownership/managed-fields.ts';
import { conversionProblem } from '../../api/patch/conversion-problem.ts';
import { type ApiObject, isJsonObject, type JsonObject } from '../../api/text/object.ts';
import { fieldPaths, isEmptySet } from '../../api/values/field-set.ts';
import { entryOf, identity, type Managed } from '../../api/values/managed-entry.ts';
import { afterPass, givenInPasses, isLong, nextPass } from '../../time-slices.ts';
import type { Expected } from '../input.ts';
import type { Request } from '../request.ts';
import { collectionOf, type Target } from '../target.ts';
import type { Entry } from '../view/entry.ts';
import type { Writing } from '../writing.ts';
import { create, settleNamespace } from './create.ts';
import { keepLastApplied, unlessApplied } from './last-applied.ts';
import { modify } from './modify.ts';
import {
  checkCount,
  converted,
  managerOf,
  ownedByCreator,
  trackedAlready,
  versionOf,
  zeroObject,
} from './ownership.ts';
import { rescale, type Scale, type ScaleForm } from './scale.ts';
import { entriesFromScale, scaleEntries } from './scale-ownership.ts';
import { checkName } from './update.ts';

/** Maximum number of attempts when others create and delete the object at the same time. */
const triesMax = 8;

/** The body of an apply. */
export interface ApplyPatch {
  readonly value: unknown;
  /** Duplicate keys, as warnings name them: `line 1: key "a" already set in map`. */
  readonly duplicates: readonly string[];
  readonly force: boolean;
  /** Length of the body, if it is so long that merging should be paused. Default: it is merged at once. */
  readonly bytes?: number;
}

/** Checks what can be checked without the stored object, and returns the body as an object. */
function readApply({ kind, apiVersion, model }: Expected, { value }: ApplyPatch): JsonObject {
  const body = value ?? {};
  if (!isJsonObject(body))
    throw badRequest(
      `error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${Array.isArray(body) ? 'array' : typeof body === 'boolean' ? 'bool' : typeof body} into Go value of type map[string]interface {}`,
    );
  if (body.kind !== kind || body.apiVersion !== apiVersion)
    throw badRequest(`invalid object type: ${kindText(body.apiVersion, body.kind)}`);
  const meta = isJsonObject(body.metadata) ? body.metadata : {};
  if (meta.managedFields !== undefined && meta.managedFields !== null)
    throw badRequest('metadata.managedFields must be nil');
  const problem = typedProblem(ownershipModel(model), body);
  if (problem) throw plain(`failed to create typed patch object (${nameText(body)}): ${problem}`);
  return body;
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** `apps/v1, Kind=Deployment`; the core group is empty: `/v1, Kind=Pod`. */
function kindText(apiVersion: unknown, kind: unknown): string {
  const version = textOf(apiVersion);
  return `${version.includes('/') ? version : `/${version}`}, Kind=${textOf(kind)}`;
}

function nameText({ apiVersion, kind, metadata }: JsonObject): string {
  const meta = isJsonObject(metadata) ? metadata : {};
  return `${textOf(meta.namespace)}/${textOf(meta.name)}; ${kindText(apiVersion, kind)}`;
}

/** Applies to an object or its status; `created` when the object did not exist. */
export async function apply(
  writing: Writing,
  request: Request,
  target: Target,
  patch: ApplyPatch,
  /** Throws if the user may not create the object. */
  mayCreate: () => void | Promise<void>,
): Promise<{ entry: Entry; created: boolean }> {
  const { kind, namespace, name, part } = target;
  const bytes = patch.bytes ?? 0;
  const behind = writing.registry.view.caughtUp();
  if (behind) await writing.registry.inTime(behind, request.deadlineMs);
  for (let tries = 1; ; tries++) {
    const exists = writing.registry.view.collection(kind).get(namespace, name) !== undefined;
    if (!exists && part !== 'main') throw notFound(kind, name);
    const body = await nextPass(bytes, () => readApply(kind, patch));
    await afterPass(bytes);
    try {
      if (exists)
        return { entry: await applyToStored(writing, request, target, patch, body), created: false };
      await mayCreate();
      return { entry: await createApplied(writing, request, target, patch, body), created: true };
    } catch (error) {
      const raced = error instanceof StatusError && error.reason === (exists ? 'NotFound' : 'AlreadyExists');
      if (!raced || part !== 'main' || tries >= triesMax) throw error;
    }
  }
}

function applyToStored(
  writing: Writing,
  request: Request,
  target: Target,
  patch: ApplyPatch,
  body: JsonObject,
): Promise<Entry> {
  const { kind, namespace, name } = target;
  const change = (current: Entry): ApiObject | Promise<ApiObject> => {
    const bytes = Math.max(current.length, patch.bytes ?? 0);
    // Merging copies what it changes, and decoding copies the rest, except of custom objects.
    const live = kind === current.kind && !kind.custom ? current.peek() : current.object(kind);
    return nextPass(bytes, () => {
      const merging = mergedObject(writing, request, target, patch, body, live, current.managed, bytes);
      const merged = givenInPasses(merging, bytes);
      return merged instanceof Promise
        ? merged.then((object) => checked(object, live))
        : checked(merged, live);
    });
  };
  const checked = (object: ApiObject, live: ApiObject): ApiObject => {
    settleNamespace(kind, object, namespace);
    checkName(object, name);
    const { uid, resourceVersion } = object.metadata;
    if (Number(resourceVersion) && Number(resourceVersion) !== Number(live.metadata.resourceVersion))
      throw modified(kind, name);
    if (uid && uid !== live.metadata.uid)
      throw invalid(kind, name, [invalidField('metadata.uid', uid, 'field is immutable')]);
    return object;
  };
  return modify(writing, request, target, change, trackedAlready);
}

async function createApplied(
  writing: Writing,
  request: Request,
  target: Target,
  patch: ApplyPatch,
  body: JsonObject,
): Promise<Entry> {
  const { kind, namespace, name } = target;
  const bytes = patch.bytes ?? 0;
  const merging = mergedObject(writing, request, target, patch, body, undefined, undefined, bytes);
  const object = await givenInPasses(merging, bytes);
  const meta = object.metadata;
  if (meta.uid)
    throw conflict(
      kind,
      name,
      `uid mismatch: the provided object specified uid ${meta.uid}, and no existing object was found`,
    );
  settleNamespace(kind, object, namespace);
  checkName(object, name);
  if (meta.resourceVersion && !/^\d+$/.test(meta.resourceVersion))
    throw plain(`strconv.ParseUint: parsing ${JSON.stringify(meta.resourceVersion)}: invalid syntax`);
  delete meta.resourceVersion;
  return create(writing, request, collectionOf(kind, namespace), object, trackedAlready, bytes);
}

/** The object that an apply results in, with its managed fields. */
function* mergedObject(
  writing: Writing,
  request: Request,
  target: Target,
  patch: ApplyPatch,
  body: JsonObject,
  live: ApiObject | undefined,
  managed: ManagedText | undefined,
  bytes: number,
): Generator<void, ApiObject> {
  const { kind, part } = target;
  const who = managerOf(request, target, 'Apply');
  const isLongObject = isLong(bytes);
  let entries = (isLongObject && managed ? yield* managed.reading() : managed?.entries) ?? [];
  if (live && entries.length === 0 && writing.managedFields !== 'off') {
    const owned = ownedByCreator(kind, live, part);
    const first = { ...who, manager: 'before-first-apply', operation: 'Update' } as const;
    if (!isEmptySet(owned)) entries = [entryOf(first, owned, writing.registry.now())];
  }
  const application: Application = {
    live: live ? (live as unknown as JsonObject) : { ...zeroObject(kind) },
    body,
    entries,
    who,
    now: writing.registry.now(),
    force: patch.force,
    version: memoized((apiVersion) => {
      const version = versionOf(writing.registry, kind, apiVersion);
      return (
        version && {
          type: structOf(ownershipModel(version.model)),
          to: (object) => inVersion(request, kind, version, object, live),
          from: (object) => inVersion(request, version, kind, object, live),
        }
      );
    }),
    keep: (set) => kind.changes[part]!.resets.keep(set),
    isLong: isLongObject,
  };
  yield;
  const result = live
    ? yield* unlessApplied(application, kind, live, ({ conflicts }) => conflictStatus(conflicts))
    : yield* applying(application);
  yield;
  const object = decoded(kind, result.merged, body);
  reportDuplicates(patch, request);
  kind.pruneApplied?.(object);
  kind.defaults?.(object);
  if (result.entries.length > application.entries.length)
    checkCount(kind, object.metadata.name ?? '', result.entries.length);
  if (isLongObject) {
    yield;
    yield* writingSets(result.entries);
  }
  setEntries(object.metadata, result.entries, managed);
  keepLastApplied(who.manager, object, body);
  return object;
}

/** Applies; a conflict becomes a Status. */
function resolved(application: Application): ReturnType<typeof applied> {
  try {
    return applied(application);
  } catch (error) {
    throw error instanceof ApplyConflict ? conflictStatus(error.conflicts) : error;
  }
}

function inVersion(
  request: Request,
  from: Kind,
  to: Kind,
  object: JsonObject,
  live: ApiObject | undefined,
): JsonObject {
  if (from === to) return object;
  const inFrom = decoded(from, object, object);
  const inTo = converted(request, from, to, inFrom, live);
  return normalized(to.model, {
    ...(inTo as unknown as JsonObject),
    kind: to.kind,
    apiVersion: to.apiVersion,
  });
}

function decoded(expected: Expected, merged: JsonObject, body: JsonObject): ApiObject {
  try {
    const object = decodedOrWrapped(expected.model, merged) as unknown as ApiObject;
    object.kind = expected.kind;
    object.apiVersion = expected.apiVersion;
    return object;
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw plain(
      `failed to convert new object (${nameText(body)}) to proper version: unable to convert unstructured object to ${kindText(expected.apiVersion, expected.kind)}: ${conversionProblem(expected.model, merged) ?? error.message}`,
    );
  }
}

function decodedOrWrapped(model: Model, merged: JsonObject): JsonObject {
  try {
    return decodeObject(model, merged);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return decodeObject(model, withWrappedIntegers(model, merged));
  }
}

/** Reports duplicate keys, after the merge: a conflict is more important. */
function reportDuplicates({ duplicates }: ApplyPatch, { fieldValidation, warnings }: Request): void {
  if (!duplicates.length || fieldValidation === 'Ignore') return;
  if (fieldValidation === 'Strict')
    throw badRequest(
      `error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n${duplicates.map((text) => `  ${text}`).join('\n')}`,
    );
  // The change may be computed several times; add each warning once.
  for (const text of duplicates) if (!warnings.includes(text)) warnings.push(text);
}

/** The owner of a field, for conflict messages: `"alice"`, `"kubectl" with subresource "scale" using apps/v1`. */
const ownerText = ({ manager, operation, apiVersion, subresource }: Managed): string =>
  goQuoted(manager) +
  (subresource ? ` with subresource ${goQuoted(subresource)}` : '') +
  (operation === 'Update' ? ` using ${apiVersion}` : '');

function conflictStatus(conflicts: readonly Conflict[]): StatusError {
  const owners = conflicts
    .map(({ entry, fields }) => ({
      key: identity(entry),
      owner: ownerText(entry),
      paths: fieldPaths(fields),
    }))
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  const count = owners.reduce((sum, { paths }) => sum + paths.length, 0);
  const list =
    count === 1
      ? `conflict with ${owners[0]!.owner}: ${owners[0]!.paths[0]}`
      : owners
          .flatMap(({ owner, paths }) => [`conflicts with ${owner}:`, ...paths.map((path) => `- ${path}`)])
          .join('\n');
  return new StatusError(
    409,
    'Conflict',
    `Apply failed with ${count} conflict${count === 1 ? '' : 's'}: ${list}`,
    {
      causes: owners.flatMap(({ owner, paths }) =>
        paths.map((field) => ({
          reason: 'FieldManagerConflict',
          message: `conflict with ${owner}`,
          field,
        })),
      ),
    },
  );
}

/** Applies to the scale of an object. */
export async function applyScale(
  writing: Writing,
  request: Request,
  target: Target,
  form: ScaleForm,
  patch: ApplyPatch,
): Promise<Scale> {
  writing.registry.find(target);
  const body = readApply(form, patch);
  const who = { ...managerOf(request, target, 'Apply'), apiVersion: form.apiVersion };
  let owned: readonly Managed[] = [];
  const read = (scale: Scale, current: Entry): ApiObject => {
    const stored = current.managed?.entries ?? [];
    const { merged, entries } = resolved({
      live: normalized(form.model, scale as unknown as JsonObject),
      body,
      entries: scaleEntries(writing.registry, target.kind, stored, form.apiVersion),
      who,
      now: writing.registry.now(),
      force: patch.force,
      version: (apiVersion) =>
        apiVersion === form.apiVersion
          ? { type: structOf(form.model), to: (object) => object, from: (object) => object }
          : undefined,
      keep: (set) => set,
    });
    owned = entriesFromScale(writing.registry, target.kind, stored, entries);
    const object = decoded(form, merged, body);
    reportDuplicates(patch, request);
    return object;
  };
  return rescale(
    writing,
    request,
    target,
    form,
    read,
    (_registry, _request, _target, object, _old, current) => {
      setEntries(object.metadata, owned, current.managed);
    },
  );
}
