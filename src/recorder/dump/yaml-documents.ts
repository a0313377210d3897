/** Reads YAML documents out of a text: several, and long lists item by item, as kubectl writes them. */
import { isJsonObject } from '../../api/text/object.ts';
import { readYaml } from '../../api/text/yaml.ts';
import { type Found, isListKind, listHead } from './json-documents.ts';
import { readQuickly } from './quick-yaml.ts';

/** Lists that are longer are read item by item. */
const wholeCharsMax = 64 * 1024;
const separator = /^(?:---|\.\.\.)(?=[ \t\r\n]|$)/m;
const nothing = /^(?:\s*(?:#[^\n]*)?(?:\n|$))*$/;

export function* yamlDocuments(text: string): Generator<Found> {
  for (const document of text.split(separator)) {
    if (document.trim() === '' || (document.length < wholeCharsMax && nothing.test(document))) continue;
    const items = document.length > wholeCharsMax ? splitList(document) : undefined;
    if (!items) {
      yield* wholeDocument(document);
      continue;
    }
    const head = read(items.head);
    if ('problem' in head) yield head;
    const list = 'value' in head ? listHead(head.value) : undefined;
    if (list && !isListKind(list.kind)) {
      yield read(document);
      continue;
    }
    for (const item of items.texts) {
      const found = read(item);
      yield list && 'value' in found ? { ...found, list } : found;
    }
  }
}

function* wholeDocument(text: string): Generator<Found> {
  const found = read(text);
  const { value } = 'value' in found ? found : {};
  if (!isJsonObject(value) || !Array.isArray(value['items']) || !isListKind(value['kind']))
    return yield found;
  const list = listHead(value);
  for (const item of value['items']) yield { value: item, list };
}

function read(text: string): Found {
  try {
    return readQuickly(text) ?? { value: readYaml(text).value };
  } catch (error) {
    return { problem: `a document is no YAML (${(error as Error).message.slice(0, 200)})` };
  }
}

/** The items of a list, each as a text of its own; undefined: it is not written as kubectl does. */
function splitList(document: string): { head: string; texts: string[] } | undefined {
  const start = /^items:[ \t]*\r?\n/m.exec(document);
  if (!start) return undefined;
  const from = start.index + start[0].length;
  const indent = /^ *(?=- )/.exec(document.slice(from, from + 200))?.[0].length;
  if (indent === undefined) return undefined;
  const dash = `${' '.repeat(indent)}- `;
  const inner = ' '.repeat(indent + 2);
  const texts: string[] = [];
  let item: string[] = [];
  let at = from;
  while (at < document.length) {
    const end = document.indexOf('\n', at);
    const next = end < 0 ? document.length : end + 1;
    const line = document.slice(at, next);
    if (line.startsWith(dash)) {
      if (item.length) texts.push(item.join(''));
      item = [line.slice(dash.length)];
    } else if (line.startsWith(inner)) item.push(line.slice(inner.length));
    else if (line.trim() === '') item.push('\n');
    else break;
    at = next;
  }
  if (item.length) texts.push(item.join(''));
  const rest = document.slice(at);
  // What follows the items are fields of the list; anything else is another way of writing.
  if (rest !== '' && !/^[A-Za-z]/.test(rest)) return undefined;
  return { head: document.slice(0, start.index) + rest, texts };
}
