/**
 * The text of what the creator of an object owns, written straight from the object. Every create needs it, and building a
 * field set first took three times as long. The result is what `compareWritten` finds in a new object, as text.
 *
 * Each struct has two writers: one for a struct that is there in an object with nothing set (`spec`, `metadata`), of which
 * only what is set is owned, and one for a struct that is wholly new, of which everything that is written is owned.
 */
import { optimized } from '../../switches.ts';
import { generatedFieldsMax, generatedLater } from '../model/generated-writer.ts';
import type { Model } from '../model/model.ts';
import { isJsonObject, type JsonObject } from '../text/object.ts';
import { stringText } from '../text/string-text.ts';
import { orderedElements } from '../values/field-set.ts';
import { deduced, type FieldType, type Member, structOf, typeFor } from './field-type.ts';
import { itemElement, metadataNeverOwned } from './field-walk.ts';

/** The members of a node as text without braces, or ''. */
type ContentWriter = (object: JsonObject) => string;
/** A node as text; '' when it is not owned. */
type NodeWriter = (value: unknown) => string;

const owned = '{}';
const node = (content: string): string => (content === '' ? owned : `{".":{},${content}}`);

/** The text of the set that a creator owns; '{}' when it is empty. `except` names fields of the root. */
export function createdText(model: Model, object: JsonObject, except: ReadonlySet<string>): string {
  return `{${rootWriter(model, except)(object)}}`;
}

const roots = new WeakMap<Model, Map<ReadonlySet<string>, ContentWriter>>();

function rootWriter(model: Model, except: ReadonlySet<string>): ContentWriter {
  let writers = roots.get(model);
  if (!writers) {
    writers = new Map();
    roots.set(model, writers);
  }
  let writer = writers.get(except);
  if (!writer) {
    const type = structOf(model);
    const members = sortedMembers(type).filter(
      ({ name }) => name !== 'kind' && name !== 'apiVersion' && !except.has(name),
    );
    const writerOf = (member: Member): NodeWriter =>
      member.name === 'metadata' ? metadataWriter(member) : present(member);
    writer = type.isOpen ? openContent(type, members, writerOf, except) : generated(members, writerOf);
    writers.set(except, writer);
  }
  return writer;
}

function metadataWriter({ type }: Member): NodeWriter {
  const write = generated(
    sortedMembers(type).filter(({ name }) => !metadataNeverOwned.has(name)),
    present,
  );
  return (value) => braced(write((value ?? {}) as JsonObject));
}

const braced = (content: string): string => (content === '' ? '' : `{${content}}`);

const sortedMembers = (type: FieldType): Member[] =>
  [...type.members.values()].filter(({ skipped }) => !skipped).sort((a, b) => (a.name < b.name ? -1 : 1));

/** A field of a struct that an object with nothing set has, too. */
function present(member: Member): NodeWriter {
  const { type, unset } = member;
  if (unset === undefined) return added(member);
  if (type.name === 'leaf' || type.name === 'deduced')
    return (value) => {
      const written = member.written(value);
      if (written === unset || (Array.isArray(written) && written.length === 0)) return '';
      return isJsonObject(unset) && type.encodesEqual(written, unset) ? '' : owned;
    };
  if (type.name === 'struct' && isJsonObject(unset)) {
    const write = lazily(() => generated(sortedMembers(type), present));
    return (value) => braced(write((value ?? {}) as JsonObject));
  }
  const write = contentWriter(type);
  return (value) => {
    const written = member.written(value);
    if (written === unset) return '';
    return braced(write(written)) || owned;
  };
}

/** A field of a struct that is wholly new, or one that an object with nothing set does not have. */
function added(member: Member): NodeWriter {
  const { type } = member;
  if (type.name === 'leaf') return (value) => (member.written(value) === undefined ? '' : owned);
  const write = contentWriter(type);
  return (value) => {
    const written = member.written(value);
    return written === undefined ? '' : node(write(written));
  };
}

const newStructs = new WeakMap<FieldType, ContentWriter>();

function newStruct(type: FieldType): ContentWriter {
  let writer = newStructs.get(type);
  if (!writer) {
    const members = sortedMembers(type);
    writer = type.isOpen ? openContent(type, members, added) : generated(members, added);
    newStructs.set(type, writer);
  }
  return writer;
}

/** Writes the content of a struct that may have fields beyond its known members. */
function openContent(
  type: FieldType,
  members: readonly Member[],
  writerOf: (member: Member) => NodeWriter,
  except?: ReadonlySet<string>,
): ContentWriter {
  const writers = new Map(members.map((member) => [member.name, writerOf(member)]));
  const other = contentWriter(deduced);
  const isOther = (name: string): boolean => !type.members.has(name) && !except?.has(name);
  return (object) => {
    let text = '';
    for (const name of [...new Set([...writers.keys(), ...Object.keys(object).filter(isOther)])].sort()) {
      const write = writers.get(name);
      const value = object[name];
      const written = write ? write(value) : value === undefined ? '' : node(other(value));
      if (written !== '') text += `${text === '' ? '' : ','}${stringText(`f:${name}`)}:${written}`;
    }
    return text;
  };
}

/** Makes a writer for the content of a value that is completely new. */
function contentWriter(type: FieldType): (value: unknown) => string {
  switch (type.name) {
    case 'leaf':
      return () => '';
    case 'struct': {
      const write = lazily(() => newStruct(type));
      return (value) => (isJsonObject(value) ? write(value) : '');
    }
    case 'map':
      return (value) => (isJsonObject(value) ? mapContent(type, value) : '');
    case 'deduced':
      return (value) => {
        const actual = typeFor(type, value, undefined);
        return actual.name === 'map' ? mapContent(actual, value as JsonObject) : '';
      };
    default: {
      const write = lazily(() => contentWriter(type.items));
      return (value) => (Array.isArray(value) ? listContent(type, value, write) : '');
    }
  }
}

function mapContent(type: FieldType, map: JsonObject): string {
  const { items } = type;
  const write = items.name === 'leaf' ? undefined : contentWriter(items);
  let text = '';
  for (const name of Object.keys(map).sort())
    text += `${text === '' ? '' : ','}${stringText(`f:${name}`)}:${write ? node(write(map[name])) : owned}`;
  return text;
}

function listContent(type: FieldType, list: readonly unknown[], write: (value: unknown) => string): string {
  if (list.length === 1) {
    const element = itemElement(type, list[0]);
    return element === undefined ? '' : `${JSON.stringify(element)}:${node(write(list[0]))}`;
  }
  const nodes = new Map<string, string>();
  for (const item of list) {
    const element = itemElement(type, item);
    if (element === undefined) continue;
    nodes.set(element, nodes.has(element) ? owned : node(write(item)));
  }
  let text = '';
  for (const element of orderedElements([...nodes.keys()]))
    text += `${text === '' ? '' : ','}${JSON.stringify(element)}:${nodes.get(element)}`;
  return text;
}

/**
 * One function for a struct, which accesses each field by name, as `generated-writer.ts` does it. Only names of fields are
 * in the source, each as a JSON string.
 */
function generated(members: readonly Member[], writerOf: (member: Member) => NodeWriter): ContentWriter {
  const writers = members.map(writerOf);
  const walking: ContentWriter = (object) => {
    let text = '';
    members.forEach(({ name, element, unset }, i) => {
      const value = object[name];
      const written = value === undefined && unset === undefined ? '' : writers[i]!(value);
      if (written !== '') text += `${text === '' ? '' : ','}${JSON.stringify(element)}:${written}`;
    });
    return text;
  };
  if (!optimized || members.length > generatedFieldsMax) return walking;
  return generatedLater(walking, () => generatedContent(members, writers));
}

function generatedContent(
  members: readonly Member[],
  writers: readonly NodeWriter[],
): ContentWriter | undefined {
  const steps = members.map(({ name, element, unset }, i) => {
    const [first, next] = ['', ','].map((comma) => JSON.stringify(`${comma}${JSON.stringify(element)}:`));
    const value = `object[${JSON.stringify(name)}]`;
    const isSet = unset === undefined ? `(value = ${value}) !== undefined && ` : '';
    return `if (${isSet}(value = write${i}(${unset === undefined ? 'value' : value})) !== '') text += (text === '' ? ${first} : ${next}) + value;`;
  });
  const source = `return (object) => { let text = '', value; ${steps.join('\n')} return text; };`;
  try {
    return new Function(...writers.map((_, i) => `write${i}`), source)(...writers) as ContentWriter;
  } catch (error) {
    if (error instanceof EvalError) return undefined;
    throw error;
  }
}

function lazily<A extends unknown[], R>(make: () => (...args: A) => R): (...args: A) => R {
  let made: ((...args: A) => R) | undefined;
  return (...args) => {
    made ??= make();
    return made(...args);
  };
}
