/**
 * JSON patch (RFC 6902) as Kubernetes applies it: `replace` adds a missing key, and `test` treats a missing key as
 * null. Everything else is the RFC. Operations work on a copy, so a patch that fails halfway has changed nothing and
 * can be applied again to a newer object; the result shares nothing with document and patch.
 */

import { cannotApply, PatchError, undecodable } from '../errors/patch-error.ts';
import { cannotUnmarshal } from '../model/go-format.ts';
import { depthMax } from '../text/json.ts';
import { cloneJson, isJsonObject, type JsonObject, sameJson, setKey } from '../text/object.ts';

/** Operations in one patch. */
export const operationsMax = 10_000;
/** Bytes of JSON that all `copy` operations of one patch may add; otherwise copies of copies double each time. */
export const copyBytesMax = 3 * 1024 * 1024;
/** Unknown members reported for one patch; Kubernetes stops at the same number. */
export const extraKeysMax = 100;
/**
 * Array elements that the inserts and removes of one patch may shift; otherwise a huge list would block the event
 * loop.
 */
const shiftsMax = 100_000_000;

/** One operation. Members that were absent or null are undefined; only `value` may be null. */
export interface JsonPatchOperation {
  readonly op: string | undefined;
  readonly path: string | undefined;
  readonly from: string | undefined;
  readonly value: unknown;
  /** Names of unknown members. */
  readonly extra: readonly string[];
}

export type JsonPatch = readonly JsonPatchOperation[];

/**
 * Parses a patch. Only its syntax is checked: whether an operation can be applied is found later, because Kubernetes
 * answers the two errors differently.
 */
export function parseJsonPatch(body: unknown): JsonPatch {
  if (body === null) return [];
  if (!Array.isArray(body)) throw badForm(body, 'value of type []handlers.jsonPatchOp');
  if (body.length > operationsMax)
    throw new PatchError(
      413,
      `Request entity too large: The allowed maximum operations in a JSON patch is ${operationsMax}, got ${body.length}`,
      'too-large',
    );
  return body.map(parseOperation);
}

function parseOperation(member: unknown): JsonPatchOperation {
  if (member !== null && !isJsonObject(member)) throw badForm(member, 'value of type handlers.jsonPatchOp');
  const source = member ?? {};
  return {
    op: textMember(source, 'op'),
    path: textMember(source, 'path'),
    from: textMember(source, 'from'),
    value: Object.hasOwn(source, 'value') ? source['value'] : undefined,
    extra: Object.keys(source).filter((name) => !MEMBERS.has(name)),
  };
}

const MEMBERS = new Set(['op', 'path', 'from', 'value']);

function textMember(source: JsonObject, name: string): string | undefined {
  const value = Object.hasOwn(source, name) ? source[name] : undefined;
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') throw badForm(value, `struct field jsonPatchOp.${name} of type string`);
  return value;
}

const badForm = (value: unknown, target: string): PatchError =>
  undecodable(`error decoding patch: ${cannotUnmarshal(value, target)}`);

/** Paths of unknown members, such as `[0].foo`, for field validation. */
export function extraKeys(patch: JsonPatch): string[] {
  const paths: string[] = [];
  for (const [position, operation] of patch.entries()) {
    for (const name of operation.extra) {
      if (paths.length >= extraKeysMax) return paths;
      paths.push(`[${position}].${name}`);
    }
  }
  return paths;
}

/** Applies all operations or throws. */
export function applyJsonPatch(document: unknown, patch: JsonPatch): unknown {
  const target = new PatchTarget(cloneJson(document));
  for (const operation of patch) target.apply(operation);
  if (patch.length > 0) checkDepth(target.root, 0);
  return target.root;
}

/** The first operation that cannot be applied, and the document it was to be applied to. */
export function failedOperation(
  document: unknown,
  patch: JsonPatch,
): { operation: JsonPatchOperation; document: unknown } | undefined {
  const target = new PatchTarget(cloneJson(document));
  for (const operation of patch)
    try {
      target.apply(operation);
    } catch (error) {
      if (!(error instanceof PatchError)) throw error;
      return { operation, document: target.root };
    }
  return undefined;
}

type Container = JsonObject | unknown[];

/** The document while it is patched, and the limits used so far. */
class PatchTarget {
  #copyBytes = 0;
  #shifts = 0;

  constructor(public root: unknown) {}

  apply({ op, path, from, value }: JsonPatchOperation): void {
    const to = parsePointer(path);
    switch (op) {
      case 'add':
        this.#add(to, cloneJson(required(value)));
        break;
      case 'replace':
        this.#replace(to, cloneJson(required(value)));
        break;
      case 'remove':
        this.#remove(to);
        break;
      case 'test':
        this.#test(to, required(value));
        break;
      case 'copy':
        this.#add(to, this.#copy(this.#get(parsePointer(from)), 0));
        break;
      case 'move':
        this.#move(parsePointer(from), to);
        break;
      default:
        throw cannotApply();
    }
  }

  #move(from: readonly string[], to: readonly string[]): void {
    const inside = from.every((key, position) => key === to[position]);
    // A value cannot be moved below itself; for the whole document every path is below.
    if (inside && from.length < to.length) throw cannotApply();
    if (inside) this.#get(from);
    else this.#add(to, this.#remove(from));
  }

  #add(pointer: readonly string[], value: unknown): void {
    if (pointer.length === 0) {
      this.root = value;
      return;
    }
    const { parent, key } = this.#locate(pointer);
    if (!Array.isArray(parent)) {
      setKey(parent, key, value);
      return;
    }
    const index = key === '-' ? parent.length : arrayIndex(key, parent.length);
    this.#countShifts(parent.length - index);
    parent.splice(index, 0, value);
  }

  #replace(pointer: readonly string[], value: unknown): void {
    if (pointer.length === 0) {
      this.root = value;
      return;
    }
    const { parent, key } = this.#locate(pointer);
    // A missing key is added, as Kubernetes does not check for it.
    if (Array.isArray(parent)) parent[arrayIndex(key, parent.length - 1)] = value;
    else setKey(parent, key, value);
  }

  #remove(pointer: readonly string[]): unknown {
    const { parent, key } = this.#locate(pointer);
    if (Array.isArray(parent)) {
      const index = arrayIndex(key, parent.length - 1);
      this.#countShifts(parent.length - index);
      return parent.splice(index, 1)[0];
    }
    if (!Object.hasOwn(parent, key)) throw cannotApply();
    const removed = parent[key];
    delete parent[key];
    return removed;
  }

  #test(pointer: readonly string[], wanted: unknown): void {
    if (wanted === null && pointer.length > 0) {
      const { parent, key } = this.#locate(pointer);
      // Kubernetes treats a missing key like null.
      if (!Array.isArray(parent) && !Object.hasOwn(parent, key)) return;
    }
    if (!sameJson(this.#get(pointer), wanted)) throw cannotApply();
  }

  #get(pointer: readonly string[]): unknown {
    let value = this.root;
    for (const key of pointer) {
      if (Array.isArray(value)) value = value[arrayIndex(key, value.length - 1)];
      else if (isJsonObject(value) && Object.hasOwn(value, key)) value = value[key];
      else throw cannotApply();
    }
    return value;
  }

  /** The location of a pointer: an existing list or map, and a key that need not exist in it. */
  #locate(pointer: readonly string[]): { parent: Container; key: string } {
    const key = pointer.at(-1);
    const parent = this.#get(pointer.slice(0, -1));
    // The document itself has no parent; it can be replaced but not removed.
    if (key === undefined || typeof parent !== 'object' || parent === null) throw cannotApply();
    return { parent: parent as Container, key };
  }

  /** Copies a value and counts the bytes of its JSON; stops at the limit, so the cost is bounded. */
  #copy(value: unknown, depth: number): unknown {
    if (depth > depthMax) throw cannotApply();
    if (Array.isArray(value)) {
      this.#countBytes(2 + value.length);
      return value.map((item) => this.#copy(item, depth + 1));
    }
    if (isJsonObject(value)) {
      this.#countBytes(2);
      const copy: JsonObject = {};
      for (const key of Object.keys(value)) {
        this.#countBytes(Buffer.byteLength(key) + 4);
        setKey(copy, key, this.#copy(value[key], depth + 1));
      }
      return copy;
    }
    this.#countBytes(typeof value === 'string' ? Buffer.byteLength(value) + 2 : String(value).length);
    return value;
  }

  #countBytes(bytes: number): void {
    this.#copyBytes += bytes;
    if (this.#copyBytes > copyBytesMax) throw cannotApply();
  }

  #countShifts(elements: number): void {
    this.#shifts += elements;
    if (this.#shifts > shiftsMax) throw cannotApply();
  }
}

/** Parses a pointer (RFC 6901). A missing one is refused like a malformed one. */
function parsePointer(pointer: string | undefined): string[] {
  if (pointer === '') return [];
  if (pointer === undefined || !pointer.startsWith('/') || /~(?![01])/.test(pointer)) throw cannotApply();
  const keys = pointer.slice(1).split('/');
  return pointer.includes('~') ? keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~')) : keys;
}

function arrayIndex(key: string, max: number): number {
  if (!/^(?:0|[1-9][0-9]*)$/.test(key)) throw cannotApply();
  const index = Number(key);
  if (index > max) throw cannotApply();
  return index;
}

function required(value: unknown): unknown {
  if (value === undefined) throw cannotApply();
  return value;
}

/**
 * Operations can nest values deeper than the JSON parser allows. All later code recurses without a check, so such a
 * document is refused here.
 */
function checkDepth(value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null) return;
  if (depth >= depthMax) throw cannotApply();
  if (Array.isArray(value)) for (const item of value) checkDepth(item, depth + 1);
  else for (const key of Object.keys(value)) checkDepth((value as JsonObject)[key], depth + 1);
}
