/**
 * JSON text from clients, parsed safely and fast.
 *
 * Valid text takes one linear scan (keys and depth) and the native JSON.parse. The two slow scanners of this module
 * run only on errors: `findDuplicates` when the value has fewer keys than the text, and `syntaxError` when JSON.parse
 * has failed, to produce Go's error message.
 */
import { isUtf8 } from 'node:buffer';
import { mayHoldLongNumbers, parseLongNumbers, stringEnd } from './exact-json.ts';

/** Nesting depth; code may recurse over an accepted value. */
export const depthMax = 1000;
/** Duplicate keys reported for one text; Kubernetes stops at the same number. */
export const duplicatesMax = 100;
/** Total characters and levels of all paths built while looking for duplicates; the search stops there. */
export const pathCharsMax = 65_536;

/** Characters after which a search that can take turns lets others go on. */
const toldChars = 16_384;

export class JsonError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'JsonError';
  }
}

export interface JsonDocument {
  readonly value: unknown;
  /** Keys in the text. The value has fewer when a key is repeated: JSON.parse keeps the last. */
  readonly keyCount: number;
  readonly text: string;
}

export function readJson(bytes: Buffer): JsonDocument {
  if (!isUtf8(bytes)) throw new JsonError('invalid UTF-8');
  return readJsonText(bytes.toString('utf8'));
}

export function readJsonText(source: string): JsonDocument {
  const document = readPiece(source);
  if (!document) throw new JsonError(syntaxError(source));
  return document;
}

/** A document; undefined when the text is no JSON. */
export function readPiece(source: string): JsonDocument | undefined {
  const { keyCount, exponents } = scanKeys(source);
  const text = source.includes('\\u') ? replaceLoneSurrogates(source) : source;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (exponents || mayHoldLongNumbers(text)) value = parseLongNumbers(text);
  return { value, keyCount, text };
}

/** Keys of all objects in a value, at every depth. */
export function countKeys(value: unknown): number {
  let count = 0;
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== 'object' || next === null) continue;
    if (Array.isArray(next)) {
      for (const item of next) if (typeof item === 'object') open.push(item);
      continue;
    }
    for (const key of Object.keys(next)) {
      count += 1;
      const inner = (next as Record<string, unknown>)[key];
      if (typeof inner === 'object') open.push(inner);
    }
  }
  return count;
}

/**
 * Counts the colons outside strings, and looks for numbers with an exponent there. Broken text may be counted wrongly;
 * JSON.parse refuses it afterwards.
 */
function scanKeys(text: string): { keyCount: number; exponents: boolean } {
  let keyCount = 0;
  let exponents = false;
  let depth = 0;
  for (let at = 0; at < text.length; at += 1) {
    switch (text.charCodeAt(at)) {
      case 0x22:
        at = stringEnd(text, at);
        if (at < 0) return { keyCount, exponents };
        break;
      case 0x45:
      case 0x65:
        exponents ||= isDigit(text[at - 1] ?? '');
        break;
      case 0x3a:
        keyCount += 1;
        break;
      case 0x7b:
      case 0x5b:
        depth += 1;
        if (depth > depthMax) throw new JsonError('exceeded max depth');
        break;
      case 0x7d:
      case 0x5d:
        depth -= 1;
        break;
    }
  }
  return { keyCount, exponents };
}

/** A lone surrogate. Go's decoder replaces it by U+FFFD, and so do clients. */
function replaceLoneSurrogates(text: string): string {
  return text.replace(
    /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[dD][89a-fA-F][0-9a-fA-F]{2}|[\s\S])/g,
    (found) => (found.length === 6 ? '\\ufffd' : found),
  );
}

/** A key that stands twice in one object. */
export interface Duplicate {
  /** Such as `data.a` or `spec.containers[0].name`. */
  readonly path: string;
  /** The path of the last key of the same object that is new there, before the repetition. */
  readonly after: string;
}

interface Frame {
  /** Keys seen so far; undefined in an array. */
  readonly keys: Set<string> | undefined;
  key: string;
  /** The last key that was not seen before. */
  newest: string;
  index: number;
}

/** Repeated keys, in the order of the repetitions in the text, each path once. For text that JSON.parse has accepted. */
export const findDuplicates = (text: string): Duplicate[] => atOnce(duplicatesIn(text));

/** As `findDuplicates`, and yields how many characters it has looked at since. */
export function* duplicatesIn(text: string): Generator<number, Duplicate[]> {
  let told = 0;
  const found = new Map<string, Duplicate>();
  let pathChars = 0;
  const frames: Frame[] = [];
  let frame: Frame | undefined;
  let keyNext = false;
  for (let at = 0; at < text.length; at += 1) {
    if (at - told >= toldChars) {
      yield at - told;
      told = at;
    }
    switch (text.charCodeAt(at)) {
      case 0x22: {
        const end = stringEnd(text, at);
        if (end < 0) return [...found.values()];
        if (keyNext && frame?.keys) {
          frame.key = unquote(text.slice(at, end + 1));
          if (frame.keys.has(frame.key)) {
            const path = pathOf(frames);
            const after = path.slice(0, path.length - frame.key.length) + frame.newest;
            if (!found.has(path)) found.set(path, { path, after });
            pathChars += path.length + frames.length;
            if (found.size >= duplicatesMax || pathChars > pathCharsMax) return [...found.values()];
          } else frame.newest = frame.key;
          frame.keys.add(frame.key);
          keyNext = false;
        }
        at = end;
        break;
      }
      case 0x7b:
        frame = { keys: new Set(), key: '', newest: '', index: 0 };
        frames.push(frame);
        keyNext = true;
        break;
      case 0x5b:
        frame = { keys: undefined, key: '', newest: '', index: 0 };
        frames.push(frame);
        keyNext = false;
        break;
      case 0x7d:
      case 0x5d:
        frames.pop();
        frame = frames.at(-1);
        keyNext = false;
        break;
      case 0x2c:
        if (frame) frame.index += 1;
        keyNext = frame?.keys !== undefined;
        break;
    }
  }
  return [...found.values()];
}

function unquote(quoted: string): string {
  return quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
}

function pathOf(frames: readonly Frame[]): string {
  let path = '';
  for (const { keys, key, index } of frames) {
    if (!keys) path += `[${index}]`;
    else path += path ? `.${key}` : key;
  }
  return path;
}

/** The error of text that JSON.parse has refused, with the message of Go's encoding/json. */
export const syntaxError = (text: string): string => atOnce(syntaxErrorOf(text));

/** As `syntaxError`, and yields how many characters it has looked at since. */
export const syntaxErrorOf = (text: string): Generator<number, string> => new SyntaxScanner(text).run();

/** The result of work that could take turns. */
export function atOnce<T>(work: Generator<number, T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** Thrown inside SyntaxScanner only; carries the text. */
class Finding extends Error {}

class SyntaxScanner {
  #at = 0;

  constructor(private readonly text: string) {}

  *run(): Generator<number, string> {
    try {
      yield* this.#document();
    } catch (error) {
      if (error instanceof Finding) return error.message;
      throw error;
    }
    // JSON.parse and this scanner disagree; a general message is better than a crash.
    return 'invalid JSON';
  }

  /** Open brackets are kept in a list instead of the call stack, so any depth is safe. */
  *#document(): Generator<number, void> {
    let told = 0;
    const open: string[] = [];
    let state: 'value' | 'first' | 'key' | 'after' = 'value';
    while (true) {
      if (this.#at - told >= toldChars) {
        yield this.#at - told;
        told = this.#at;
      }
      this.#space();
      const closer = open.at(-1) === '{' ? '}' : ']';
      if (state === 'after') {
        if (open.length === 0) {
          if (this.#at < this.text.length) this.#fail('after top-level value');
          return;
        }
        const char = this.#take();
        if (char === closer) open.pop();
        else if (char === ',') state = closer === '}' ? 'key' : 'value';
        else this.#fail(closer === '}' ? 'after object key:value pair' : 'after array element', 1);
        continue;
      }
      if (state === 'first' && this.text[this.#at] === closer) {
        this.#at += 1;
        open.pop();
        state = 'after';
        continue;
      }
      if (state === 'key' || (state === 'first' && closer === '}')) {
        if (this.#take() !== '"') this.#fail('looking for beginning of object key string', 1);
        this.#string();
        this.#space();
        if (this.#take() !== ':') this.#fail('after object key', 1);
        state = 'value';
        continue;
      }
      const char = this.#take();
      if (char === '{' || char === '[') {
        open.push(char);
        state = 'first';
        continue;
      }
      this.#scalar(char);
      state = 'after';
    }
  }

  #scalar(char: string): void {
    if (char === '"') this.#string();
    else if (char === 't') this.#literal('true');
    else if (char === 'f') this.#literal('false');
    else if (char === 'n') this.#literal('null');
    else if (char === '-' || (char >= '0' && char <= '9')) this.#number(char);
    else this.#fail('looking for beginning of value', 1);
  }

  #string(): void {
    while (true) {
      const char = this.#take();
      if (char === '"') return;
      if (char < ' ') this.#fail('in string literal', 1);
      if (char !== '\\') continue;
      const escaped = this.#take();
      if (escaped === 'u') {
        for (let digit = 0; digit < 4; digit += 1) {
          if (!/[0-9a-fA-F]/.test(this.#take())) this.#fail('in \\u hexadecimal character escape', 1);
        }
      } else if (!'"\\/bfnrt'.includes(escaped)) this.#fail('in string escape code', 1);
    }
  }

  #literal(word: string): void {
    for (const expected of word.slice(1)) {
      if (this.#take() !== expected) this.#fail(`in literal ${word} (expecting '${expected}')`, 1);
    }
  }

  #number(first: string): void {
    let digit = first;
    if (first === '-') {
      digit = this.#take();
      if (!isDigit(digit)) this.#fail('in numeric literal', 1);
    }
    if (digit !== '0') this.#digits();
    if (this.text[this.#at] === '.') {
      this.#at += 1;
      if (!isDigit(this.#take())) this.#fail('after decimal point in numeric literal', 1);
      this.#digits();
    }
    if (this.text[this.#at] === 'e' || this.text[this.#at] === 'E') {
      this.#at += 1;
      let exponent = this.#take();
      if (exponent === '+' || exponent === '-') exponent = this.#take();
      if (!isDigit(exponent)) this.#fail('in exponent of numeric literal', 1);
      this.#digits();
    }
  }

  #digits(): void {
    while (isDigit(this.text[this.#at] ?? '')) this.#at += 1;
  }

  #space(): void {
    while (' \t\r\n'.includes(this.text[this.#at] ?? '?')) this.#at += 1;
  }

  #take(): string {
    const char = this.text[this.#at];
    if (char === undefined) throw new Finding('unexpected end of JSON input');
    this.#at += 1;
    return char;
  }

  #fail(context: string, back = 0): never {
    const at = this.#at - back;
    // Go works on bytes: of a multi-byte character it names the first byte, read as Latin-1.
    const byte = Buffer.from(String.fromCodePoint(this.text.codePointAt(at) ?? 0))[0] ?? 0;
    throw new Finding(`invalid character ${quoteByte(byte)} ${context}`);
  }
}

const isDigit = (char: string): boolean => char >= '0' && char <= '9';

const SHORT_ESCAPES: Record<number, string> = {
  7: '\\a',
  8: '\\b',
  9: '\\t',
  10: '\\n',
  11: '\\v',
  12: '\\f',
  13: '\\r',
  39: "\\'",
  92: '\\\\',
};

/** A byte in single quotes as Go prints it. */
function quoteByte(byte: number): string {
  const hex = byte.toString(16);
  if (SHORT_ESCAPES[byte]) return `'${SHORT_ESCAPES[byte]}'`;
  if (byte < 0x20 || byte === 0x7f) return `'\\x${hex.padStart(2, '0')}'`;
  if ((byte >= 0x80 && byte <= 0xa0) || byte === 0xad) return `'\\u${hex.padStart(4, '0')}'`;
  return `'${String.fromCharCode(byte)}'`;
}
