/**
 * Reads JSON documents out of bytes: one, several behind each other, and lists, whose items are read one by one, because a
 * list of a hundred thousand objects parsed at once takes gigabytes. What follows a cut or a mistake is reported, what came
 * before it is kept. Between documents there may be logs, as `kubectl cluster-info dump` prints them.
 */
import { mayHoldLongNumbers, parseLongNumbers } from '../../api/text/exact-json.ts';
import { isJsonObject } from '../../api/text/object.ts';

/** A document or an item of a list, a log, or what is wrong. */
export type Found =
  | { readonly value: unknown; readonly list?: ListHead }
  | { readonly log: LogName; readonly bytes: Buffer }
  | { readonly problem: string };

/** What a list says of its items, which may not say it themselves. */
export interface ListHead {
  readonly kind: string | undefined;
  readonly apiVersion: string | undefined;
}

export interface LogName {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
}

/** Levels inside each other: each takes memory while it is parsed. */
const levelsMax = 1_000;
const tooDeep = { problem: `a document has more than ${levelsMax} levels` };
/** Items of one list, and documents of one text: as many as a dump may have objects. */
export const itemsMax = 2_000_000;
export const tooMany = { problem: `it has more than ${itemsMax} documents; the rest of them was not read` };
const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const colon = 0x3a;
const openBrace = 0x7b;
const openBracket = 0x5b;
/** Brackets and braces differ in this bit. */
const caseBit = 0x20;
const closeBrace = 0x7d;
const itemsMark = Buffer.from('"items"');
const isSpace = (byte: number): boolean => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
const logLine = /^==== START logs for container (\S+) of pod ([^/\s]+)\/(\S+) ====\r?\n/;
/** Where a number may be long, or a text looks like one. */
const longNumber = /[\s:[,-]\d[\d.]{15}/;

export function* jsonDocuments(bytes: Buffer): Generator<Found> {
  for (let at = 0; ; ) {
    while (at < bytes.length && isSpace(bytes[at]!)) at++;
    if (at >= bytes.length) return;
    if (bytes[at] === openBrace || bytes[at] === openBracket) {
      const scanned = scan(bytes, at);
      yield* documentsOf(bytes, at, scanned);
      if (scanned.end === undefined) return;
      at = scanned.end;
      continue;
    }
    const log = logAt(bytes, at);
    if (!log) return yield { problem: `at byte ${at} is neither an object nor a log` };
    if (log.name) yield { log: log.name, bytes: log.bytes };
    at = log.end;
  }
}

/** Where the items of a list are. */
interface Items {
  readonly start: number;
  end: number | undefined;
  readonly spans: [start: number, end: number, isDeep: boolean][];
  /** There are more items than are read. */
  isCut?: boolean;
}

interface Scanned {
  /** Undefined: the text is cut off. */
  readonly end: number | undefined;
  readonly items: Items | undefined;
  /** Whether something in it, outside of items, has more levels than are read. */
  readonly isDeep: boolean;
}

/** Finds the end of a value by its brackets, and the items of a list. */
function scan(bytes: Buffer, start: number): Scanned {
  const isList = bytes[start] === openBracket;
  let items: Items | undefined = isList ? { start, end: undefined, spans: [] } : undefined;
  const itemDepth = isList ? 1 : 2;
  let depth = 0;
  let itemStart = -1;
  let [isDeep, isItemDeep] = [false, false];
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte <= 0x20) continue;
    if (byte === quote) {
      const end = stringEnd(bytes, at);
      if (end < 0) break;
      if (depth === 1 && !items && bytes.compare(itemsMark, 0, itemsMark.length, at, end + 1) === 0) {
        const list = afterColon(bytes, end + 1);
        if (list !== undefined) {
          items = { start: list, end: undefined, spans: [] };
          at = list - 1;
          continue;
        }
      }
      at = end;
    } else if ((byte | caseBit) === openBrace) {
      if (items && items.end === undefined && depth === itemDepth) itemStart = at;
      if (++depth > levelsMax && itemStart >= 0) isItemDeep = true;
      else if (depth > levelsMax) isDeep = true;
    } else if ((byte | caseBit) === closeBrace) {
      depth--;
      if (items && items.end === undefined && depth === itemDepth && itemStart >= 0) {
        if (items.spans.length < itemsMax) items.spans.push([itemStart, at + 1, isItemDeep]);
        else items.isCut = true;
        itemStart = -1;
        isItemDeep = false;
      } else if (items && items.end === undefined && depth === itemDepth - 1) items.end = at + 1;
      if (depth === 0) return { end: at + 1, items, isDeep };
    }
  }
  return { end: undefined, items, isDeep };
}

/** The place of the bracket that opens a list behind a colon. */
function afterColon(bytes: Buffer, from: number): number | undefined {
  let at = from;
  while (isSpace(bytes[at]!) || bytes[at] === colon) at++;
  return bytes[at] === openBracket ? at : undefined;
}

/** Most texts are short: looking at each byte takes less than a call would. */
function stringEnd(bytes: Buffer, open: number): number {
  for (let at = open + 1; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (byte === quote) return at;
    if (byte === backslash) at++;
  }
  return -1;
}

function* documentsOf(bytes: Buffer, start: number, { end, items, isDeep }: Scanned): Generator<Found> {
  const cut: Found = { problem: 'it is cut off: the last document does not end' };
  const whole = (): Found => {
    if (end === undefined) return cut;
    const isAnyDeep = isDeep || items?.spans.some(([, , isItemDeep]) => isItemDeep);
    return isAnyDeep ? tooDeep : parsed(bytes.toString('utf8', start, end));
  };
  if (!items) return yield whole();
  const head = isDeep ? tooDeep : headOf(bytes, start, end, items);
  if ('problem' in head) yield head;
  // An object of its own that has a field of this name.
  else if (!head.isList) return yield whole();
  const list = 'value' in head ? listHead(head.value) : { kind: undefined, apiVersion: undefined };
  for (const [from, to, isItemDeep] of items.spans) {
    const item = isItemDeep ? tooDeep : parsed(bytes.toString('utf8', from, to));
    yield 'value' in item ? { ...item, list } : item;
  }
  if (items.isCut) yield tooMany;
  if (end === undefined) yield cut;
}

/** The list without its items. One that is cut off ends with them. */
function headOf(
  bytes: Buffer,
  start: number,
  end: number | undefined,
  items: Items,
): { value: unknown; isList: boolean } | { problem: string } {
  if (items.start === start) return { value: undefined, isList: true };
  const before = bytes.toString('utf8', start, items.start);
  const isWhole = end !== undefined && items.end !== undefined;
  const head = parsed(`${before}[]${isWhole ? bytes.toString('utf8', items.end, end) : '}'}`);
  if (!('value' in head)) return head as { problem: string };
  return { value: head.value, isList: isJsonObject(head.value) && isListKind(head.value['kind']) };
}

/** Whether what has items is a list of objects. */
export const isListKind = (kind: unknown): boolean => kind === undefined || String(kind).endsWith('List');

export function listHead(value: unknown): ListHead {
  const { kind, apiVersion } = isJsonObject(value) ? value : {};
  const text = (one: unknown): string | undefined => (typeof one === 'string' ? one : undefined);
  return { kind: text(kind), apiVersion: text(apiVersion) };
}

function parsed(text: string): Found {
  try {
    const value: unknown = JSON.parse(text);
    return { value: mayHoldLongNumbers(text) && longNumber.test(text) ? parseLongNumbers(text) : value };
  } catch (error) {
    return { problem: `a document is no JSON (${(error as Error).message.slice(0, 200)})` };
  }
}

/** A log between two lines that name its container; without a name for other lines that may be passed over. */
function logAt(bytes: Buffer, at: number): { name?: LogName; bytes: Buffer; end: number } | undefined {
  // Where lists are joined by hand.
  if (bytes[at] === comma || bytes[at] === 0x1e) return { bytes: Buffer.alloc(0), end: at + 1 };
  const [line, container, namespace, pod] = logLine.exec(bytes.toString('utf8', at, at + 2_000)) ?? [];
  if (!line) return undefined;
  const start = at + Buffer.byteLength(line);
  const endLine = `==== END logs for container ${container} of pod ${namespace}/${pod} ====`;
  const found = bytes.indexOf(endLine, start);
  const end = found < 0 ? bytes.length : found;
  const name = { namespace: namespace!, pod: pod!, container: container! };
  return { name, bytes: bytes.subarray(start, end), end: found < 0 ? end : end + Buffer.byteLength(endLine) };
}
