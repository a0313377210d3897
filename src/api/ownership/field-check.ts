/**
 * Checks the body of an apply against the types of a kind. It is checked before it is decoded, because decoding drops
 * unknown fields and fills in values, while ownership is about what the client wrote.
 */

import { goFormat, goType, goValue } from '../model/go-format.ts';
import type { Field, Model } from '../model/model.ts';
import { isJsonObject, type JsonObject } from '../text/object.ts';
import { elementText } from '../values/field-set.ts';
import { type FieldType, structOf, typeOf } from './field-type.ts';
import { itemElement } from './field-walk.ts';

/** Errors reported for one body. */
const errorsMax = 100;

/** What does not fit the types of a kind, in one text as Kubernetes gives it; undefined when everything fits. */
export function typedProblem(model: Model, body: JsonObject): string | undefined {
  const errors = schemaErrors(model, body);
  return errors.length > 1 ? ['errors:', ...errors.map((error) => `  ${error}`)].join('\n') : errors[0];
}

/** What does not fit, as `.spec.bogus: field not declared in schema`. */
function schemaErrors(model: Model, body: JsonObject): string[] {
  const errors: string[] = [];
  checkModel(model, body, '', errors);
  return errors;
}

function report(errors: string[], path: string, text: string): void {
  if (errors.length < errorsMax) errors.push(`${path}: ${text}`);
}

function checkModel(model: Model, value: unknown, path: string, errors: string[]): void {
  if (value === null) return;
  if (!isJsonObject(value)) return report(errors, path, `expected map, got &{${goFormat(value)}}`);
  const { members } = structOf(model);
  for (const name of Object.keys(value)) {
    const member = members.get(name);
    const inner = `${path}.${name}`;
    if (!member && model.definition.open) continue;
    if (!member) return report(errors, inner, 'field not declared in schema');
    checkField(member.field, member.type, value[name], inner, errors);
  }
}

function checkField(field: Field, type: FieldType, value: unknown, path: string, errors: string[]): void {
  if (value === null || errors.length >= errorsMax) return;
  switch (field.type) {
    case 'model':
      return checkModel(field.model, value, path, errors);
    case 'map':
      if (!isJsonObject(value)) return report(errors, path, `expected map, got &{${goFormat(value)}}`);
      for (const name of Object.keys(value))
        checkField(field.values!, typeOf(field.values!), value[name], `${path}.${name}`, errors);
      return;
    case 'array':
      if (!Array.isArray(value)) return report(errors, path, `expected list, got &{${goFormat(value)}}`);
      return checkItems(field.items!, type, value, path, errors);
    // Schemas of definitions among them: what a value is decides its type, so everything fits.
    case 'raw':
    case 'union':
      return;
    case 'integer':
    case 'number':
      if (typeof value !== 'number' && typeof value !== 'bigint')
        report(errors, path, `expected numeric (int or float), got ${goType(value)}`);
      return;
    case 'boolean':
      if (typeof value !== 'boolean') report(errors, path, `expected boolean, got &{${goFormat(value)}}`);
      return;
    case 'quantity':
    case 'int-or-string':
    case 'time':
    case 'microtime':
      if (typeof value === 'object') report(errors, path, `expected any scalar, got &{${goFormat(value)}}`);
      return;
    default:
      // A text with a format may be any scalar for a merge; validation refuses what does not fit.
      if (field.type === 'bytes' || field.definition.format) {
        if (typeof value === 'object') report(errors, path, `expected any scalar, got &{${goFormat(value)}}`);
      } else if (typeof value !== 'string')
        report(errors, path, `expected string, got &value.valueUnstructured{Value:${goValue(value)}}`);
  }
}

function checkItems(items: Field, type: FieldType, list: unknown[], path: string, errors: string[]): void {
  const seen = new Set<string>();
  const itemType = typeOf(items);
  for (const [i, item] of list.entries()) {
    if (type.name !== 'keyed' && type.name !== 'set') {
      checkField(items, itemType, item, `${path}[${i}]`, errors);
      continue;
    }
    const problem = type.name === 'keyed' ? keyedProblem(type, item) : setProblem(item);
    if (problem) return report(errors, path, `element ${i}: ${problem}`);
    const element = itemElement(type, item)!;
    if (seen.has(element)) report(errors, path, `duplicate entries for key ${elementText(element)}`);
    seen.add(element);
    checkField(items, itemType, item, path + elementText(element), errors);
  }
}

function keyedProblem(type: FieldType, item: unknown): string | undefined {
  if (item === null) return 'associative list with keys may not have a null element';
  if (!isJsonObject(item)) return 'associative list with keys may not have non-map elements';
  if (itemElement(type, item) !== undefined) return undefined;
  const keys = type.keys.map(({ name }) => JSON.stringify(name)).join(' ');
  return `associative list with keys has an element that omits all key fields [${keys}] (and doesn't have default values for any key fields)`;
}

function setProblem(item: unknown): string | undefined {
  if (item === null) return "associative list without keys has an element that's an explicit null";
  if (Array.isArray(item)) return 'not supported: associative list with lists as elements';
  return isJsonObject(item) ? "associative list without keys has an element that's a map type" : undefined;
}
