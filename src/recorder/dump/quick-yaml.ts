/**
 * Reads YAML as kubectl writes it, some thirty times as fast as the full reader (`api/text/yaml.ts`): maps and lists by
 * indentation, scalars on one line, literal blocks. Everything else makes it give up, and the full reader reads the text; it
 * also says what scalars mean that are not plainly texts, so that the two never differ.
 */
import { type JsonObject, setKey } from '../../api/text/object.ts';
import { plainMeaning, readYaml } from '../../api/text/yaml.ts';

const depthMax = 64;
/** Scalars whose meaning is remembered. */
const memoMax = 20_000;
const memoCharsMax = 200;

/** Thrown when a text is not written in the simple way. */
class NotSimple extends Error {}
const giveUp = (): never => {
  throw notSimple;
};
const notSimple = new NotSimple();

/** The value of a document; undefined: the full reader must read it. */
export function readQuickly(text: string): { readonly value: unknown } | undefined {
  if (text.includes('\t') || text.includes('\r')) return undefined;
  try {
    return { value: new QuickReader(text).document() };
  } catch (error) {
    if (error !== notSimple) throw error;
    return undefined;
  }
}

const simpleKey = /^[A-Za-z][\w./-]*$/;
const fieldKey = /^(?:f:[A-Za-z]|k:\{"|v:")/;
/** A text that no rule of YAML reads otherwise, unless it is one of the words below. */
const simpleText = /^[A-Za-z/][^\n]*$/;
const words = /^(?:y|n|yes|no|on|off|true|false|null)$/i;
/** Numbers, and texts such as uids, addresses and quantities, of characters that mean nothing else. */
const numberLike = /^[0-9][\w.+/-]*$/;
const wholeNumber = /^(?:0|-?[1-9]\d{0,14})$/;
const jsonString = /^"(?:[^"\\]|\\["\\/nrtbf]|\\u[0-9a-fA-F]{4})*"$/;
const singleQuoted = /^'(?:[^']|'')*'$/;

const meanings = new Map<string, unknown>();

/** What the full reader makes of a scalar. */
function meaningOf(token: string): unknown {
  if (meanings.has(token)) return meanings.get(token);
  let value: unknown;
  try {
    value = (readYaml(`a: ${token}\n`).value as { a: unknown }).a;
  } catch {
    giveUp();
  }
  if (typeof value === 'object' && value !== null) giveUp();
  if (token.length <= memoCharsMax) {
    if (meanings.size >= memoMax) meanings.clear();
    meanings.set(token, value);
  }
  return value;
}

/** Most scalars and keys of a dump are short, and stand in it again and again. */
const shortCharsMax = 24;
const scalars = new Map<string, unknown>();
const keys = new Map<string, string>();

function remember<T>(known: Map<string, T>, token: string, value: T): T {
  if (known.size >= memoMax) known.clear();
  known.set(token, value);
  return value;
}

function scalar(token: string): unknown {
  if (token.length > shortCharsMax) return scalarOf(token);
  const known = scalars.get(token);
  if (known !== undefined) return known;
  const value = scalarOf(token);
  // Maps and lists are made anew each time.
  return typeof value === 'object' ? value : remember(scalars, token, value);
}

function scalarOf(token: string): unknown {
  const first = token[0]!;
  if (first === '"') return jsonString.test(token) ? JSON.parse(token) : giveUp();
  if (first === "'") return singleQuoted.test(token) ? token.slice(1, -1).replaceAll("''", "'") : giveUp();
  if (token === '{}') return {};
  if (token === '[]') return [];
  if (wholeNumber.test(token)) return Number(token);
  if (numberLike.test(token)) return plainMeaning(token);
  if (token === 'true') return true;
  if (token === 'false') return false;
  if (token === 'null') return null;
  if (token.includes(': ') || token.includes(' #') || token.endsWith(':')) giveUp();
  if (simpleText.test(token) && !words.test(token)) return token;
  // Indicators begin something else than a scalar.
  return '&*!|>%@`{}[],?:#-'.includes(first) && !/^-[^ ]/.test(token) ? giveUp() : meaningOf(token);
}

class QuickReader {
  readonly #lines: string[];
  #at = 0;
  /** The line whose indentation is known. */
  #known = -1;
  #knownIndent = -1;

  constructor(text: string) {
    this.#lines = text.split('\n');
  }

  document(): unknown {
    const value = this.#block(0, 0);
    if (this.#indent() >= 0) giveUp();
    return value;
  }

  /** How far the next line with content is indented, and goes to it; -1 at the end. */
  #indent(): number {
    if (this.#known === this.#at) return this.#knownIndent;
    let indent = -1;
    for (; this.#at < this.#lines.length; this.#at++) {
      const line = this.#lines[this.#at]!;
      let spaces = 0;
      while (line.charCodeAt(spaces) === 0x20) spaces++;
      if (spaces === line.length) continue;
      if (line.charCodeAt(spaces) === 0x23) {
        if (spaces > 0) giveUp();
        continue;
      }
      indent = spaces;
      break;
    }
    this.#known = this.#at;
    this.#knownIndent = indent;
    return indent;
  }

  /** A map or a list whose lines are indented by `indent`. */
  #block(indent: number, depth: number): unknown {
    if (depth > depthMax || this.#indent() !== indent) giveUp();
    return this.#isItem(indent) ? this.#list(indent, depth) : this.#map(indent, depth);
  }

  #isItem(indent: number): boolean {
    return this.#lines[this.#at]!.startsWith('- ', indent);
  }

  #list(indent: number, depth: number): unknown[] {
    const out: unknown[] = [];
    while (this.#indent() === indent && this.#isItem(indent)) {
      const line = this.#lines[this.#at]!;
      const content = line.slice(indent + 2);
      if (content.startsWith('- ') || content.startsWith(' ')) giveUp();
      if (keyEnd(content) < 0) out.push(this.#value(content, indent));
      else {
        // The first key of a map: the dash stands in its indentation.
        this.#lines[this.#at] = ' '.repeat(indent + 2) + content;
        this.#knownIndent = indent + 2;
        out.push(this.#map(indent + 2, depth + 1));
      }
    }
    return out;
  }

  #map(indent: number, depth: number): JsonObject {
    if (depth > depthMax) giveUp();
    const out: JsonObject = {};
    while (this.#indent() === indent && !this.#isItem(indent)) {
      const line = this.#lines[this.#at]!;
      const content = indent === 0 ? line : line.slice(indent);
      const end = keyEnd(content);
      if (end < 0) giveUp();
      const key = keyOf(content.slice(0, end));
      const rest = content.slice(end + 2);
      setKey(out, key, rest === '' ? this.#nested(indent, depth) : this.#value(rest, indent));
    }
    if (this.#indent() > indent) giveUp();
    return out;
  }

  /** What follows a key without a value: a deeper block, a list at the same depth, or nothing. */
  #nested(indent: number, depth: number): unknown {
    this.#at++;
    const next = this.#indent();
    if (next > indent) return this.#block(next, depth + 1);
    return next === indent && this.#isItem(indent) ? this.#list(indent, depth + 1) : null;
  }

  #value(token: string, indent: number): unknown {
    this.#at++;
    if (token[0] === '|') return this.#literal(token, indent);
    const value = scalar(token.endsWith(' ') ? token.replace(/ +$/, '') : token);
    // A deeper line goes on with the scalar.
    if (this.#indent() > indent) giveUp();
    return value;
  }

  #literal(header: string, indent: number): string {
    if (!/^\|[-+]?$/.test(header)) giveUp();
    const lines: string[] = [];
    let inner = -1;
    for (; this.#at < this.#lines.length; this.#at++) {
      const line = this.#lines[this.#at]!;
      let own = 0;
      while (line.charCodeAt(own) === 0x20) own++;
      if (own === line.length) {
        // Spaces of such a line may belong to the text.
        if (own > Math.max(0, inner)) giveUp();
        lines.push('');
        continue;
      }
      if (inner < 0) inner = own > indent ? own : giveUp();
      if (own < inner) break;
      lines.push(line.slice(inner));
    }
    if (inner < 0) giveUp();
    // The split text ends with an empty line, which is no line of the block.
    if (this.#at === this.#lines.length && this.#lines.at(-1) === '') lines.pop();
    let end = lines.length;
    while (end > 0 && lines[end - 1] === '') end--;
    const body = lines.slice(0, end).join('\n');
    if (header === '|-') return body;
    return header === '|' ? `${body}\n` : `${body}\n${'\n'.repeat(lines.length - end)}`;
  }
}

/** Where the key of a line ends: at a colon before a space or the end; -1: it has none. */
function keyEnd(content: string): number {
  if (content[0] === '"' || content[0] === "'") {
    // A quoted key is rare; a quoted value is not.
    return /^(["']).*\1: /.test(content) || /^(["']).*\1:$/.test(content) ? giveUp() : -1;
  }
  const end = content.indexOf(': ');
  if (end >= 0) return end;
  return content.endsWith(':') ? content.length - 1 : -1;
}

function keyOf(text: string): string {
  if (text.length > shortCharsMax) return readKey(text);
  return keys.get(text) ?? remember(keys, text, readKey(text));
}

function readKey(text: string): string {
  if (simpleKey.test(text) && !words.test(text)) return text;
  if (fieldKey.test(text) || text === '.') return text;
  const value = scalar(text);
  return typeof value === 'string' ? value : giveUp();
}
