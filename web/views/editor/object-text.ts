/** Objects as text to read and to edit, and edited text as the body of a request. */
import { apiVersionOf, type Kind } from '../../core/kinds.ts';
import type { ApiObject } from '../../core/objects.ts';
import { yamlText } from '../../core/text/yaml-text.ts';
import { outlineOf } from './outline.ts';

/** The whole object but the list of managers, which the margin shows. */
export function readingText(kind: Kind, object: ApiObject): string {
  const { managedFields: _, ...metadata } = object.metadata;
  return wholeText(kind, object, metadata);
}

/** The text that a person can edit: without fields that the server sets, and without a status that has its own path. */
export function editingText(kind: Kind, object: ApiObject): string {
  const {
    managedFields: _,
    resourceVersion: __,
    generation: ___,
    selfLink: ____,
    ...metadata
  } = object.metadata as ApiObject['metadata'] & { selfLink?: string };
  const { status, ...rest } = object;
  return wholeText(kind, kind.subresources.has('status') || status === undefined ? rest : object, metadata);
}

function wholeText(kind: Kind, object: object, metadata: object): string {
  const { apiVersion: _, kind: __, metadata: ___, ...rest } = object as ApiObject;
  return yamlText({ apiVersion: apiVersionOf(kind), kind: kind.kind, metadata, ...rest });
}

export interface SentText {
  readonly text: string;
  /** The number of the added line, from 1; undefined when text was added to an existing line. */
  readonly added: number | undefined;
}

/** Adds the edited version, so that the server refuses the text if the object has changed. */
export function withVersion(text: string, version: string): SentText {
  const entries = outlineOf(text);
  const metadata = entries.find(({ path }) => path.length === 1 && path[0] === 'metadata');
  if (!metadata || entries.some(({ path }) => path.join() === 'metadata,resourceVersion'))
    return { text, added: undefined };
  const lines = text.split('\n');
  const field = `resourceVersion: ${JSON.stringify(version)}`;
  if (metadata.value.startsWith('{')) {
    const line = lines[metadata.line - 1]!;
    lines[metadata.line - 1] = line.replace(/\{(\s*\}?)/, (_, end: string) =>
      end.endsWith('}') ? `{${field}}` : `{${field}, `,
    );
    return { text: lines.join('\n'), added: undefined };
  }
  const child = entries.find(({ path }) => path.length === 2 && path[0] === 'metadata');
  lines.splice(metadata.line, 0, `${' '.repeat(child?.column ?? 2)}${field}`);
  return { text: lines.join('\n'), added: metadata.line + 1 };
}
