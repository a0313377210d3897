/**
 * Field sets: which fields of an object a manager owns. A set is the JSON value of `fieldsV1` itself, a tree of path
 * elements, so reading and writing one takes no conversion:
 *
 *   {"f:spec":{"f:ports":{".":{},"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}}}}
 *
 * A node without children is a member of the set, and so is one with the child `.`; other nodes only lead to members.
 * Sets are never changed: operations return a new set, or the same object when nothing changes. So a set that is the
 * same object as before has not changed, and keeps its text.
 */
import { jsonText } from '../text/json-text.ts';
import { isJsonObject, isSorted, type JsonObject } from '../text/object.ts';
import { htmlSafe, stringText } from '../text/string-text.ts';

export interface FieldSet {
  [element: string]: FieldSet;
}

/** The texts of sets that were read from text, or written. */
const texts = new WeakMap<FieldSet, string>();

export const noFields: FieldSet = Object.freeze({});
const leaf: FieldSet = noFields;

export const isEmptySet = (set: FieldSet): boolean => isLeaf(set);

function isLeaf(node: FieldSet): boolean {
  if (node === leaf) return true;
  for (const _ in node) return false;
  return true;
}

/** Whether a node below the root is a member itself. */
export const isMember = (node: FieldSet): boolean => node['.'] !== undefined || isLeaf(node);

/** A node that is a member and has these children. */
const memberWith = (children: FieldSet): FieldSet =>
  children['.'] !== undefined || isLeaf(children) ? children : madeMember(copyOf(children));

/** The same for a node that nobody else has yet: it is changed. */
export function madeMember(node: FieldSet): FieldSet {
  if (node['.'] === undefined && !isLeaf(node)) node['.'] = leaf;
  return node;
}

/** Nodes with more children are copied, counted and compared in other ways than short ones. */
const shortMax = 100;

/** A copy of a node. A spread is faster for few children, and takes twice as long for very many. */
function copyOf(node: FieldSet): FieldSet {
  const elements = Object.keys(node);
  if (elements.length <= shortMax) return { ...node };
  const copy: FieldSet = {};
  for (const element of elements) copy[element] = node[element]!;
  return copy;
}

/** Nodes that `addPath` has given children: to look for one, V8 lists all of them, and there may be 100,000. */
const parents = new WeakSet<FieldSet>();

/** Adds a path to a set that is being built. */
export function addPath(set: FieldSet, path: readonly string[]): void {
  let node = set;
  for (let depth = 0; depth < path.length; depth++) {
    const element = path[depth]!;
    let next = node[element];
    if (next === undefined) {
      // A member without children becomes one with children.
      if (depth > 0 && !parents.has(node)) {
        if (isLeaf(node)) node['.'] = leaf;
        parents.add(node);
      }
      // The chain of new nodes down to the member.
      for (; depth < path.length - 1; depth++) node = node[path[depth]!] = {};
      node[path[depth]!] = leaf;
      return;
    }
    if (next === leaf && depth < path.length - 1) {
      next = { '.': leaf };
      node[element] = next;
    }
    node = next;
  }
  if (!isMember(node)) node['.'] = leaf;
}

export const union = (a: FieldSet, b: FieldSet): FieldSet => unionOf(a, b, false, false);

function unionOf(a: FieldSet, b: FieldSet, inA: boolean, inB: boolean): FieldSet {
  if (a === b) return a;
  let out = a;
  const copy = (): FieldSet => {
    if (out === a) out = copyOf(a);
    return out;
  };
  for (const element in b) {
    if (element === '.') continue;
    const mine = a[element];
    const theirs = b[element]!;
    const both = mine === undefined ? theirs : unionOf(mine, theirs, isMember(mine), isMember(theirs));
    if (both !== mine) copy()[element] = both;
  }
  if ((inA || inB) && !isMember(out)) copy()['.'] = leaf;
  return out;
}

/** The union of many sets in one pass over all of them: put together two at a time, the first would be copied each time. */
export function unionOfAll(sets: readonly FieldSet[]): FieldSet {
  return sets.length === 1 ? sets[0]! : joinedNodes(sets, false);
}

function joinedNodes(nodes: readonly FieldSet[], isBelowRoot: boolean): FieldSet {
  if (nodes.length === 1) return nodes[0]!;
  const below = new Map<string, FieldSet[]>();
  for (const node of nodes)
    for (const element in node) {
      if (element === '.') continue;
      const known = below.get(element);
      if (known) known.push(node[element]!);
      else below.set(element, [node[element]!]);
    }
  const out: FieldSet = isBelowRoot && below.size > 0 && nodes.some(isMember) ? { '.': leaf } : {};
  for (const [element, same] of below) out[element] = joinedNodes(same, true);
  return out;
}

/** Members of `a` that are not members of `b`. A member of `b` does not remove what lies below it. */
export const difference = (a: FieldSet, b: FieldSet): FieldSet =>
  differenceOf(a, b, false, false, false) ?? noFields;

/** The same, but a member of `b` removes everything below it, too. */
export const recursiveDifference = (a: FieldSet, b: FieldSet): FieldSet =>
  differenceOf(a, b, false, false, true) ?? noFields;

function differenceOf(
  a: FieldSet,
  b: FieldSet,
  inA: boolean,
  inB: boolean,
  recursive: boolean,
): FieldSet | undefined {
  if (inB && recursive) return undefined;
  let out = a;
  const copy = (): FieldSet => {
    if (out === a) out = copyOf(a);
    return out;
  };
  // To ask a node with very many children whether it has any takes as long as to list them.
  let hasChildren = false;
  for (const element in b) {
    if (element === '.') continue;
    const mine = a[element];
    if (mine === undefined) continue;
    const theirs = b[element]!;
    const kept = differenceOf(mine, theirs, isMember(mine), isMember(theirs), recursive);
    if (kept === undefined) delete copy()[element];
    else {
      hasChildren = true;
      if (kept !== mine) copy()[element] = kept;
    }
  }
  const stays = inA && !inB;
  if (inA && !stays && out['.'] !== undefined) delete copy()['.'];
  if (!hasChildren && isLeaf(out)) return stays ? leaf : undefined;
  if (!stays) return out;
  if (out['.'] === undefined) return memberWith(out);
  return !hasChildren && hasOneKey(out) ? leaf : out;
}

function hasOneKey(node: FieldSet): boolean {
  let count = 0;
  for (const _ in node) if (++count > 1) return false;
  return count === 1;
}

export const intersection = (a: FieldSet, b: FieldSet): FieldSet =>
  intersectionOf(a, b, false, false) ?? noFields;

function intersectionOf(a: FieldSet, b: FieldSet, inA: boolean, inB: boolean): FieldSet | undefined {
  const isIn = inA && inB;
  const out: FieldSet = isIn ? { '.': leaf } : {};
  let hasChildren = false;
  for (const element in b) {
    const mine = a[element];
    if (mine === undefined || element === '.') continue;
    const theirs = b[element]!;
    const both = intersectionOf(mine, theirs, isMember(mine), isMember(theirs));
    if (!both) continue;
    out[element] = both;
    hasChildren = true;
  }
  if (hasChildren) return out;
  return isIn ? leaf : undefined;
}

/**
 * The members that lie at or below the members of a pattern. In it, `*` stands for every element.
 */
export function within(set: FieldSet, pattern: FieldSet): FieldSet {
  const out: FieldSet = {};
  for (const element in set) {
    const below = pattern[element] ?? pattern['*'];
    if (element === '.' || below === undefined) continue;
    const kept = isLeaf(below) ? set[element]! : within(set[element]!, below);
    if (isLeaf(below) || !isLeaf(kept)) out[element] = kept;
  }
  return out;
}

export function sameSet(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true;
  const text = texts.get(a);
  // The text that a set was read from may have another order.
  return (text !== undefined && text === texts.get(b)) || sameNodes(a, b);
}

function sameNodes(a: FieldSet, b: FieldSet): boolean {
  if (a === b) return true;
  let left = 0;
  for (const _ in b) left++;
  if (left > shortMax && Object.keys(a).length !== left) return false;
  for (const element in a) {
    if (b[element] === undefined || !sameNodes(a[element]!, b[element]!)) return false;
    left--;
  }
  return left === 0;
}

/** The set in `fieldsV1`; undefined when it cannot be read. Elements of unknown types are dropped. */
export function readFieldSet(value: unknown): FieldSet | undefined {
  if (value === undefined || value === null) return noFields;
  if (!isJsonObject(value)) return undefined;
  const set = readNode(value);
  if (set?.['.'] === undefined) return set;
  const { '.': _, ...rest } = set;
  return rest;
}

function readNode(value: JsonObject): FieldSet | undefined {
  let out = value as FieldSet;
  const elements = Object.keys(value);
  const isFrozen = Object.isFrozen(value);
  for (const element of elements) {
    const inner = value[element];
    if (!isJsonObject(inner)) return undefined;
    if (element === '.') continue;
    if (element.length < 2 || element[1] !== ':') return undefined;
    const letter = element[0]!;
    if (!'fkvi'.includes(letter)) {
      if (out === value) out = copyOf(value as FieldSet);
      delete out[element];
      continue;
    }
    const isKey = letter === 'k' || letter === 'v';
    if (isKey && keyValue(element) === undefined) return undefined;
    // Values have one form, too; servers that do not escape markup have another.
    const written = isKey ? htmlSafe(element) : element;
    if (written === element && isLeaf(inner as FieldSet)) {
      // Most members are leaves: as one object, they are recognized at once.
      if (inner !== leaf && !isFrozen) value[element] = leaf;
      continue;
    }
    const node = readNode(inner);
    if (!node) return undefined;
    if (node === inner && written === element) continue;
    if (out === value) out = copyOf(value as FieldSet);
    if (written !== element) delete out[element];
    out[written] = node;
  }
  // A member without children has one form.
  const hasOne = out === value ? elements.length === 1 : hasOneKey(out);
  return hasOne && out['.'] !== undefined ? noFields : out;
}

/** The JSON value in a `k:` or `v:` element; undefined when it is no JSON. */
function keyValue(element: string): unknown {
  try {
    const value: unknown = JSON.parse(element.slice(2));
    return element[0] === 'k' && !isJsonObject(value) ? undefined : value;
  } catch {
    return undefined;
  }
}

/** Gives a set the text that it was read from. */
export function keepText(set: FieldSet, text: string): void {
  texts.set(set, text);
}

/** The JSON text of a set that was read from text, or written before; undefined for any other value. */
export const keptText = (value: object): string | undefined => texts.get(value as FieldSet);

/** The JSON text of a set, with its elements in order. */
export function fieldSetText(set: FieldSet): string {
  let text = texts.get(set);
  if (text === undefined) {
    text = nodeText(set);
    texts.set(set, text);
  }
  return text;
}

function nodeText(node: FieldSet): string {
  let text = node['.'] === undefined ? '' : '".":{}';
  for (const element of elementsOf(node))
    text += `${text === '' ? '' : ','}${stringText(element)}:${nodeText(node[element]!)}`;
  return `{${text}}`;
}

/** The elements below a node, in order. */
function elementsOf(node: FieldSet): string[] {
  const elements: string[] = [];
  for (const element in node) if (element !== '.') elements.push(element);
  return orderedElements(elements);
}

/** Elements in the order in which they are written. */
export function orderedElements(elements: string[]): string[] {
  if (elements.length < 2) return elements;
  if (elements.every((element) => element[0] === 'f')) return isSorted(elements) ? elements : elements.sort();
  // Elements of lists are read once each: reading them for each comparison took most of the time of a large list.
  const read = elements.map((element) => ({ element, parts: partsOf(element) }));
  const isInOrder = read.every(({ parts }, i) => i === 0 || compareParts(read[i - 1]!.parts, parts) <= 0);
  if (isInOrder) return elements;
  return read.sort((a, b) => compareParts(a.parts, b.parts)).map(({ element }) => element);
}

/** What elements are compared by, one after the other: their type, then names and values of keys. */
function partsOf(element: string): unknown[] {
  const rank = letters.indexOf(element[0]!);
  if (element[0] === 'f') return [rank, element];
  if (element[0] === 'i') return [rank, Number(element.slice(2))];
  // One text without escapes, as nearly all elements are, need not be parsed.
  const plain = plainElement.exec(element);
  if (plain) return plain[1] === undefined ? [rank, plain[2]] : [rank, plain[1], plain[2]];
  const value = keyValue(element);
  if (element[0] === 'v') return [rank, value];
  const keys = value as JsonObject;
  const parts: unknown[] = [rank];
  for (const name of Object.keys(keys).sort()) parts.push(name, keys[name]);
  return parts;
}

const letters = 'fkvi';
const plainElement = /^(?:k:\{"([^"\\]*)":|v:)"([^"\\]*)"\}?$/;

function compareParts(a: readonly unknown[], b: readonly unknown[]): number {
  for (let i = 0; i < a.length && i < b.length; i++) {
    const order = compareValues(a[i], b[i]);
    if (order) return order;
  }
  return a.length - b.length;
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const valueRank = (value: unknown): number => ['number', 'string', 'boolean'].indexOf(typeof value);

function compareValues(a: unknown, b: unknown): number {
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b);
  const rank = valueRank(a) - valueRank(b);
  if (rank) return rank;
  if (typeof a === 'number') return a - (b as number);
  return compareText(String(a), String(b));
}

/** All members as paths such as `.spec.ports[port=80,protocol="TCP"].name`: at each node its members, then those below. */
export function fieldPaths(set: FieldSet, prefix = ''): string[] {
  const paths: string[] = [];
  addPaths(set, prefix, paths);
  return paths;
}

function addPaths(set: FieldSet, prefix: string, paths: string[]): void {
  const elements = elementsOf(set);
  for (const element of elements) if (isMember(set[element]!)) paths.push(prefix + elementText(element));
  for (const element of elements)
    if (!isLeaf(set[element]!)) addPaths(set[element]!, prefix + elementText(element), paths);
}

/** A path element as messages show it. */
export function elementText(element: string): string {
  const name = element.slice(2);
  switch (element[0]) {
    case 'f':
      return `.${name}`;
    case 'k':
      return `[${Object.entries(keyValue(element) as JsonObject)
        .map(([key, value]) => `${key}=${jsonText(value)}`)
        .join(',')}]`;
    case 'v':
      return `[=${name}]`;
    default:
      return `[${name}]`;
  }
}
