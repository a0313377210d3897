/**
 * Regular expressions as Go reads them (RE2 syntax), for patterns that come from clients.
 *
 * Most patterns run on the native engine, which is several times faster: those in the syntax both engines share
 * (`native-regexp.ts`), on texts short enough that even the worst backtracking stays under `nativeStepsMax`. All others
 * run on re2js, in time linear in the text. It is loaded with the first pattern that needs it.
 */
import { createRequire } from 'node:module';
import type { RE2JS } from 're2js';
import { nativeForm } from './native-regexp.ts';

/** A longer pattern is refused; Go has no such bound, but a bound on the size of the compiled program. */
const patternLengthMax = 65_536;

/** Instructions of a compiled pattern: matching takes time in proportion to it. */
const programSizeMax = 100_000;

/** Worst case of backtracking, in steps, up to which a text is matched by the native engine. */
const nativeStepsMax = 300_000;

/** Compiled patterns that are kept, because rules may make patterns from values while they run. */
const cachedMax = 500;

export interface GoRegexp {
  readonly pattern: string;
  /** About how many instructions it is made of. */
  readonly size: number;
  /** Whether the pattern matches anywhere in the text. */
  test(text: string): boolean;
  /** The first match. */
  find(text: string): string | undefined;
  /** Matches that do not overlap, from the left, at most `limit` of them. */
  findAll(text: string, limit?: number): string[];
}

/** The message is Go's: "error parsing regexp: missing closing ]: `[a-`". */
export class RegexpError extends Error {
  override readonly name = 'RegexpError';
}

const require = createRequire(import.meta.url);
const cache = new Map<string, GoRegexp>();

/**
 * Throws a RegexpError when Go would refuse the pattern.
 *
 * @param compiling called with its size before a pattern is compiled that is not known yet; may throw
 */
export function compileRegexp(pattern: string, compiling?: (size: number) => void): GoRegexp {
  const known = cache.get(pattern);
  if (known !== undefined) return known;
  const size = expandedSize(pattern);
  compiling?.(size);
  const compiled = new Pattern(pattern, size);
  if (cache.size >= cachedMax) cache.delete(cache.keys().next().value ?? '');
  cache.set(pattern, compiled);
  return compiled;
}

class Pattern implements GoRegexp {
  readonly pattern: string;
  readonly #native: RegExp | undefined;
  /** The longest text that the native engine may be given. */
  readonly #nativeLengthMax: number = -1;
  #linear: RE2JS | undefined;

  constructor(
    pattern: string,
    readonly size: number,
  ) {
    this.pattern = pattern;
    const native = pattern.length > patternLengthMax ? undefined : nativeForm(pattern);
    if (native === undefined) {
      this.#linear = compileLinear(pattern, size);
    } else {
      this.#native = new RegExp(native.source, 'gu');
      const { choices, steps, degree } = native;
      this.#nativeLengthMax = (nativeStepsMax / (choices * steps)) ** (1 / Math.max(degree, 1)) - 1;
      if (degree === 0)
        this.#nativeLengthMax = choices * steps <= nativeStepsMax ? Number.POSITIVE_INFINITY : -1;
    }
  }

  test(text: string): boolean {
    const native = this.#nativeFor(text);
    return native === undefined ? this.#linearEngine().test(text) : native.test(text);
  }

  find(text: string): string | undefined {
    return this.findAll(text, 1)[0];
  }

  findAll(text: string, limit = Number.POSITIVE_INFINITY): string[] {
    const native = this.#nativeFor(text);
    if (native !== undefined) return nativeMatches(native, text, limit);
    if (limit <= 0) return [];
    const found: string[] | null = this.#linearEngine()
      .re2()
      .findAll(text, limit === Number.POSITIVE_INFINITY ? -1 : limit);
    return found ?? [];
  }

  #nativeFor(text: string): RegExp | undefined {
    if (this.#native === undefined || text.length > this.#nativeLengthMax) return undefined;
    this.#native.lastIndex = 0;
    return this.#native;
  }

  #linearEngine(): RE2JS {
    this.#linear ??= compileLinear(this.pattern, this.size);
    return this.#linear;
  }
}

/** As Go finds them: an empty match right behind the one before does not count. */
function nativeMatches(expression: RegExp, text: string, limit: number): string[] {
  const found: string[] = [];
  let end = -1;
  while (found.length < limit) {
    const match = expression.exec(text);
    if (match === null) break;
    if (match[0] !== '' || match.index !== end) found.push(match[0]);
    end = match.index + match[0].length;
    if (match[0] !== '') continue;
    // Step over one character, which may be a surrogate pair.
    expression.lastIndex = end + ((text.codePointAt(end) ?? 0) > 0xff_ff ? 2 : 1);
    if (expression.lastIndex > text.length) break;
  }
  return found;
}

function compileLinear(pattern: string, size: number): RE2JS {
  if (pattern.length > patternLengthMax || size > programSizeMax)
    throw new RegexpError('error parsing regexp: expression too large');
  const engine = require('re2js') as typeof import('re2js');
  let compiled: RE2JS;
  try {
    compiled = engine.RE2JS.compile(pattern);
  } catch (error) {
    const text = error instanceof Error ? error.message : '';
    throw new RegexpError(
      text.startsWith('error parsing regexp: ') ? text : 'error parsing regexp: expression too large',
    );
  }
  if (compiled.programSize() > programSizeMax)
    throw new RegexpError('error parsing regexp: expression too large');
  return compiled;
}

/**
 * About how many instructions a pattern becomes, with repeated parts counted as often as they are repeated. Known before
 * it is compiled, because compiling a program of a million instructions takes a second.
 */
function expandedSize(pattern: string): number {
  /** Sizes around the groups that are open, innermost last; `last` is the size of what a repetition would repeat. */
  const around: number[] = [];
  let size = 0;
  let last = 0;
  for (let at = 0; at < pattern.length && size <= programSizeMax; at++) {
    const character = pattern[at];
    repeatCount.lastIndex = at;
    const count = character === '{' ? repeatCount.exec(pattern) : null;
    if (character === '(') {
      around.push(size);
      size = 0;
      last = 0;
    } else if (character === ')') {
      last = size;
      size += around.pop() ?? 0;
    } else if (count !== null) {
      const times = Math.max(Number(count[1]), Number(count[2] || count[1]));
      size += last * Math.max(0, times - 1);
      last *= times;
      at += count[0].length - 1;
    } else {
      size++;
      last = 1;
      if (character === '\\') at++;
      else if (character === '[') at = classEnd(pattern, at);
    }
  }
  return around.reduce((sum, part) => sum + part, size);
}

const repeatCount = /\{(\d{1,4})(?:,(\d{0,4}))?\}/y;

/** The position of the bracket that closes a class; one right at its beginning is part of it. */
function classEnd(pattern: string, start: number): number {
  let at = start + 1;
  if (pattern[at] === '^') at++;
  if (pattern[at] === ']') at++;
  while (at < pattern.length && pattern[at] !== ']') at += pattern[at] === '\\' ? 2 : 1;
  return at;
}
