/**
 * Translates patterns of Go to JavaScript, where both engines agree on their meaning, and tells how many ways of matching
 * a backtracking engine may have to try: `choices * (length of the text + 1) ** degree`, each of `steps` steps.
 *
 * Whatever is unusual (flags, named groups, POSIX classes, lazy or nested repetition, …) is not translated, nor is
 * anything that Go might refuse, so that errors are always those of the engine that knows Go's texts.
 */

export interface NativeForm {
  source: string;
  choices: number;
  degree: number;
  steps: number;
}

/** What one part of a pattern may cost, as in NativeForm; `size` counts its atoms, repeated ones as often as they are. */
interface Cost {
  choices: number;
  degree: number;
  size: number;
  /** How many atoms the longest way has: `a{1000}` is tried at every place of a text, and reads a thousand characters. */
  steps: number;
}

/** A larger pattern is left to the other engine, which has a bound of its own. */
const sizeMax = 5000;

/** Groups within groups; more is left to the other engine. */
const depthMax = 20;

const single: Cost = { choices: 1, degree: 0, size: 1, steps: 1 };
const nothing: Cost = { choices: 1, degree: 0, size: 0, steps: 0 };
const perlClasses: Record<string, string> = { d: '0-9', w: '0-9A-Za-z_', s: '\\t\\n\\f\\r ' };
const controls: Record<string, string> = { n: '\\n', t: '\\t', r: '\\r', f: '\\f', v: '\\v' };
const punctuation = /^[!-/:-@[-`{-~]$/;
const repeatCount = /\{(\d{1,4})(?:(,)(\d{0,4}))?\}/y;

/** Undefined for patterns that must run on the other engine. */
export function nativeForm(pattern: string): NativeForm | undefined {
  const reader = new Reader(pattern);
  try {
    const cost = reader.alternatives(0);
    if (!reader.atEnd() || cost.size > sizeMax) return undefined;
    // Anchored by its first character, a pattern is tried at one place of the text; otherwise at all.
    const anchored = pattern.startsWith('^') && !reader.topAlternatives;
    const { choices, degree, steps } = cost;
    return { source: reader.source, choices, degree: degree + (anchored ? 0 : 1), steps: Math.max(steps, 1) };
  } catch (error) {
    if (error instanceof Unusual) return undefined;
    throw error;
  }
}

class Unusual extends Error {}

class Reader {
  source = '';
  /** Whether there is a `|` outside of groups. */
  topAlternatives = false;
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    // Characters beyond the basic plane would need care with surrogates in classes.
    if (/[\ud800-\udfff]/.test(text)) throw new Unusual();
    this.#text = text;
  }

  atEnd(): boolean {
    return this.#at === this.#text.length;
  }

  alternatives(depth: number): Cost {
    if (depth > depthMax) throw new Unusual();
    let cost = this.#sequence(depth);
    while (this.#text[this.#at] === '|') {
      this.#at++;
      this.source += '|';
      if (depth === 0) this.topAlternatives = true;
      const other = this.#sequence(depth);
      cost = {
        choices: cost.choices + other.choices,
        degree: Math.max(cost.degree, other.degree),
        size: cost.size + other.size,
        steps: Math.max(cost.steps, other.steps),
      };
    }
    return cost;
  }

  #sequence(depth: number): Cost {
    let cost = nothing;
    for (;;) {
      const next = this.#text[this.#at];
      if (next === undefined || next === '|' || next === ')') return cost;
      const part = this.#repetition(this.#atom(next, depth), next === '^' || next === '$');
      cost = {
        choices: cost.choices * part.choices,
        degree: cost.degree + part.degree,
        size: cost.size + part.size,
        steps: cost.steps + part.steps,
      };
    }
  }

  #repetition(cost: Cost, anchor: boolean): Cost {
    const operator = this.#text[this.#at];
    if (operator !== '*' && operator !== '+' && operator !== '?' && operator !== '{') return cost;
    let written = operator;
    let bounds: { least: number; most: number };
    if (operator === '{') {
      repeatCount.lastIndex = this.#at;
      const count = repeatCount.exec(this.#text);
      if (count === null) throw new Unusual();
      written = count[0];
      const least = Number(count[1]);
      const open = count[2] !== undefined && count[3] === '';
      bounds = { least, most: open ? Number.POSITIVE_INFINITY : Number(count[3] ?? count[1]) };
      // Go refuses these, or counts them in a way of its own.
      if (least > 1000 || bounds.most < least || (bounds.most > 1000 && !open)) throw new Unusual();
    } else {
      bounds = { least: operator === '+' ? 1 : 0, most: operator === '?' ? 1 : Number.POSITIVE_INFINITY };
    }
    this.#at += written.length;
    const next = this.#text[this.#at];
    const again = next === '*' || next === '+' || next === '?' || next === '{';
    if (anchor || again) throw new Unusual();
    this.source += written;
    if (bounds.most <= 1) return { ...cost, choices: cost.choices + 1 };
    // Repeating what has choices of its own is exponential.
    if (cost.choices > 1 || cost.degree > 0) throw new Unusual();
    const { most, least } = bounds;
    const times = most === Number.POSITIVE_INFINITY ? least + 1 : most;
    const repeated = { size: cost.size * times, steps: cost.steps * times };
    return most === Number.POSITIVE_INFINITY
      ? { ...repeated, choices: 1, degree: 1 }
      : { ...repeated, choices: most - least + 1, degree: 0 };
  }

  #atom(first: string, depth: number): Cost {
    this.#at++;
    switch (first) {
      case '(': {
        if (this.#text[this.#at] === '?') {
          if (this.#text[this.#at + 1] !== ':') throw new Unusual();
          this.#at += 2;
        }
        this.source += '(?:';
        const cost = this.alternatives(depth + 1);
        if (this.#text[this.#at] !== ')') throw new Unusual();
        this.#at++;
        this.source += ')';
        return cost;
      }
      case '[':
        this.#class();
        return single;
      case '.':
        this.source += '[^\\n]';
        return single;
      case '^':
      case '$':
        this.source += first;
        return single;
      case '\\':
        this.source += this.#escaped(false);
        return single;
      case '*':
      case '+':
      case '?':
      case '{':
      case '}':
      case ']':
        throw new Unusual();
      default:
        this.source += first === '/' ? '\\/' : first;
        return single;
    }
  }

  #escaped(inClass: boolean): string {
    const next = this.#text[this.#at++];
    if (next === undefined) throw new Unusual();
    const perl = perlClasses[next];
    if (perl !== undefined) return inClass ? perl : `[${perl}]`;
    const negated = perlClasses[next.toLowerCase()];
    if (negated !== undefined && !inClass) return `[^${negated}]`;
    const control = controls[next];
    if (control !== undefined) return control;
    if (!punctuation.test(next)) throw new Unusual();
    return literal(next);
  }

  #class(): void {
    this.source += '[';
    if (this.#text[this.#at] === '^') {
      this.#at++;
      this.source += '^';
    }
    let first = true;
    for (; ; first = false) {
      const next = this.#text[this.#at];
      if (next === undefined || next === '[' || (next === ']' && first)) throw new Unusual();
      if (next === ']') break;
      const from = this.#classMember();
      const ranged = this.#text[this.#at] === '-' && this.#text[this.#at + 1] !== ']';
      if (!ranged) {
        this.source += from;
        continue;
      }
      this.#at++;
      const until = this.#classMember();
      if (codePoint(from) > codePoint(until)) throw new Unusual();
      this.source += `${from}-${until}`;
    }
    this.#at++;
    this.source += ']';
  }

  #classMember(): string {
    const next = this.#text[this.#at++];
    if (next === undefined || next === '[') throw new Unusual();
    return next === '\\' ? this.#escaped(true) : literal(next);
  }
}

/** With the flag `u`, JavaScript allows a backslash before these only, and `-` in classes. */
function literal(character: string): string {
  if (character === '-') return '\\x2d';
  return /[\^$\\.*+?()[\]{}|/]/.test(character) ? `\\${character}` : character;
}

/** The end of a range must be one character, not a class such as `\d`, which Go refuses there or takes otherwise. */
function codePoint(member: string): number {
  if (member === '\\x2d') return 0x2d;
  if (member.length === 1) return member.charCodeAt(0);
  if (member.length === 2 && member[0] === '\\' && punctuation.test(member.charAt(1)))
    return member.charCodeAt(1);
  throw new Unusual();
}
