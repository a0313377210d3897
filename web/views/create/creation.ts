/** Creates the objects of a YAML text, one after the other; each document of it says its own kind and namespace. */
import { ask } from '../../core/api.ts';
import { type Kind, kindNamed, pathOf } from '../../core/kinds.ts';
import type { ApiObject } from '../../core/objects.ts';
import { outlineOf } from '../editor/outline.ts';

export interface Created {
  readonly kind: Kind;
  readonly object: ApiObject;
}

/** A refusal, with the first line of the document that it is about. */
export class DocumentError extends Error {
  constructor(
    readonly reason: Error,
    readonly text: string,
    /** Lines before it. */
    readonly offset: number,
  ) {
    super(reason.message);
  }
}

interface YamlDocument {
  readonly text: string;
  readonly offset: number;
}

function documentsOf(text: string): readonly YamlDocument[] {
  const documents: YamlDocument[] = [];
  let lines: string[] = [];
  let offset = 0;
  const all = text.split('\n');
  for (const [at, line] of all.entries()) {
    if (!/^---(?:\s|$)/.test(line)) lines.push(line);
    if (/^---(?:\s|$)/.test(line) || at === all.length - 1) {
      if (lines.some((each) => /^[^\s#]/.test(each))) documents.push({ text: lines.join('\n'), offset });
      lines = [];
      offset = at + 1;
    }
  }
  return documents;
}

/** Throws a DocumentError; those before it have been created. */
export async function createAll(
  text: string,
  namespace: string,
  dryRun: boolean,
): Promise<readonly Created[]> {
  const created: Created[] = [];
  for (const { text: body, offset } of documentsOf(text)) {
    try {
      const { kind, path } = targetOf(body, namespace);
      const object = await ask<ApiObject>(path, {
        method: 'POST',
        body,
        contentType: 'application/yaml',
        query: { fieldValidation: 'Strict', fieldManager: 'window', dryRun: dryRun ? 'All' : undefined },
      });
      created.push({ kind, object });
    } catch (error) {
      throw new DocumentError(error as Error, body, offset);
    }
  }
  if (created.length === 0) throw new Error('There is no object in this text.');
  return created;
}

/** Where a document is to be sent. */
function targetOf(text: string, namespace: string): { readonly kind: Kind; readonly path: string } {
  const entries = outlineOf(text);
  const textAt = (...path: string[]): string =>
    (entries.find((entry) => entry.path.join('\n') === path.join('\n'))?.value ?? '')
      .replace(/\s+#.*$/, '')
      .replace(/^(["'])(.*)\1$/, '$2');
  const apiVersion = textAt('apiVersion');
  const name = textAt('kind');
  const found = kindNamed(apiVersion, name);
  if (!found)
    throw new Error(`The server has no kind ${name || '(none)'} in ${apiVersion || '(no apiVersion)'}.`);
  const kind = { ...found, version: apiVersion.split('/').at(-1)! };
  return { kind, path: pathOf(kind, textAt('metadata', 'namespace') || namespace) };
}
