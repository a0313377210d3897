/** Completion and documentation from the schema of the kind: the fields that may stand here, and what they mean. */
import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import { type EditorView, hoverTooltip, type Tooltip } from '@codemirror/view';
import { type KindSchema, type Path, type Schema, typeText, valuesOf } from '../../core/openapi.ts';
import { outlineOf } from './outline.ts';

/** The schema of the kind that the text is about, as far as it is known by now. */
export type SchemaSource = () => KindSchema | undefined;

export const schemaCompletion =
  (source: SchemaSource) =>
  (context: CompletionContext): CompletionResult | null => {
    const schemas = source();
    if (!schemas) return null;
    const { state, pos, explicit } = context;
    const line = state.doc.lineAt(pos);
    const before = line.text.slice(0, pos - line.from);
    const value = /^(\s*(?:- +)*[^\s#:][^#]*?:\s+)(\S*)$/.exec(before);
    if (value) return valueResult(schemas, textWith(state.doc.toString(), line.number, `${value[1]}x`), line.number, pos - value[2]!.length);
    const key = /^(\s*(?:- +)*)([\w$./-]*)$/.exec(before);
    if (!key || (!explicit && key[2] === '')) return null;
    const text = textWith(state.doc.toString(), line.number, `${key[1]}${key[2] || 'x'}:`);
    return keyResult(schemas, text, line.number, pos - key[2]!.length);
  };

/** The text with one line replaced: what is being typed need not be YAML yet. */
function textWith(text: string, number: number, line: string): string {
  const lines = text.split('\n');
  lines[number - 1] = line;
  return lines.join('\n');
}

function keyResult(schemas: KindSchema, text: string, line: number, from: number): CompletionResult | null {
  const entries = outlineOf(text);
  const path = entries.findLast((entry) => entry.line === line)?.path;
  if (!path || typeof path.at(-1) !== 'string') return null;
  const parent = path.slice(0, -1);
  const schema = schemas.at(parent);
  if (!schema?.properties) return null;
  const place = JSON.stringify(parent);
  const there = new Set(
    entries
      .filter((entry) => entry.line !== line && JSON.stringify(entry.path.slice(0, -1)) === place)
      .map((entry) => entry.path.at(-1)),
  );
  const options = Object.entries(schema.properties)
    .filter(([name]) => !there.has(name))
    .map(([name, field]) => fieldOption(schemas, name, field, schema.required?.includes(name) ?? false, parent));
  return { from, options, validFor: /^[\w$./-]*$/ };
}

function fieldOption(schemas: KindSchema, name: string, field: Schema, isRequired: boolean, parent: Path): Completion {
  const resolved = schemas.resolve(field);
  const isMap = resolved.properties !== undefined || resolved.additionalProperties !== undefined;
  const deeper = resolved.items || isMap;
  return {
    label: name,
    type: 'property',
    detail: typeText(schemas, field) + (isRequired ? ', required' : ''),
    boost: isRequired ? 2 : parent.length === 0 && name === 'status' ? -1 : 0,
    info: () => documentation(schemas, field),
    apply: `${name}:${deeper ? '' : ' '}`,
  };
}

function valueResult(schemas: KindSchema, text: string, line: number, from: number): CompletionResult | null {
  const path = outlineOf(text).findLast((entry) => entry.line === line)?.path;
  const schema = path && schemas.at(path);
  const values = schema ? valuesOf(schema) : [];
  if (!schema || values.length === 0) return null;
  return {
    from,
    options: values.map((label) => ({ label, type: 'enum', info: () => documentation(schemas, schema) })),
  };
}

/** Documentation of the field under the pointer. */
export const schemaHover = (source: SchemaSource) =>
  hoverTooltip((view: EditorView, pos: number): Tooltip | null => {
    const schemas = source();
    if (!schemas) return null;
    const line = view.state.doc.lineAt(pos);
    const entry = outlineOf(view.state.doc.toString()).findLast(
      (each) => each.line === line.number && each.column <= pos - line.from,
    );
    const schema = entry && schemas.at(entry.path);
    if (!schema || typeof entry.path.at(-1) !== 'string') return null;
    return {
      pos: line.from + entry.column,
      end: line.to,
      above: true,
      create: () => ({ dom: documentation(schemas, schema, String(entry.path.at(-1))) }),
    };
  });

function documentation(schemas: KindSchema, field: Schema, name?: string): HTMLElement {
  const box = document.createElement('div');
  box.className = 'fielddoc';
  const type = document.createElement('p');
  type.className = 'quiet';
  type.textContent = `${name ? `${name}: ` : ''}${typeText(schemas, field)}`;
  const words = document.createElement('p');
  words.textContent = schemas.resolve(field).description ?? '';
  box.append(type, words);
  return box;
}
