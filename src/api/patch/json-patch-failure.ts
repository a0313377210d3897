/**
 * Why a JSON patch cannot be applied, in the words of the library that Kubernetes uses. Clients who send a patch are not
 * told; the authors of webhooks and policies are.
 */

import { isJsonObject } from '../text/object.ts';
import { failedOperation, type JsonPatch, type JsonPatchOperation } from './json-patch.ts';

const missing = 'missing value';
const testFailed = ': test failed';

export interface JsonPatchFailure {
  readonly text: string;
  /** Whether a `test` found another value, so that the patch is not meant for this document. */
  readonly testFailed: boolean;
}

export function jsonPatchFailure(document: unknown, patch: JsonPatch): JsonPatchFailure {
  const failed = failedOperation(document, patch);
  const text = failed
    ? operationFailure(failed.operation, failed.document)
    : 'the result is nested too deeply';
  return { text, testFailed: text.endsWith(testFailed) };
}

function operationFailure({ op = '', path = '', from = '' }: JsonPatchOperation, document: unknown): string {
  switch (op) {
    case 'add':
      return hasParent(document, path)
        ? `error in add for path: '${path}': ${additionProblem(document, path)}`
        : `add operation does not apply: doc is missing path: ${JSON.stringify(path)}: ${missing}`;
    case 'remove':
      return hasParent(document, path)
        ? `error in remove for path: '${path}': ${removalProblem(document, path)}`
        : `remove operation does not apply: doc is missing path: ${JSON.stringify(path)}: ${missing}`;
    case 'replace':
      return hasParent(document, path)
        ? `replace operation does not apply: doc is missing key: ${path}: ${missing}`
        : `replace operation does not apply: doc is missing path: ${path}: ${missing}`;
    case 'test': {
      if (!hasParent(document, path))
        return `test operation does not apply: is missing path: ${path}: ${missing}`;
      const problem = indexProblem(document, path, 0);
      return problem
        ? `error in test for path: '${path}': ${problem}`
        : `testing value ${path} failed${testFailed}`;
    }
    case 'move':
    case 'copy':
      return transferFailure(op, path, from, document);
    default:
      return `Unexpected kind: ${op}`;
  }
}

function transferFailure(op: 'move' | 'copy', path: string, from: string, document: unknown): string {
  if (!hasParent(document, from))
    return `${op} operation does not apply: doc is missing from path: ${from}: ${missing}`;
  const problem = op === 'move' ? sourceProblem(document, from) : indexProblem(document, from, 0);
  if (problem)
    return op === 'move'
      ? `error in move for path: '${keysOf(from).at(-1)}': ${problem}`
      : `error in copy for from: '${from}': ${problem}`;
  if (!hasParent(document, path))
    return `${op} operation does not apply: doc is missing destination path: ${path}: ${missing}`;
  const added = additionProblem(document, path);
  return op === 'move'
    ? `error in move for path: '${path}': ${added}`
    : `error while adding value during copy: ${added}`;
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
  const parent = path.includes('/') ? parentOf(document, path) : undefined;
  return typeof parent === 'object' && parent !== null;
};

/** Why a key is no place in a list; '' when it is one, or when it is a key of a map. */
function indexProblem(document: unknown, path: string, placesBehind: number): string {
  const list = parentOf(document, path);
  const key = keysOf(path).at(-1) ?? '';
  if (!Array.isArray(list)) return '';
  if (!/^\d+$/.test(key)) return `strconv.Atoi: parsing ${JSON.stringify(key)}: invalid syntax`;
  return Number(key) >= list.length + placesBehind
    ? `Unable to access invalid index: ${key}: invalid index referenced`
    : '';
}

function additionProblem(document: unknown, path: string): string {
  const problem = indexProblem(document, path, 1) || missing;
  return problem.startsWith('strconv')
    ? `value was not a proper array index: '${keysOf(path).at(-1)}': ${problem}`
    : problem;
}

const sourceProblem = (document: unknown, path: string): string => {
  const key = keysOf(path).at(-1) ?? '';
  const parent = parentOf(document, path);
  if (Array.isArray(parent)) return indexProblem(document, path, 0);
  return isJsonObject(parent) && Object.hasOwn(parent, key)
    ? ''
    : `Unable to remove nonexistent key: ${key}: ${missing}`;
};

const removalProblem = (document: unknown, path: string): string => sourceProblem(document, path) || missing;
