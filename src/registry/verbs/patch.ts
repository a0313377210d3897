/** Patch: applies a JSON, merge or strategic merge patch to the current state of an object. */
import { badRequest, invalid, invalidPatch, modified, StatusError } from '../../api/errors/errors.ts';
import { invalid as invalidField } from '../../api/errors/field-error.ts';
import { PatchError } from '../../api/errors/patch-error.ts';
import { cannotUnmarshal, goFormat } from '../../api/model/go-format.ts';
import type { Model } from '../../api/model/model.ts';
import { applyJsonPatch, extraKeys, type JsonPatch, parseJsonPatch } from '../../api/patch/json-patch.ts';
import { applyMergePatch } from '../../api/patch/merge-patch.ts';
import { applyStrategicMerge } from '../../api/patch/strategic-merge.ts';
import type { Duplicate } from '../../api/text/json.ts';
import { jsonText } from '../../api/text/json-text.ts';
import { type ApiObject, isJsonObject, withSortedKeys } from '../../api/text/object.ts';
import { nextPass } from '../../time-slices.ts';
import { type Expected, type ReadOptions, readPatched } from '../input.ts';
import type { Request } from '../request.ts';
import type { Target } from '../target.ts';
import type { Entry } from '../view/entry.ts';
import type { Writing } from '../writing.ts';
import { settleNamespace } from './create.ts';
import { modify } from './modify.ts';
import { trackMetadata, trackUpdate } from './ownership.ts';
import { checkName } from './update.ts';

export type PatchType = 'json' | 'merge' | 'strategic';

/** A parsed patch, which can be applied several times. */
export interface Patch {
  readonly type: PatchType;
  readonly body: unknown;
  /** Paths of duplicate keys in the patch. */
  readonly duplicates: readonly Duplicate[];
  readonly operations: JsonPatch | undefined;
}

export function readPatch(type: PatchType, body: unknown, duplicates: readonly Duplicate[]): Patch {
  const operations = type === 'json' ? asStatus(() => parseJsonPatch(body)) : undefined;
  if (type === 'json' || isJsonObject(body)) return { type, body, duplicates, operations };
  // To a strategic merge patch, null is an empty map.
  if (body === null && type === 'strategic') return { type, body: {}, duplicates, operations };
  const problem = cannotUnmarshal(body, 'value of type map[string]interface {}');
  if (type === 'strategic') throw badRequest(problem);
  throw badRequest(body === null ? 'Invalid JSON Patch' : `error decoding patch: ${problem}`);
}

/** The document that results from a patch. */
function applyPatch(patch: Patch, model: Model, document: unknown): unknown {
  return asStatus(() => {
    if (patch.type === 'json') return applyJsonPatch(document, patch.operations!);
    if (patch.type === 'merge') return applyMergePatch(document, patch.body);
    return applyStrategicMerge(
      model,
      document as Record<string, unknown>,
      patch.body as Record<string, unknown>,
    );
  });
}

/** Applies a patch and reads the result as an object of the kind. */
export function patched(
  patch: Patch,
  expected: Expected,
  document: unknown,
  options: ReadOptions,
): ApiObject {
  const value = applyPatch(patch, expected.model, document);
  return readResult(patch, expected, document, value, options, () => document);
}

/** Reads what a patch resulted in as an object of the kind. */
function readResult(
  patch: Patch,
  expected: Expected,
  document: unknown,
  value: unknown,
  options: ReadOptions,
  /** The document once more, for errors that quote it; decoding changes custom objects. */
  original: () => unknown,
): ApiObject {
  const warnings: string[] = [];
  const { fieldValidation } = options;
  const extra = patch.operations && fieldValidation !== 'Ignore' ? extraKeys(patch.operations) : [];
  const quoted = (): string => {
    if (patch.type === 'strategic') return goFormat(patch.body);
    return jsonText(
      expected.custom ? withSortedKeys(applyPatch(patch, expected.model, original())) : (value as object),
    );
  };
  const problem = typeProblem(patch, expected, document, value);
  if (problem) throw invalidPatch(quoted(), problem);
  const object = readPatched(
    expected,
    {
      value,
      duplicates: patch.duplicates,
      findings: extra.map((path) => `json patch unknown field "${path}"`),
      isConverted: patch.type === 'strategic',
      quoted,
    },
    { fieldValidation, warnings },
  );
  // The patch may be applied several times; add each warning once.
  for (const text of warnings) if (!options.warnings.includes(text)) options.warnings.push(text);
  return object;
}

/** Other than a strategic merge patch, whose fields alone count, a patch may not make an object one of another type. */
function typeProblem(
  { type }: Patch,
  { kind, apiVersion, custom }: Expected,
  before: unknown,
  after: unknown,
): string | undefined {
  if (type === 'strategic' || custom || !isJsonObject(before) || !isJsonObject(after)) return undefined;
  const changes = (name: 'kind' | 'apiVersion', right: string): boolean =>
    typeof after[name] === 'string' && after[name] !== before[name] && after[name] !== right;
  if (!changes('kind', kind) && !changes('apiVersion', apiVersion)) return undefined;
  return `no kind "${after['kind'] || kind}" is registered for version "${after['apiVersion'] || apiVersion}" in scheme "wherry"`;
}

export function patch(writing: Writing, request: Request, target: Target, change: Patch): Promise<Entry> {
  const { kind, namespace, name } = target;
  const touchesManaged = mayTouchManaged(change);
  const ofMetadata = isOfMetadata(change);
  const edit = (current: Entry): ApiObject | Promise<ApiObject> => {
    // No deep copy is needed: patches copy what they change, and decoding copies the rest, except of custom objects.
    const isShared = !touchesManaged && kind === current.kind && !kind.custom;
    const document = isShared ? current.peek() : touchesManaged ? current.shown(kind) : current.object(kind);
    const { uid, resourceVersion } = document.metadata;
    const { length } = current;
    const apply = () => {
      const value = applyPatch(change, kind.model, document);
      return nextPass(length, () => read(value));
    };
    const read = (value: unknown) => {
      const object = readResult(change, kind, document, value, request, () => current.shown(kind));
      return nextPass(length, () => settle(object));
    };
    const settle = (object: ApiObject): ApiObject => {
      kind.defaults?.(object);
      checkName(object, name);
      settleNamespace(kind, object, namespace);
      if (object.metadata.resourceVersion && object.metadata.resourceVersion !== resourceVersion)
        throw modified(kind, name);
      if (object.metadata.uid && object.metadata.uid !== uid) {
        const error = invalidField('metadata.uid', object.metadata.uid, 'field is immutable');
        // Kubernetes reports the error twice for custom objects.
        throw invalid(kind, name, kind.custom ? [error, error] : [error]);
      }
      return object;
    };
    return nextPass(length, apply);
  };
  return modify(writing, request, target, edit, ofMetadata ? trackMetadata : trackUpdate);
}

/** Whether a patch changes only metadata, on which the defaults of other fields do not depend. */
function isOfMetadata(patch: Patch): boolean {
  if (patch.operations) return pathsOf(patch).every((path) => path.startsWith('/metadata/'));
  return Object.keys(patch.body as object).every((name) => name === 'metadata');
}

/** Whether a patch can see or change `metadata.managedFields`. Most cannot, and then it need not be read. */
function mayTouchManaged(patch: Patch): boolean {
  if (patch.operations)
    return pathsOf(patch).some(
      (path) => path === '' || path === '/metadata' || path.startsWith('/metadata/managedFields'),
    );
  const metadata = isJsonObject(patch.body) ? patch.body['metadata'] : undefined;
  return isJsonObject(metadata) && Object.hasOwn(metadata, 'managedFields');
}

/** The places that the operations of a JSON patch name. */
const pathsOf = ({ body }: Patch): string[] =>
  (Array.isArray(body) ? body : []).flatMap((operation: unknown) =>
    isJsonObject(operation)
      ? [operation['path'], operation['from']].filter((place) => typeof place === 'string')
      : [],
  );

const reasons = { 400: 'BadRequest', 413: 'RequestEntityTooLarge', 422: 'Invalid', 500: undefined } as const;

/** Turns the errors of the patch functions into Statuses. */
function asStatus<T>(apply: () => T): T {
  try {
    return apply();
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    const details =
      error.kind === 'operation'
        ? {}
        : error.causes.length
          ? {
              causes: error.causes.map((cause) => ({
                reason: cause.reason,
                message: cause.message,
                field: cause.field,
              })),
            }
          : undefined;
    throw new StatusError(error.code, reasons[error.code], error.message, details);
  }
}
