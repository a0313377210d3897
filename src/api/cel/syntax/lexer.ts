/** Splits an expression into tokens. */

import { Uint } from '../values/values.ts';
import type { Issue } from './source.ts';

export interface Token {
  readonly kind: 'name' | 'number' | 'string' | 'bytes' | 'symbol' | 'end';
  readonly text: string;
  readonly at: number;
  /** The value of a literal. */
  readonly value?: bigint | number | Uint | string | Uint8Array;
  /** A literal that is out of range, or has a bad escape. */
  readonly problem?: string;
}

export const intMin = -(2n ** 63n);
export const intMax = 2n ** 63n - 1n;
export const uintMax = 2n ** 64n - 1n;

const blank = /(?:[ \t\r\n\f]+|\/\/[^\n]*)+/y;
const name = /[A-Za-z_][A-Za-z0-9_]*/y;
const float = /(?:[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)/y;
const integer = /(?:0x[0-9a-fA-F]+|[0-9]+)[uU]?/y;
const symbol = /==|!=|<=|>=|&&|\|\||[-+*/%<>!?:.,()[\]{}]/y;
const stringStart = /(?:[bB][rR]?|[rR][bB]?)?(?:"""|'''|"|')/y;
/** The start of an operator that lacks its second half, with the character that is not it. */
const halfOperator = /[=&|].?/sy;

/** What stands for a character behind a backslash; quotes and backslashes stand for themselves. */
export const simpleEscapes: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
};

/** Ends with a token of kind `end`. Text that is no token is skipped and told in `issues`. */
export function tokenize(source: string, issues: Issue[]): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  const match = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    return pattern.exec(source)?.[0];
  };
  for (;;) {
    at += match(blank)?.length ?? 0;
    if (at >= source.length) break;
    const quoted = match(stringStart);
    if (quoted !== undefined) {
      const end = stringEnd(source, at, quoted);
      if (end === undefined) {
        const rest = unterminated(source, at, quoted);
        issues.push({ at, message: `Syntax error: token recognition error at: '${escaped(rest)}'` });
        at += rest.length;
      } else {
        tokens.push(stringToken(source.slice(at, end), at, quoted));
        at = end;
      }
      continue;
    }
    const token = plainToken(at, match(name), match(float), match(integer), match(symbol));
    if (token === undefined) {
      const unknown = match(halfOperator) ?? String.fromCodePoint(source.codePointAt(at) ?? 0);
      issues.push({ at, message: `Syntax error: token recognition error at: '${escaped(unknown)}'` });
      at += unknown.length;
    } else {
      tokens.push(token);
      at += token.text.length;
    }
  }
  tokens.push({ kind: 'end', text: '<EOF>', at: source.length });
  return tokens;
}

function plainToken(
  at: number,
  nameText: string | undefined,
  floatText: string | undefined,
  integerText: string | undefined,
  symbolText: string | undefined,
): Token | undefined {
  if (nameText !== undefined) return { kind: 'name', text: nameText, at };
  if (floatText !== undefined) return { kind: 'number', text: floatText, at, value: Number(floatText) };
  if (integerText !== undefined) return integerToken(integerText, at);
  return symbolText === undefined ? undefined : { kind: 'symbol', text: symbolText, at };
}

function integerToken(text: string, at: number): Token {
  const unsigned = /[uU]$/.test(text);
  const digits = unsigned ? text.slice(0, -1) : text;
  // Checked before BigInt sees it: conversion takes time quadratic in the number of digits.
  if (digits.length > 40)
    return { kind: 'number', text, at, value: 0n, problem: `invalid ${unsigned ? 'uint' : 'int'} literal` };
  const value = BigInt(digits);
  if (unsigned) {
    if (value > uintMax) return { kind: 'number', text, at, value: 0n, problem: 'invalid uint literal' };
    return { kind: 'number', text, at, value: new Uint(value) };
  }
  // One more than the largest int is fine behind a minus; the parser checks.
  if (value > intMax + 1n) return { kind: 'number', text, at, value: 0n, problem: 'invalid int literal' };
  return { kind: 'number', text, at, value };
}

/** The position behind the closing quote. */
function stringEnd(source: string, start: number, opening: string): number | undefined {
  const quote = opening.replace(/^[bBrR]+/, '');
  const raw = /[rR]/.test(opening);
  for (let at = start + opening.length; at < source.length; at++) {
    const character = source[at];
    if (source.startsWith(quote, at)) return at + quote.length;
    if (character === '\\' && !raw) at++;
    else if ((character === '\n' || character === '\r') && quote.length === 1) return undefined;
  }
  return undefined;
}

function unterminated(source: string, start: number, opening: string): string {
  if (opening.length >= 3 && /"""|'''/.test(opening)) return source.slice(start);
  const lineEnd = source.slice(start).search(/[\r\n]/);
  return lineEnd < 0 ? source.slice(start) : source.slice(start, start + lineEnd + 1);
}

function escaped(text: string): string {
  return text.replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t');
}

function stringToken(text: string, at: number, opening: string): Token {
  const quoteLength = opening.replace(/^[bBrR]+/, '').length;
  const inner = text.slice(opening.length, -quoteLength);
  const isBytes = /[bB]/.test(opening);
  const kind = isBytes ? 'bytes' : 'string';
  const content = /[rR]/.test(opening) ? encodeRaw(inner, isBytes) : unescaped(inner, isBytes);
  if (content === undefined)
    return { kind, text, at, value: '', problem: `invalid ${kind} literal: unable to unescape string` };
  return { kind, text, at, value: content };
}

function encodeRaw(text: string, isBytes: boolean): string | Uint8Array {
  return isBytes ? new TextEncoder().encode(text) : text;
}

const escapeSequence =
  /\\(?:x([0-9a-fA-F]{2})|X([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|([abfnrtv])|([\\'"`?]))/y;

/** The value of a literal with escapes; undefined when an escape is invalid. */
function unescaped(text: string, isBytes: boolean): string | Uint8Array | undefined {
  if (!text.includes('\\')) return encodeRaw(text, isBytes);
  let out = '';
  const bytes: number[] = [];
  for (let at = 0; at < text.length; ) {
    if (text[at] !== '\\') {
      const next = text.indexOf('\\', at);
      const plain = text.slice(at, next < 0 ? text.length : next);
      if (isBytes) for (const byte of new TextEncoder().encode(plain)) bytes.push(byte);
      else out += plain;
      at += plain.length;
      continue;
    }
    escapeSequence.lastIndex = at;
    const found = escapeSequence.exec(text);
    if (found === null) return undefined;
    at += found[0].length;
    const hexadecimal = found[1] ?? found[2];
    const unicode = found[3] ?? found[4];
    const number = hexadecimal ?? unicode;
    if (number !== undefined || found[5] !== undefined) {
      const code =
        number === undefined ? Number.parseInt(found[5] as string, 8) : Number.parseInt(number, 16);
      if (isBytes && unicode === undefined) bytes.push(code);
      else if (isBytes || code > 0x10_ff_ff || (code >= 0xd8_00 && code <= 0xdf_ff)) return undefined;
      else out += String.fromCodePoint(code);
      continue;
    }
    const character = simpleEscapes[found[6] ?? ''] ?? found[7] ?? '';
    if (isBytes) bytes.push(character.charCodeAt(0));
    else out += character;
  }
  return isBytes ? Uint8Array.from(bytes) : out;
}
