/**
 * Pruning: fields that the schema does not name are removed, and so are nulls of fields that may not be null and have
 * no default. Metadata of embedded resources is read as ObjectMeta; the rest of an embedded resource follows its schema.
 */

import { invalid } from '../errors/field-error.ts';
import { DecodeError, decodeObject } from '../model/decode.ts';
import type { ObjectOrigin } from '../model/json-schema.ts';
import { modelOf } from '../model/model.ts';
import { cloneJson, isJsonObject, type JsonObject } from '../text/object.ts';
import { isMetaField, type SchemaNode } from './schema-node.ts';
import { ValuePath } from './value-path.ts';

/** Unknown fields that are reported for one object, and characters of their paths; further ones go silently. */
const reportsMax = 100;
const reportCharsMax = 65_536;

/** @returns the paths of unknown fields, sorted */
export function pruneObject(object: JsonObject, root: SchemaNode, origin: ObjectOrigin): string[] {
  const walk = new PruneWalk(origin !== 'sent', origin === 'applied');
  walk.object(object, root, root.preserves, true);
  return walk.unknown.sort();
}

/** Prunes a value that is not a whole object. */
export function pruneValue(value: unknown, node: SchemaNode): void {
  new PruneWalk().value(value, node, node.preserves);
}

/** Whether pruning would leave the value as it is: what a default must fulfil. */
export function isPruned(value: unknown, node: SchemaNode): boolean {
  const walk = new PruneWalk();
  try {
    walk.value(cloneJson(value), node, node.preserves);
  } catch (error) {
    // Metadata of the wrong type, which is reported by itself.
    if (!(error instanceof DecodeError)) throw error;
  }
  return walk.unknown.length === 0;
}

class PruneWalk {
  readonly unknown: string[] = [];
  readonly #path = new ValuePath();
  #chars = 0;

  /**
   * @param drops drop fields of embedded resources that have the wrong type, instead of refusing them
   * @param nulls keep nulls, which are refused later
   */
  constructor(
    private readonly drops = false,
    private readonly nulls = false,
  ) {}

  /** @param node undefined where the schema says nothing: everything goes, unless `keep` */
  value(value: unknown, node: SchemaNode | undefined, keep: boolean): void {
    if (typeof value !== 'object' || value === null || node?.keepsAll) return;
    if (Array.isArray(value)) this.#list(value, node, keep);
    else this.object(value as JsonObject, node, keep);
  }

  object(object: JsonObject, node: SchemaNode | undefined, keep: boolean, root = false): void {
    for (const name of Object.keys(object)) {
      if (node?.embedded && isMetaField(name)) {
        if (!root) this.#metaField(object, name);
        continue;
      }
      const entry = node?.entry(name);
      this.#path.push(name);
      if (entry) {
        if (object[name] === null) {
          if (!entry.nullable && entry.default === undefined && !this.nulls) delete object[name];
        } else this.value(object[name], entry, entry.preserves);
      } else if (node?.hasAdditional) this.value(object[name], undefined, false);
      else if (!keep) {
        this.#report();
        delete object[name];
      }
      this.#path.pop();
    }
  }

  /** Items of a list that preserves unknown fields preserve theirs. */
  #list(list: readonly unknown[], node: SchemaNode | undefined, keep: boolean): void {
    if (keep && !node?.items) return;
    for (let i = 0; i < list.length; i++) {
      const item = list[i];
      if (typeof item !== 'object' || item === null) continue;
      this.#path.push(i);
      this.value(item, node?.items, keep || node?.items?.preserves === true);
      this.#path.pop();
    }
  }

  /** Prunes the metadata of an embedded resource. Throws a DecodeError in the words of a field error. */
  #metaField(object: JsonObject, name: string): void {
    const value = object[name];
    this.#path.push(name);
    if (name === 'metadata') object[name] = this.#metadata(value);
    else if (typeof value !== 'string') {
      if (!this.drops) throw this.#wrong(value, 'must be a string');
      delete object[name];
    }
    this.#path.pop();
  }

  #metadata(value: unknown): JsonObject {
    const unknown: string[] = [];
    try {
      const decoded = decodeObject(modelOf('ObjectMeta'), value, unknown);
      for (const name of unknown) this.#report(`.${name}`);
      return decoded;
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      if (this.drops) return isJsonObject(value) ? fittingMetadata(value) : {};
      throw this.#wrong(value, error.message);
    }
  }

  #wrong(value: unknown, detail: string): DecodeError {
    const { field, message } = invalid(this.#path.text(), value, detail);
    return new DecodeError(`${field}: ${message}`);
  }

  #report(rest = ''): void {
    if (this.unknown.length >= reportsMax || this.#chars >= reportCharsMax) return;
    const text = `${this.#path.text()}${rest}`;
    this.#chars += text.length;
    this.unknown.push(text);
  }
}

/** The fields of metadata that can be read. */
function fittingMetadata(value: JsonObject): JsonObject {
  const out: JsonObject = {};
  for (const name of Object.keys(value)) {
    try {
      Object.assign(out, decodeObject(modelOf('ObjectMeta'), { [name]: value[name] }));
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
    }
  }
  return out;
}
