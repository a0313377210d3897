/**
 * Why a JSON patch cannot be applied, in the words of the library that Kubernetes uses. Clients who send a patch are not
 * told; the authors of webhooks and policies are.
 */
import { failedOperation, type JsonPatch, type JsonPatchOperation } from './jsonpatch.ts';
import { isJsonObject } from './object.ts';

const missing = 'missing value';

export function jsonPatchFailure(document: unknown, patch: JsonPatch): string {
  const failed = failedOperation(document, patch);
  return failed ? operationFailure(failed.operation, failed.document) : 'the result is nested too deeply';
}

function operationFailure(
  { op = '', path = '', from = '', value }: JsonPatchOperation,
  document: unknown,
): string {
  switch (op) {
    case 'add':
      return hasParent(document, path)
        ? `error in add for path: '${path}': ${indexProblem(document, path)}`
        : `add operation does not apply: doc is missing path: ${JSON.stringify(path)}: ${missing}`;
    case 'remove':
      return hasParent(document, path)
        ? `error in remove for path: '${path}': ${removalProblem(document, path)}`
        : `remove operation does not apply: doc is missing path: ${JSON.stringify(path)}: ${missing}`;
    case 'replace':
      return hasParent(document, path)
        ? `replace operation does not apply: doc is missing key: ${path}: ${missing}`
        : `replace operation does not apply: doc is missing path: ${path}: ${missing}`;
    case 'test':
      return value !== undefined && hasParent(document, path)
        ? `testing value ${path} failed: test failed`
        : `error in test for path: '${path}': ${missing}`;
    case 'move':
    case 'copy':
      return hasParent(document, from)
        ? `error in ${op} for path: '${path}': ${missing}`
        : `${op} operation does not apply: doc is missing from path: ${from}: ${missing}`;
    default:
      return `Unexpected kind: ${op}`;
  }
}

const keysOf = (path: string): string[] =>
  path
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));

/** The list or map that a path leads into. */
function parentOf(document: unknown, path: string): unknown {
  let value = document;
  for (const key of keysOf(path).slice(0, -1)) {
    if (Array.isArray(value)) value = value[Number(key)];
    else value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  }
  return value;
}

const hasParent = (document: unknown, path: string): boolean => {
  const parent = parentOf(document, path);
  return typeof parent === 'object' && parent !== null;
};

function indexProblem(document: unknown, path: string): string {
  const key = keysOf(path).at(-1) ?? '';
  if (!Array.isArray(parentOf(document, path))) return missing;
  return /^\d+$/.test(key)
    ? `Unable to access invalid index: ${key}: invalid index referenced`
    : `value was not a proper array index: '${key}': strconv.Atoi: parsing ${JSON.stringify(key)}: invalid syntax`;
}

function removalProblem(document: unknown, path: string): string {
  if (Array.isArray(parentOf(document, path))) return indexProblem(document, path);
  return `Unable to remove nonexistent key: ${keysOf(path).at(-1)}: ${missing}`;
}
