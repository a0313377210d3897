/**
 * Objects of a live cluster as they are stored. It knows the kinds of that cluster: built-in ones, those of definitions, and
 * where a definition may not be read, one that is made from what discovery says.
 */
import type { CustomResourceDefinition } from '../../api/generated/types.ts';
import type { Kind } from '../../api/kind/kind.ts';
import { isJsonObject } from '../../api/text/object.ts';
import { storeKey } from '../../registry/view/key.ts';
import { VALUE_BYTES_MAX } from '../../store/engine.ts';
import { CopiedKinds, definitionProblem, isEstablished, knownInOtherVersion } from '../dump/copied-kinds.ts';
import { asStorage, type NamedObject, objectProblem, storedForm, typeProblem } from '../dump/stored-form.ts';
import { madeDefinition } from './made-definition.ts';
import type { SourceKind } from './source-kinds.ts';

/** One object, as it is stored. */
export interface CopiedObject {
  readonly key: string;
  readonly value: Buffer;
}

export class SourceObjects {
  readonly #kinds = new CopiedKinds();

  /** The object with its kind; undefined after `problem` was called. */
  named(source: SourceKind, item: unknown, problem: (why: string) => void): NamedObject | undefined {
    if (!isJsonObject(item)) return undefined;
    const object = { ...item, kind: source.kind, apiVersion: source.apiVersion };
    const why = objectProblem(object);
    if (!why) return object as unknown as NamedObject;
    problem(why);
    return undefined;
  }

  /** An object as it is stored, behind the definition that had to be made for its kind, if one had. */
  stored(source: SourceKind, object: NamedObject, problem: (why: string) => void): CopiedObject[] {
    this.note(object);
    const { kind, made } = this.#kindOf(source);
    if (!kind) {
      problem('its kind cannot be served');
      return [];
    }
    const wrong = kind.custom ? undefined : (typeProblem(kind, object) ?? nameProblem(kind, object));
    const stored = wrong ? undefined : storedObject(kind, object);
    if (!stored || stored.value.length > VALUE_BYTES_MAX) {
      problem(`${object.metadata.name}: ${wrong ?? 'it is larger than a store takes'}`);
      return [];
    }
    return [...made, stored];
  }

  /** The key of an object that is gone; undefined: its kind is not known. */
  keyOf(source: SourceKind, object: NamedObject): string | undefined {
    const { kind } = this.#kindOf(source);
    return kind && storeKey(kind.storage.id, namespaceOf(kind, object), object.metadata.name);
  }

  /** The resource under which objects are stored; undefined: their kind is not known. */
  idOf(source: SourceKind): string | undefined {
    return this.#kindOf(source).kind?.storage.id;
  }

  /** Takes a definition. */
  note(object: NamedObject): void {
    if (object.kind !== 'CustomResourceDefinition') return;
    const definition = object as unknown as CustomResourceDefinition;
    if (!definitionProblem(definition) && isEstablished(definition)) this.#kinds.define(definition);
  }

  #kindOf(source: SourceKind): { kind: Kind | undefined; made: CopiedObject[] } {
    const known =
      this.#kinds.find(source.apiVersion, source.kind) ?? knownInOtherVersion(source.apiVersion, source.kind);
    if (known || !source.group) return { kind: known, made: [] };
    const definition = madeDefinition(source);
    this.#kinds.define(definition as unknown as CustomResourceDefinition);
    const definitions = this.#kinds.find(definition.apiVersion, definition.kind)!;
    const kind = this.#kinds.find(source.apiVersion, source.kind);
    return { kind, made: kind ? [storedObject(definitions, definition)] : [] };
  }
}

/** What is wrong with the names of a definition; undefined: nothing, or it is another object. */
export const nameProblem = ({ resource }: Kind, object: NamedObject): string | undefined =>
  resource === 'customresourcedefinitions'
    ? definitionProblem(object as unknown as CustomResourceDefinition)
    : undefined;

const namespaceOf = (kind: Kind, { metadata }: NamedObject): string =>
  kind.namespaced ? String(metadata['namespace'] ?? 'default') : '';

/** @param kind of the object's version, or that as which Wherry stores it */
export function storedObject(kind: Kind, object: NamedObject): CopiedObject {
  const namespace = namespaceOf(kind, object);
  const shown = { ...object, kind: kind.kind, apiVersion: kind.apiVersion };
  const value = storedForm(kind.custom ? object : asStorage(kind, shown), namespace);
  return { key: storeKey(kind.storage.id, namespace, object.metadata.name), value };
}
