/** Paths to fields of a schema, as rules (`fieldPath`) and selectable fields name them: `.spec.a`, `.labels['a.b']`. */
import { simpleEscapes } from '../cel/syntax/lexer.ts';
import type { Schema } from '../model/json-schema.ts';

/** A field by its name, or an entry of a map by its key. */
export type PathStep = string | { readonly key: string };

export interface FieldPath {
  readonly steps: readonly PathStep[];
  /** The schema at the end of the path; undefined where a map says nothing about its entries. */
  readonly schema: Schema | undefined;
}

const unknownField = 'does not refer to a valid field';
const endedEarly = 'unexpected end of JSON path';

/** The delimiters, strings in single quotes, and what is between them. */
const token = /[.[\]]|'(?:[^']|(?<=\\)')*(?<!\\)'|'[\s\S]*$|[^.[\]]+/g;

const escapes: Readonly<Record<string, string>> = { ...simpleEscapes, "'": "'", '\\': '\\' };

/** @returns the path, or what is wrong with it */
export function readFieldPath(path: string, root: Schema, brackets: boolean): FieldPath | string {
  const tokens = path.match(token) ?? [];
  const steps: PathStep[] = [];
  let schema: Schema | undefined = root;
  for (let i = 0; i < tokens.length; i += 1) {
    const start = tokens[i] as string;
    if (start !== '.' && start !== '[') return `expected [ or . but got: ${start}`;
    if (start === '[' && !brackets) return 'array notation is not allowed';
    i += 1;
    let name = tokens[i];
    if (name === undefined) return endedEarly;
    if (start === '[') {
      if (!/^'[\s\S]*'$/.test(name) || name.length < 2)
        return `expected single quoted string but got ${name}`;
      let wrong: string | undefined;
      name = name.slice(1, -1).replace(/\\(.)/gu, (found, char: string) => {
        if (!Object.hasOwn(escapes, char)) wrong = found;
        return escapes[char] ?? '';
      });
      if (wrong) return `invalid string literal: invalid escape char ${wrong}`;
    }
    const step = stepInto(schema, name);
    if (step === undefined) return unknownField;
    steps.push(step.step);
    schema = step.schema;
    if (start === '.') continue;
    i += 1;
    if (tokens[i] === undefined) return endedEarly;
    if (tokens[i] !== ']') return `expected ] but got ${tokens[i]}`;
  }
  return { steps, schema };
}

function stepInto(
  schema: Schema | undefined,
  name: string,
): { step: PathStep; schema: Schema | undefined } | undefined {
  const { properties = {}, additionalProperties } = schema ?? {};
  if (Object.keys(properties).length)
    return Object.hasOwn(properties, name) ? { step: name, schema: properties[name] } : undefined;
  if (additionalProperties === undefined) return undefined;
  const entries = typeof additionalProperties === 'object' ? additionalProperties : undefined;
  return { step: { key: name }, schema: entries };
}

/** The path from a place to a field, as errors show it. */
export function pathText(base: string, steps: readonly (PathStep | number)[]): string {
  let out = base;
  for (const step of steps) {
    if (typeof step === 'number') out += `[${step}]`;
    else if (typeof step === 'object') out += `[${step.key}]`;
    else out += out === '' ? step : `.${step}`;
  }
  return out;
}
