/** Writes JSON values as YAML that readers of YAML 1.1 and 1.2 understand alike. */
import { jsonText } from './json-text.ts';
import type { JsonObject } from './object.ts';
import { WORDS } from './yaml.ts';

/**
 * Levels written with indentation; deeper ones are written as JSON, so that indentation does not dominate the text.
 */
const indentedDepthMax = 50;
/** Characters of a part of a written document, and of a text in quotes that are written at once. */
const partChars = 8 * 1024;
const textChars = 8 * 1024;
/** Longest key written before its colon; readers allow 1024. */
const keyCharsMax = 500;

/** A JSON value as a YAML document that readers of YAML 1.1 and 1.2 understand alike; keys are sorted. */
export const writeYaml = (value: unknown): string => [...yamlParts(value)].join('');

/** The same in parts, each of which takes well below a millisecond: a large object takes many turns of the event loop. */
export function* yamlParts(value: unknown): Generator<string, void, undefined> {
  let part = '';
  let isFirst = true;
  for (const piece of nodePieces(value, 0, false)) {
    part += isFirst ? piece.trimStart() : piece;
    isFirst = false;
    if (part.length < partChars) continue;
    yield part;
    part = '';
  }
  yield `${part}\n`;
}

/**
 * The text to put after `key:` or `-`, with the space or line end that belongs between.
 * @param isInList a collection in a list begins on the line of its dash, which is as wide as the indentation
 */
function* nodePieces(value: unknown, depth: number, isInList: boolean): Generator<string, void, undefined> {
  if (typeof value === 'string') return yield* textPieces(value, depth);
  if (typeof value !== 'object' || value === null || depth > indentedDepthMax)
    return yield ` ${quote(value)}`;
  const indent = '  '.repeat(depth);
  const lineEnd = `\n${indent}`;
  let begin = isInList ? ' ' : lineEnd;
  if (Array.isArray(value)) {
    if (value.length === 0) return yield ' []';
    for (const item of value) {
      yield `${begin}-`;
      begin = lineEnd;
      yield* nodePieces(item, depth + 1, true);
    }
    return;
  }
  const map = value as JsonObject;
  const keys = Object.keys(map).filter((key) => map[key] !== undefined);
  if (keys.length === 0) return yield ' {}';
  for (const key of keys.sort()) {
    yield `${begin}${writeKey(key, indent)}:`;
    begin = lineEnd;
    yield* nodePieces(map[key], depth + 1, false);
  }
}

function* textPieces(text: string, depth: number): Generator<string, void, undefined> {
  if (text.length <= textChars || isLiteral(text)) return yield ` ${writeText(text, depth)}`;
  yield ' "';
  for (let from = 0, end = 0; from < text.length; from = end) {
    end = Math.min(from + textChars, text.length);
    // Both halves of a character beyond 16 bits stay together: one alone is written in another way.
    if (end < text.length && /[\ud800-\udbff]/.test(text[end - 1]!)) end--;
    yield quote(text.slice(from, end)).slice(1, -1);
  }
  yield '"';
}

function writeKey(key: string, indent: string): string {
  const text = isPlain(key) ? key : quote(key);
  // Parsers look for the colon of a plain key on one line only; a long key needs a `?`.
  return text.length > keyCharsMax ? `? ${text}\n${indent}` : text;
}

function writeText(text: string, depth: number): string {
  if (isPlain(text)) return text;
  if (!isLiteral(text)) return quote(text);
  const chomp = text.endsWith('\n\n') ? '+' : text.endsWith('\n') ? '' : '-';
  const lines = (chomp === '-' ? text : text.slice(0, -1)).split('\n');
  const indent = '  '.repeat(Math.max(depth, 1));
  return `|${chomp}${lines.map((line) => (line ? `\n${indent}${line}` : '\n')).join('')}`;
}

/** Text that needs no quotes: begins with a letter, so it is neither number nor time, and has no YAML syntax. */
const PLAIN = /^[A-Za-z_/](?:[\w./@+=~-]|[: ](?=[\w/]))*$/;
/** Text that a block scalar would change: blanks at line ends, and all but common characters. Nor marks of direction. */
const NOT_LITERAL =
  /^[ \t\n]|[ \t](?:\n|$)|[^\t\n\x20-\x7e\u00a0-\u061b\u061d-\u200d\u2010-\u2027\u2030-\u2065\u206a-\ud7ff]/;

/** Whether a text with several lines can be written as a block, without escapes. */
const isLiteral = (text: string): boolean => text.includes('\n') && !NOT_LITERAL.test(text);

/** An exponent alone, such as `e0`: no number, but some readers take it for one. */
const EXPONENT = /^[eE][-+\d_.]*$/;

const isPlain = (text: string): boolean =>
  text.length <= keyCharsMax && PLAIN.test(text) && !EXPONENT.test(text) && !WORDS.has(text);

/** JSON is YAML, but for some characters that YAML wants escaped; marks of direction would show a text as another one. */
function quote(value: unknown): string {
  return (jsonText(value) ?? 'null').replace(
    /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufffe\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
