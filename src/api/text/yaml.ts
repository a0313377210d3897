/**
 * YAML, read as Kubernetes does: sigs.k8s.io/yaml first converts a document into JSON.
 *
 * The `yaml` package parses the syntax; the meaning of plain scalars is decided here (`plainMeaning`), because the
 * package's YAML 1.1 schema reads `12:30:45` as a number and dates as times, which Go's parser keeps as text. The
 * package is loaded on first use, because most servers never get YAML.
 */
import { createRequire } from 'node:module';
import type * as Yaml from 'yaml';
import { exactNumber } from './exact-json.ts';
import {
  countKeys,
  type Duplicate,
  duplicatesMax,
  findDuplicates,
  JsonError,
  pathCharsMax,
  readJsonText,
} from './json.ts';
import { type JsonObject, setKey } from './object.ts';
import { tellingError, yamlFault } from './yaml-faults.ts';

/**
 * Nested maps and lists. Fewer than JSON's, because the package composes recursively: it runs out of stack at
 * about 650 levels, and a regular expression compiled that close to the end of the stack aborts the process.
 */
const yamlDepthMax = 200;
/** Size that aliases may add to a document: one per value, plus the characters of its scalars. */
const aliasCharsMax = 1_048_576;
/** Pieces of syntax, spaces and line ends included; about 200 KB of ordinary YAML (long texts count little). */
const lexemesMax = 50_000;

const require = createRequire(import.meta.url);
let loaded: typeof Yaml | undefined;
const yaml = (): typeof Yaml => (loaded ??= require('yaml') as typeof Yaml);

export class YamlError extends Error {
  /** @param fault what is wrong, and at which character of the text, where that is known */
  constructor(
    message: string,
    readonly fault?: { readonly offset: number; readonly message: string },
  ) {
    super(message);
    this.name = 'YamlError';
  }
}

export interface YamlDocument {
  /** A JSON value: no undefined, no dates, no infinite numbers, all keys strings. */
  readonly value: unknown;
  /** Repeated keys, as `findDuplicates` returns them; the last value wins. */
  readonly duplicates: readonly Duplicate[];
}

/** Reads a text that holds one document. The caller bounds its size. */
export function readYaml(text: string): YamlDocument {
  return jsonDocument(text) ?? yamlDocument(text);
}

/**
 * Reads a text in which keys that stand twice are reported with their lines: `line 3: key "a" already set in map`. An
 * empty text is null.
 */
export function readYamlWithLines(text: string): { value: unknown; repeated: readonly string[] } {
  if (text.trim() === '') return { value: null, repeated: [] };
  const json = jsonDocument(text);
  if (json && json.duplicates.length === 0) return { value: json.value, repeated: [] };
  const reader = new Reader(text);
  const value = reader.value(parse(text).contents, 0);
  return { value, repeated: reader.repeated };
}

/**
 * Called with every key and value of a text, aliases and what they stand for included. The path is that of the value; it
 * changes after the call.
 */
export type YamlNote = (path: readonly (string | number)[], found: YamlPlace) => void;

export interface YamlPlace {
  readonly offset: number;
  readonly isKey: boolean;
  /** A scalar as it is written, without its quotes. */
  readonly source?: string | undefined;
  /** Whether it stands elsewhere, behind an anchor, and is here by an alias. */
  readonly isAliased: boolean;
}

/** Reads a text, JSON included, and notes where its parts stand. */
export function readYamlNoting(
  text: string,
  note: YamlNote,
): { value: unknown; repeated: readonly string[] } {
  const reader = new Reader(text, note);
  return { value: reader.value(parse(text).contents, 0), repeated: reader.repeated };
}

/** kubectl sends JSON under YAML's media type (server-side apply); JSON is YAML and much faster to read. */
function jsonDocument(text: string): YamlDocument | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  try {
    const json = readJsonText(text);
    const duplicates = countKeys(json.value) < json.keyCount ? findDuplicates(json.text) : [];
    return { value: json.value, duplicates };
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}

function yamlDocument(text: string): YamlDocument {
  const document = parse(text);
  const reader = new Reader(text);
  const value = reader.value(document.contents, 0);
  return { value, duplicates: [...reader.duplicates.values()] };
}

/** What the lexer keeps to itself; its version is exact, and yaml.test.ts fails when these are gone. */
interface LexerInside {
  /** Columns by which the lines to come must be indented. */
  indentNext: number;
  parseFlowCollection(): Generator<string, unknown>;
  parseQuotedScalar(): Generator<string, unknown>;
}

/**
 * The package's lexer, with Go's rule for brackets and quotes: their lines may begin at any column. YAML itself wants
 * them indented, and so the package ends them early.
 */
function goLexer(): Yaml.Lexer {
  const lexer = new (yaml().Lexer)();
  const inside = lexer as unknown as LexerInside;
  for (const name of ['parseFlowCollection', 'parseQuotedScalar'] as const) {
    const indented = inside[name];
    inside[name] = function* () {
      const { indentNext } = inside;
      inside.indentNext = 0;
      const next = yield* indented.call(inside);
      inside.indentNext = indentNext;
      return next;
    };
  }
  return lexer;
}

/** What the lexer yields before a plain or block scalar, which may begin with a quote, too. */
const scalarMark = '\x1f';

/** What the parser keeps to itself: how much of the text it has read. */
interface ParserInside {
  offset: number;
}

/** A text in double quotes whose `\'`, which Go's parser knows and YAML does not, is written as YAML writes it. */
const withoutQuoteEscapes = (quoted: string): string =>
  quoted.replace(/\\[\\']/g, (pair) => (pair === "\\'" ? '\\x27' : pair));

/**
 * Runs the package's lexer, parser and composer incrementally, so that deep nesting is stopped early, before a tree
 * of millions of nodes exists. The package's own check for unique keys is off: it takes quadratic time.
 */
function parse(text: string): Yaml.Document.Parsed {
  const { Composer, Parser } = yaml();
  const parser = new Parser();
  let lexemes = 0;
  function* tokens() {
    let before = '';
    for (const lexeme of goLexer().lex(text)) {
      const readable = lexeme[0] === '"' && before !== scalarMark ? withoutQuoteEscapes(lexeme) : lexeme;
      yield* parser.next(readable);
      // Positions after it are those in the text.
      if (readable !== lexeme) (parser as unknown as ParserInside).offset -= readable.length - lexeme.length;
      before = lexeme;
      lexemes += 1;
      if (lexemes > lexemesMax) throw new YamlError('the YAML document has too many parts');
      // On the stack are the document, its open collections and the scalar at hand.
      if (parser.stack.length > yamlDepthMax + 2) throw new YamlError('exceeded max depth');
    }
    yield* parser.end();
  }
  const composer = new Composer({ schema: 'failsafe', uniqueKeys: false, logLevel: 'silent' });
  let first: Yaml.Document.Parsed | undefined;
  for (const document of composer.compose(tokens(), true, text.length)) {
    const error = tellingError(document.errors);
    if (error) throw syntaxError(text, error.pos[0], yamlFault(error, text.slice(error.pos[0])));
    if (!first) first = document;
    else if (!isEmpty(document)) {
      const message = 'expected one YAML document, found more';
      throw new YamlError(message, { offset: document.contents?.range[0] ?? 0, message });
    }
  }
  if (!first || isEmpty(first)) throw new YamlError('expected one YAML document, found none');
  return first;
}

function isEmpty(document: Yaml.Document.Parsed): boolean {
  const { contents } = document;
  return (
    contents === null || (yaml().isScalar(contents) && contents.type === 'PLAIN' && contents.source === '')
  );
}

function syntaxError(text: string, offset: number, message: string): YamlError {
  const sentence = `error converting YAML to JSON: yaml: line ${lineOf(text, offset)}: ${message}`;
  return new YamlError(sentence, { offset, message });
}

function lineOf(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) line += 1;
  return line;
}

/** Turns the nodes of one document into JSON values. */
class Reader {
  readonly duplicates = new Map<string, Duplicate>();
  /** The same keys, by name and line. */
  readonly repeated: string[] = [];
  /** The latest node of each anchor name, in document order: an alias refers to the last anchor before it. */
  readonly #anchors = new Map<string, Yaml.Node>();
  /** Anchored nodes that are being resolved; an alias to one of them is a cycle. */
  readonly #open = new Set<Yaml.Node>();
  readonly #path: (string | number)[] = [];
  /** Current depth of aliases. */
  #aliases = 0;
  #aliasChars = 0;
  #pathChars = 0;

  constructor(
    private readonly text: string,
    private readonly note?: YamlNote,
  ) {}

  value(node: Yaml.Node | null | undefined, depth: number, isKey = false): unknown {
    const { isAlias, isMap, isScalar, isSeq } = yaml();
    if (!node) return null;
    if (this.note && !isKey) this.#noted(node, false);
    if (depth > yamlDepthMax) throw new YamlError('exceeded max depth');
    if (isAlias(node)) return this.#alias(node, depth);
    const { anchor } = node as Yaml.Scalar | Yaml.YAMLMap | Yaml.YAMLSeq;
    if (anchor && this.#aliases === 0) this.#anchors.set(anchor, node);
    if (this.#aliases > 0) this.#spend(1, node);
    if (isScalar(node)) return this.#scalar(node);
    this.#open.add(node);
    let value: unknown;
    if (isMap(node)) value = this.#map(node, depth);
    else if (isSeq(node)) value = this.#list(node, depth);
    else throw this.#error(node, 'unknown node');
    this.#open.delete(node);
    return value;
  }

  /** The value is built again for each alias rather than shared, so that later changes affect one place only. */
  #alias(alias: Yaml.Alias, depth: number): unknown {
    const node = this.#target(alias);
    this.#aliases += 1;
    const value = this.value(node, depth);
    this.#aliases -= 1;
    return value;
  }

  #target(alias: Yaml.Alias): Yaml.Node {
    const node = this.#anchors.get(alias.source);
    if (!node) throw this.#error(alias, `unknown anchor '${alias.source}' referenced`);
    if (this.#open.has(node)) throw this.#error(alias, `anchor '${alias.source}' value contains itself`);
    return node;
  }

  #spend(chars: number, node: Yaml.Node): void {
    this.#aliasChars += chars;
    if (this.#aliasChars > aliasCharsMax) throw this.#error(node, 'document contains excessive aliasing');
  }

  #scalar(node: Yaml.Scalar): unknown {
    const source = node.source ?? '';
    if (this.#aliases > 0) this.#spend(source.length, node);
    // Half a surrogate pair, written as an escape, is no character.
    if (/\p{Cs}/u.test(source)) throw this.#error(node, 'found invalid Unicode character escape code');
    try {
      return resolveScalar(source, node.type === 'PLAIN', node.tag);
    } catch (error) {
      throw error instanceof YamlError ? this.#error(node, error.message) : error;
    }
  }

  #list(node: Yaml.YAMLSeq, depth: number): unknown[] {
    const list: unknown[] = [];
    this.#path.push(0);
    for (const [index, item] of node.items.entries()) {
      this.#path[this.#path.length - 1] = index;
      list.push(yaml().isPair(item) ? this.#pair(item, depth + 1) : this.value(item as Yaml.Node, depth + 1));
    }
    this.#path.pop();
    return list;
  }

  /** `[a: 1]` is a list with a map of one key. */
  #pair(pair: Yaml.Pair, depth: number): unknown {
    const map = new (yaml().YAMLMap)();
    map.items.push(pair);
    return this.value(map, depth);
  }

  #map(node: Yaml.YAMLMap, depth: number): JsonObject {
    const map: JsonObject = {};
    const keys = new Set<string>();
    let newest = '';
    for (const { key, value } of node.items as Yaml.Pair<Yaml.Node | null, Yaml.Node | null>[]) {
      if (isMergeKey(key)) {
        this.#merge(map, value ?? node, this.value(value, depth + 1));
        continue;
      }
      const name = this.#key(key, node, depth);
      this.#path.push(name);
      if (keys.has(name)) this.#duplicate(name, newest, key ?? node);
      else newest = name;
      keys.add(name);
      if (this.note) this.#noted(key ?? node, true);
      setKey(map, name, this.value(value, depth + 1));
      this.#path.pop();
    }
    return map;
  }

  #noted(node: Yaml.Node, isKey: boolean): void {
    const source = !isKey && yaml().isScalar(node) ? (node.source ?? '') : undefined;
    const isAliased = this.#aliases > 0;
    this.note!(this.#path, { offset: node.range?.[0] ?? 0, isKey, source, isAliased });
  }

  /** Keys of the map itself win over merged ones, and earlier merged maps over later ones. */
  #merge(map: JsonObject, node: Yaml.Node, source: unknown): void {
    for (const part of Array.isArray(source) ? source : [source]) {
      if (typeof part !== 'object' || part === null || Array.isArray(part)) {
        throw this.#error(node, 'map merge requires map or sequence of maps as the value');
      }
      for (const name of Object.keys(part)) if (!Object.hasOwn(map, name)) setKey(map, name, part[name]);
    }
  }

  #key(node: Yaml.Node | null, map: Yaml.Node, depth: number): string {
    const key = this.value(node, depth + 1, true);
    if (typeof key === 'string') return key;
    if (typeof key === 'number' || typeof key === 'bigint' || typeof key === 'boolean') return String(key);
    throw this.#error(node ?? map, `unsupported map key of type ${key === null ? 'null' : 'map or list'}`);
  }

  #duplicate(name: string, newest: string, node: Yaml.Node): void {
    if (this.duplicates.size >= duplicatesMax || this.#pathChars > pathCharsMax || this.#aliases > 0) return;
    let path = '';
    for (const part of this.#path) {
      if (typeof part === 'number') path += `[${part}]`;
      else path += path ? `.${part}` : part;
    }
    this.#pathChars += path.length + this.#path.length;
    const after = path.slice(0, path.length - name.length) + newest;
    if (!this.duplicates.has(path)) this.duplicates.set(path, { path, after });
    const line = lineOf(this.text, node.range?.[0] ?? 0);
    this.repeated.push(`line ${line}: key ${JSON.stringify(name)} already set in map`);
  }

  #error(node: Yaml.Node, message: string): YamlError {
    return syntaxError(this.text, node.range?.[0] ?? 0, message);
  }
}

function isMergeKey(node: Yaml.Node | null): boolean {
  if (!yaml().isScalar(node) || node.source !== '<<') return false;
  return node.tag === undefined ? node.type === 'PLAIN' : node.tag === 'tag:yaml.org,2002:merge';
}

function resolveScalar(source: string, plain: boolean, tag: string | undefined): unknown {
  if (tag === undefined) return plain ? plainMeaning(source) : source;
  switch (tag) {
    case 'tag:yaml.org,2002:null':
    case 'tag:yaml.org,2002:bool':
    case 'tag:yaml.org,2002:int':
    case 'tag:yaml.org,2002:float': {
      const value = plainMeaning(source);
      const name = tag.slice('tag:yaml.org,2002:'.length);
      if (typesOf(value).includes(name)) return value;
      throw new YamlError(`cannot decode ${JSON.stringify(source)} as a !!${name}`);
    }
    case 'tag:yaml.org,2002:binary':
      return Buffer.from(source, 'base64').toString('utf8');
    default:
      return source;
  }
}

function typesOf(value: unknown): string[] {
  if (value === null) return ['null'];
  if (typeof value === 'boolean') return ['bool'];
  if (typeof value === 'bigint') return ['int', 'float'];
  if (typeof value === 'number') return Number.isInteger(value) ? ['int', 'float'] : ['float'];
  return [];
}

/** Words without quotes that are no texts. */
export const WORDS = new Map<string, unknown>([
  ...['', '~', 'null', 'Null', 'NULL'].map((word) => [word, null] as const),
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map(
    (word) => [word, true] as const,
  ),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map(
    (word) => [word, false] as const,
  ),
]);
const INFINITE = /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;
const INTEGER = /^[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)$/;
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;

/**
 * What a scalar without quotes means to Go's YAML 1.1 reader: words for booleans and null, integers in four
 * bases (`010` is eight), floats; no sexagesimal numbers and no times.
 */
export function plainMeaning(source: string): unknown {
  if (WORDS.has(source)) return WORDS.get(source);
  if (INFINITE.test(source)) throw new YamlError(`unsupported value: ${source}`);
  if (!/^[-+.0-9]/.test(source)) return source;
  const digits = source.startsWith('.') ? source : source.replaceAll('_', '');
  if (!INTEGER.test(digits) && !FLOAT.test(digits)) return source;
  const number = INTEGER.test(digits) ? integer(digits) : exactNumber(digits);
  // Too large to be a number is a text to Go, too.
  return number === Number.POSITIVE_INFINITY || number === Number.NEGATIVE_INFINITY ? source : number;
}

function integer(digits: string): number | bigint {
  const size = digits.replace(/^[-+]/, '').replace(/^0(?=[0-7])/, '0o');
  const number = Number(size);
  if (Number.isSafeInteger(number) || !Number.isFinite(number))
    return digits.startsWith('-') && number > 0 ? -number : number;
  return digits.startsWith('-') ? -BigInt(size) : BigInt(size);
}
