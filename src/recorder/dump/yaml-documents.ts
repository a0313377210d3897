/** Reads YAML documents out of a text: several, and long lists item by item, as kubectl writes them. */
import { isJsonObject } from '../../api/text/object.ts';
import { readYaml } from '../../api/text/yaml.ts';
import { type Found, isListKind, itemsMax, type ListHead, listHead, tooMany } from './json-documents.ts';
import { readQuickly } from './quick-yaml.ts';

/** Lists that are longer are read item by item. */
const wholeCharsMax = 64 * 1024;
const separator = /^(?:---|\.\.\.)(?=[ \t\r\n]|$)/m;
const cutOff = { problem: 'it is cut off: the list does not end, and its last object may not be whole' };
/** Blank lines and comments. Each character can be read in one way only: other patterns try all ways to part blank lines. */
const nothing = /^(?:[^\S\n]*(?:#[^\n]*)?\n)*[^\S\n]*(?:#[^\n]*)?$/;

export function* yamlDocuments(text: string): Generator<Found> {
  const documents = separated(text);
  for (const [i, document] of documents.entries()) {
    if (i >= itemsMax) return yield tooMany;
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
    for (const [start, end] of items.spans) {
      const found = read(document.slice(start, end));
      // Each is read as a list of one.
      const one = 'value' in found ? { value: (found.value as unknown[])[0] } : found;
      yield list && 'value' in one ? { ...one, list } : one;
    }
    if (items.isCut) yield tooMany;
    else if (list && isCutOff(list)) yield cutOff;
  }
}

/** Documents of a text; most have one. */
const separated = (text: string): string[] =>
  text.includes('\n---') || text.includes('\n...') || separator.test(text.slice(0, 4))
    ? text.split(separator, itemsMax + 1)
    : [text];

function* wholeDocument(text: string): Generator<Found> {
  const found = read(text);
  const { value } = 'value' in found ? found : {};
  if (!isJsonObject(value) || !Array.isArray(value['items']) || !isListKind(value['kind']))
    return yield found;
  const list = listHead(value);
  for (const item of value['items']) yield { value: item, list };
  if (isCutOff(list)) yield cutOff;
}

/** kubectl writes the kind of a list after its items. */
const isCutOff = ({ kind, apiVersion }: ListHead): boolean => kind === undefined && apiVersion !== undefined;

function read(text: string): Found {
  try {
    return readQuickly(text) ?? { value: readYaml(text).value };
  } catch (error) {
    return { problem: `a document is no YAML (${(error as Error).message.slice(0, 200)})` };
  }
}

interface SplitList {
  readonly head: string;
  readonly spans: readonly [start: number, end: number][];
  /** There are more items than are read. */
  readonly isCut: boolean;
}

/** Where the items of a list are, each with its dash; undefined: it is not written as kubectl does. */
function splitList(document: string): SplitList | undefined {
  const start = /^items:[ \t]*\r?\n/m.exec(document);
  if (!start) return undefined;
  const from = start.index + start[0].length;
  const indent = /^ *(?=- )/.exec(document.slice(from, from + 200))?.[0].length;
  if (indent === undefined) return undefined;
  const starts: number[] = [];
  let at = from;
  while (at < document.length) {
    let own = at;
    while (document.charCodeAt(own) === 0x20) own++;
    const end = document.indexOf('\n', own);
    const isDash = own - at === indent && document.startsWith('- ', own);
    if (isDash && starts.length > itemsMax) break;
    if (isDash) starts.push(at);
    else if (own - at < indent + 2 && document.slice(at, end < 0 ? undefined : end).trim() !== '') break;
    at = end < 0 ? document.length : end + 1;
  }
  const isCut = starts.length > itemsMax;
  const rest = isCut ? '' : document.slice(at);
  // What follows the items are fields of the list; anything else is another way of writing.
  if (rest !== '' && !/^[A-Za-z]/.test(rest)) return undefined;
  const spans = starts.slice(0, itemsMax).map((one, i): [number, number] => [one, starts[i + 1] ?? at]);
  return { head: document.slice(0, start.index) + rest, spans, isCut };
}
