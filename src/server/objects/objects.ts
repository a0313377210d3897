/** Objects: the verbs of stored kinds, from HTTP to the registry and back. */

import type { TokenVerdict } from '../../access/authentication/authentication.ts';
import type { Tokens } from '../../access/tokens/tokens.ts';
import {
  badRequest,
  invalidOptions,
  methodNotAllowed,
  success,
  unknownPatchFormat,
  unsupportedMediaType,
} from '../../api/errors/errors.ts';
import { type FieldError, notSupported, required } from '../../api/errors/field-error.ts';
import type { Kind, Verb } from '../../api/kind/kind.ts';
import { bodyModel } from '../../api/kinds/builtin-groups.ts';
import type { KindTable } from '../../api/kinds/kinds.ts';
import { type Model, modelOf } from '../../api/model/model.ts';
import { JsonError } from '../../api/text/json.ts';
import { cloneJson, isJsonObject } from '../../api/text/object.ts';
import { isPathSegment } from '../../api/values/names.ts';
import type { Compatibility } from '../../registry/compatibility.ts';
import type { DeleteOptions } from '../../registry/delete-options.ts';
import { type FieldValidation, type Input, readObject } from '../../registry/input.ts';
import { managerErrors } from '../../registry/manager-name.ts';
import type { Registry } from '../../registry/registry.ts';
import { Request, type RequestForm } from '../../registry/request.ts';
import { collectionOf, type Target } from '../../registry/target.ts';
import { apply } from '../../registry/verbs/apply.ts';
import { create } from '../../registry/verbs/create.ts';
import { remove, removeCollection } from '../../registry/verbs/delete.ts';
import { list, read } from '../../registry/verbs/list.ts';
import { checkSentCount } from '../../registry/verbs/ownership.ts';
import { type Patch, type PatchType, patch, readPatch } from '../../registry/verbs/patch.ts';
import { update } from '../../registry/verbs/update.ts';
import type { Entry } from '../../registry/view/entry.ts';
import { Page } from '../../registry/view/page.ts';
import { filterOf } from '../../registry/view/selection.ts';
import type { Writing } from '../../registry/writing.ts';
import { answerStatus } from '../http/answer.ts';
import { arrivedBody } from '../http/arrival.ts';
import { applyType, bodyFormat, mediaType, parseBody, readJsonInput } from '../http/body.ts';
import type { RequestContext } from '../http/context.ts';
import type { LimitKeeper } from '../http/limits.ts';
import { messagesOf } from '../http/negotiation.ts';
import type { Traffic } from '../http/traffic.ts';
import { applyBody, authorizeCreate } from './applying.ts';
import { answerEntry, answerList } from './presentation.ts';

export interface Serving {
  readonly registry: Registry;
  /** For verbs that write. */
  readonly writing: Writing;
  /** Tokens of service accounts. */
  readonly tokens: Tokens;
  readonly keeper: LimitKeeper;
  readonly traffic: Traffic;
  /** HTTP code of a create: 200 as in Kubernetes 1.0, or 201 as in current Kubernetes. */
  readonly createStatus: 200 | 201;
  /** The user of a token, if it is valid for one of these audiences. */
  readonly reviewToken: (token: string, audiences: readonly string[]) => Promise<TokenVerdict>;
  readonly compatibility: Compatibility;
}

/** Refuses names in a path with characters that no name may have; other unusual names are just not found. */
export function checkPathName(name: string): void {
  const problems = isPathSegment(name);
  if (problems.length)
    throw badRequest(`Name parameter invalid: ${JSON.stringify(name)}: ${problems.join(', ')}`);
}

// Options of writes

const verbs = { CreateOptions: 'create', UpdateOptions: 'update', PatchOptions: 'patch' } as const;

/** Deadline of a request, on the registry's clock; undefined: none. */
const deadlineOf = ({ registry }: Serving, { timeLimitMs }: RequestContext): number | undefined =>
  timeLimitMs > 0 ? registry.sources.nowMs() + timeLimitMs : undefined;

/** The registry request of a client request. An invalid option is refused. */
export function writeRequest(
  serving: Serving,
  context: RequestContext,
  kind: keyof typeof verbs,
  isApply = false,
): Request {
  const verb = verbs[kind];
  const deadlineMs = deadlineOf(serving, context);
  const { minor } = serving.registry.kinds;
  // Unknown fields were dropped without a word before 1.25, whatever the client asked for.
  const isSilent = minor !== undefined && !minor.isAtLeast(25);
  if (!context.info.queryText && !isApply)
    return requestOf(context, verb, deadlineMs, isSilent ? { fieldValidation: 'Ignore' } : {});
  const { query } = context;
  const fieldManager = query.get('fieldManager') ?? '';
  const errors: FieldError[] = managerErrors('fieldManager', fieldManager);
  if (isApply && !fieldManager) errors.push(required('fieldManager', 'is required for apply patch'));
  const dryRun = query.all('dryRun');
  if (dryRun.some((value) => value !== 'All')) errors.push(notSupported('dryRun', dryRun, ['All']));
  const asked = isSilent ? '' : (query.get('fieldValidation') ?? '');
  const validation = isSilent ? 'Ignore' : asked || 'Warn';
  if (!['Ignore', 'Strict', 'Warn'].includes(validation))
    errors.push(notSupported('fieldValidation', validation, ['', 'Ignore', 'Strict', 'Warn']));
  if (kind === 'PatchOptions' && !isApply && query.has('force'))
    errors.push({
      field: 'force',
      reason: 'FieldValueForbidden',
      message: 'Forbidden: may not be specified for non-apply patch',
    });
  if (errors.length) throw invalidOptions(kind, errors);
  return requestOf(context, verb, deadlineMs, {
    dryRun: dryRun.length > 0,
    isApply,
    fieldValidation: validation as FieldValidation,
    askedValidation: asked,
    fieldManager,
  });
}

const requestOf = (
  context: RequestContext,
  verb: Verb,
  deadlineMs: number | undefined,
  options: Pick<
    RequestForm,
    'dryRun' | 'isApply' | 'fieldValidation' | 'askedValidation' | 'fieldManager'
  > = {},
): Request =>
  new Request({
    user: context.user,
    verb,
    userAgent: context.request.headers['user-agent'] ?? '',
    fieldValidation: 'Warn',
    ...options,
    warnings: context.warnings,
    deadlineMs,
    annotated: context,
    connection: context.request.socket,
    trace: context.trace,
  });

// Bodies

const modelFor = (serving: Serving) => (apiVersion: string, kind: string) =>
  shownModel(serving.registry.kinds, apiVersion, kind) ??
  (kind === 'DeleteOptions' ? modelOf('DeleteOptions') : bodyModel(apiVersion, kind));

function shownModel(kinds: KindTable, apiVersion: string, kind: string): Model | undefined {
  const known = kinds.kind(apiVersion, kind);
  return known && kinds.shown(known).model;
}

/** Passes over shorter bodies take less than a slice of a turn of the event loop. */
const longBodyBytes = 64 * 1024;

export async function objectBody(serving: Serving, context: RequestContext, kind: string): Promise<Input> {
  const bytes = await arrivedBody(context, serving);
  const format = bodyFormat(context.request.headers['content-type']);
  const input = await parseBody(bytes, format, kind, modelFor(serving));
  context.audited?.takeValue(input.value);
  return bytes.length < longBodyBytes ? input : { ...input, bytes: bytes.length };
}

/** Refuses protobuf bodies for custom objects, which have no protobuf form. */
function refuseProtobuf({ request }: RequestContext, { custom }: Kind): void {
  if (custom && bodyFormat(request.headers['content-type']) === 'protobuf')
    throw unsupportedMediaType(['application/json', 'application/yaml']);
}

const patchTypes: Record<string, PatchType> = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic',
};

/** Patch formats that Kubernetes lists for custom kinds. */
const customPatchTypes = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/apply-patch+yaml',
];

/** The format of a patch. Checked first, because the 415 lists the supported ones. */
export function patchType(
  serving: Serving,
  context: RequestContext,
  { custom }: Pick<Kind, 'custom'>,
): PatchType | 'apply' {
  const sent = mediaType(context.request.headers['content-type']);
  if (sent === applyType) return 'apply';
  if (custom && (patchTypes[sent] ?? 'strategic') === 'strategic') throw unknownPatchFormat(customPatchTypes);
  if (!Object.hasOwn(patchTypes, sent))
    throw unsupportedMediaType(
      serving.compatibility === 'contract' ? [...Object.keys(patchTypes), applyType] : undefined,
    );
  return patchTypes[sent]!;
}

export async function patchBody(serving: Serving, context: RequestContext, type: PatchType): Promise<Patch> {
  const bytes = await arrivedBody(context, serving);
  try {
    const { value, duplicates } = await readJsonInput(bytes);
    context.audited?.takeValue(value);
    return readPatch(type, value, duplicates);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw badRequest(type === 'strategic' ? error.message : `error decoding patch: ${error.message}`);
  }
}

// Verbs: handlers of requests about a target. A collection has no name, and maybe no namespace.

/**
 * Answers with one object: the most frequent request, so it is answered in the same tick unless it has to wait for the
 * view.
 */
export function getObject(serving: Serving, context: RequestContext, target: Target): void | Promise<void> {
  checkPathName(target.name);
  const version = context.info.queryText ? context.query.get('resourceVersion') : undefined;
  const found = read(serving.registry, target, version, deadlineOf(serving, context));
  const answer = (entry: Entry) =>
    answerEntry(context, 200, target.kind, entry, serving.registry.sources.nowMs());
  return found instanceof Promise ? found.then(answer) : answer(found);
}

/** Lists objects; without a namespace in the path, those of all namespaces. */
export async function listObjects(
  serving: Serving,
  context: RequestContext,
  { kind, namespace }: Target,
): Promise<void> {
  const { query } = context;
  if (query.has('sendInitialEvents'))
    throw invalidOptions('ListOptions', [
      {
        field: 'sendInitialEvents',
        reason: 'FieldValueForbidden',
        message: 'Forbidden: sendInitialEvents is forbidden for list',
      },
    ]);
  const asked = {
    namespace: namespace || undefined,
    labelSelector: query.get('labelSelector'),
    fieldSelector: query.get('fieldSelector'),
    limit: query.integer('limit'),
    continue: query.get('continue'),
    resourceVersion: query.get('resourceVersion'),
    resourceVersionMatch: query.get('resourceVersionMatch'),
  };
  const result = await list(serving.registry, kind, asked, deadlineOf(serving, context));
  await answerList(context, kind, result, serving.registry);
}

/** A create without a namespace in the path uses that of the body, or `default`. */
export async function createObject(serving: Serving, context: RequestContext, target: Target): Promise<void> {
  const { registry, writing } = serving;
  const { kind } = target;
  // At the path of all namespaces, objects are created in the manner of Wherry alone.
  if (registry.kinds.minor && kind.namespaced && !target.namespace) throw methodNotAllowed();
  const request = writeRequest(serving, context, 'CreateOptions');
  context.negotiate(messagesOf(kind));
  refuseProtobuf(context, kind);
  const input = await objectBody(serving, context, kind.kind);
  checkSentCount(kind, input);
  const object = readObject(registry.kinds, kind, input, request);
  context.audited?.takeObject(kind, object);
  const namespace = kind.namespaced ? target.namespace || object.metadata.namespace || 'default' : '';
  const entry = await create(writing, request, collectionOf(kind, namespace), object, undefined, input.bytes);
  context.objectName = entry.name;
  await answerEntry(context, serving.createStatus, kind, entry, registry.sources.nowMs());
}

export async function replaceObject(
  serving: Serving,
  context: RequestContext,
  target: Target,
): Promise<void> {
  const { kind, name, part } = target;
  checkPathName(name);
  const { registry, writing } = serving;
  const request = writeRequest(serving, context, 'UpdateOptions');
  context.negotiate(messagesOf(kind));
  refuseProtobuf(context, kind);
  const input = await objectBody(serving, context, kind.kind);
  checkSentCount(kind, input);
  const added = part === 'ephemeralcontainers' ? oldEphemeralContainers(input) : undefined;
  if (added) {
    const entry = await patch(writing, request, target, added);
    return answerEntry(context, 200, kind, entry, registry.sources.nowMs());
  }
  const silent = { fieldValidation: request.fieldValidation, warnings: [] };
  let first = true;
  const read = () => {
    // Decoding does not copy custom objects, so copy them here.
    const body = kind.custom ? { ...input, value: cloneJson(input.value) } : input;
    const object = readObject(registry.kinds, kind, body, first ? request : silent);
    if (first) context.audited?.takeObject(kind, object);
    first = false;
    return object;
  };
  const { entry, created } = await update(writing, request, target, read, () =>
    authorizeCreate(serving, context),
  );
  await answerEntry(context, created ? serving.createStatus : 200, kind, entry, registry.sources.nowMs());
}

/**
 * kubectl before 1.22 sends ephemeral containers as an EphemeralContainers object. It contains only those to add,
 * because the existing ones are not in the list that such a kubectl reads.
 */
function oldEphemeralContainers({ value, duplicates }: Input): Patch | undefined {
  if (!isJsonObject(value) || value.kind !== 'EphemeralContainers' || value.apiVersion !== 'v1')
    return undefined;
  const { metadata = {}, ephemeralContainers = [] } = value;
  return readPatch('strategic', { metadata, spec: { ephemeralContainers } }, duplicates);
}

export async function patchObject(serving: Serving, context: RequestContext, target: Target): Promise<void> {
  const { kind, name } = target;
  checkPathName(name);
  const { registry, writing } = serving;
  const type = patchType(serving, context, kind);
  const request = writeRequest(serving, context, 'PatchOptions', type === 'apply');
  context.negotiate(messagesOf(kind));
  const nowMs = () => registry.sources.nowMs();
  if (type === 'apply') {
    const sent = await applyBody(serving, context);
    const { entry, created } = await apply(writing, request, target, sent, () =>
      authorizeCreate(serving, context),
    );
    return answerEntry(context, created ? serving.createStatus : 200, kind, entry, nowMs());
  }
  const change = await patchBody(serving, context, type);
  const entry = await patch(writing, request, target, change);
  await answerEntry(context, 200, kind, entry, nowMs());
}

// Deletes

async function deleteOptions(serving: Serving, context: RequestContext, kind: Kind): Promise<DeleteOptions> {
  const options = await sentDeleteOptions(serving, context);
  if (
    kind.deletion.warning &&
    options.propagationPolicy === undefined &&
    options.orphanDependents === undefined
  )
    context.warnings.push(kind.deletion.warning);
  return options;
}

/** Options come from the body or, without a body, from the query. */
async function sentDeleteOptions(serving: Serving, context: RequestContext): Promise<DeleteOptions> {
  const bytes = await arrivedBody(context, serving);
  if (bytes.length === 0) return queryDeleteOptions(context);
  const input = await parseDeleteBody(serving, context, bytes);
  context.audited?.takeValue(input.value);
  const value = input.value as { kind?: unknown; apiVersion?: unknown } | null;
  if (value !== null && typeof value === 'object' && value.kind && value.kind !== 'DeleteOptions')
    throw badRequest(
      `no kind ${JSON.stringify(value.kind)} is registered for version ${JSON.stringify(value.apiVersion ?? 'v1')} in scheme "wherry"`,
    );
  const expected = {
    kind: 'DeleteOptions',
    apiVersion: (value as { apiVersion?: string })?.apiVersion || 'v1',
    model: modelOf('DeleteOptions'),
  };
  const object = readObject(serving.registry.kinds, expected, input, {
    fieldValidation: 'Ignore',
    warnings: [],
  });
  return object as unknown as DeleteOptions;
}

async function parseDeleteBody(serving: Serving, context: RequestContext, bytes: Buffer): Promise<Input> {
  const format = bodyFormat(context.request.headers['content-type']);
  if (format !== 'json') return parseBody(bytes, format, 'DeleteOptions', modelFor(serving));
  try {
    return await readJsonInput(bytes);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw badRequest(`couldn't get version/kind; json parse error: ${error.message}`);
  }
}

function queryDeleteOptions(context: RequestContext): DeleteOptions {
  if (!context.info.queryText) return {};
  const { query } = context;
  const dryRun = query.all('dryRun');
  return {
    gracePeriodSeconds: query.integer('gracePeriodSeconds'),
    propagationPolicy: query.get('propagationPolicy'),
    orphanDependents: query.optionalFlag('orphanDependents'),
    ...(dryRun.length ? { dryRun } : {}),
  };
}

const isDryRun = ({ dryRun }: DeleteOptions): boolean => (dryRun?.length ?? 0) > 0;

export async function deleteObject(serving: Serving, context: RequestContext, target: Target): Promise<void> {
  const { kind, name } = target;
  checkPathName(name);
  const { registry, writing } = serving;
  const negotiated = context.negotiate(messagesOf(kind));
  const deadlineMs = deadlineOf(serving, context);
  const options = await deleteOptions(serving, context, kind);
  const request = requestOf(context, 'delete', deadlineMs, { dryRun: isDryRun(options) });
  const deletion = await remove(writing, request, target, options);
  if (!deletion.removed || kind.deletion.returnsObject)
    return answerEntry(context, 200, kind, deletion.entry, registry.sources.nowMs());
  const { code, ...rest } = success(200, {
    name,
    ...(kind.group ? { group: kind.group } : {}),
    kind: kind.resource,
    uid: deletion.uid,
  });
  // Current Kubernetes leaves out the code in the Status of a successful deletion, and only there.
  const status = serving.compatibility === 'contract' ? { ...rest, code } : rest;
  await answerStatus(context, code, status, negotiated);
}

export async function deleteCollection(
  serving: Serving,
  context: RequestContext,
  target: Target,
): Promise<void> {
  const { registry, writing } = serving;
  const { kind, namespace } = target;
  if (!kind.verbs.includes('deletecollection') || (kind.namespaced && !namespace)) throw methodNotAllowed();
  context.negotiate(messagesOf(kind));
  const { query } = context;
  const filter = filterOf(kind, {
    namespace: namespace || undefined,
    labelSelector: query.get('labelSelector'),
    fieldSelector: query.get('fieldSelector'),
  });
  const limit = query.integer('limit');
  const deadlineMs = deadlineOf(serving, context);
  const options = await deleteOptions(serving, context, kind);
  const { entries, revision } = await removeCollection(
    writing,
    requestOf(context, 'deletecollection', deadlineMs, { dryRun: isDryRun(options) }),
    target,
    filter,
    options,
    limit && limit > 0 ? limit : undefined,
  );
  await answerList(
    context,
    kind,
    { page: new Page(entries, undefined, undefined), revision, continue: undefined },
    registry,
  );
}
