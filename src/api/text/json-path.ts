/**
 * JSONPath as kubectl and printer columns write it: `.spec.list[0].name`, `.a['b\.c']`, `[*]`, `[]` for the first, `[1:3]`,
 * `[-1]`, `[0,2]`, `..name` and filters such as `[?(@.type=="Ready")]`. A key that is missing gives no value and no error;
 * a position that is missing, or one of a value that is no list, leaves the whole path without a value.
 */
import { isJsonObject, type JsonObject } from './object.ts';

/** Values that one step may produce; the rest is dropped. */
const valuesMax = 10_000;
/** Characters of a path. */
const pathCharsMax = 4096;

type Step = (values: readonly unknown[]) => unknown[];

/** A parsed path. */
export interface JsonPath {
  /** All values that the path leads to; none if it cannot be followed. */
  find(value: unknown): unknown[];
}

export class JsonPathError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'JsonPathError';
  }
}

/** Parses a path, which may be in braces: `{.spec.size}`. */
export function parseJsonPath(source: string): JsonPath {
  const text = source.startsWith('{') && source.endsWith('}') ? source.slice(1, -1) : source;
  if (text.length > pathCharsMax) throw new JsonPathError('the path is too long');
  const steps = new Parser(text).steps();
  return { find: (value) => find(steps, value) };
}

/** What a step throws when the path cannot be followed in this object. */
class DeadEnd extends Error {}

function find(steps: readonly Step[], value: unknown): unknown[] {
  try {
    return follow(steps, [value]);
  } catch (error) {
    if (error instanceof DeadEnd) return [];
    throw error;
  }
}

const follow = (steps: readonly Step[], from: readonly unknown[]): unknown[] =>
  steps.reduce<unknown[]>((values, step) => step(values), [...from]);

class Parser {
  #at = 0;

  constructor(private readonly text: string) {}

  steps(): Step[] {
    const steps: Step[] = [];
    if (this.#peek() === '$' || this.#peek() === '@') this.#at++;
    while (this.#at < this.text.length) steps.push(this.#step());
    return steps;
  }

  #peek(): string {
    return this.text[this.#at] ?? '';
  }

  #step(): Step {
    const char = this.#peek();
    if (char === '[') return this.#bracket();
    if (char !== '.') throw new JsonPathError(`unexpected ${JSON.stringify(char)} at ${this.#at}`);
    this.#at++;
    if (this.#peek() === '.') {
      this.#at++;
      if (this.#peek() === '[') return (values) => everyLevel(values);
      const inner = this.#name();
      return (values) => inner(everyLevel(values));
    }
    // `.[0]` is the same as `[0]`; a dot alone is the value itself.
    if (this.#peek() === '[') return this.#bracket();
    if (this.#at === this.text.length) return (values) => [...values];
    return this.#name();
  }

  #name(): Step {
    let name = '';
    for (; this.#at < this.text.length; this.#at++) {
      const char = this.text[this.#at]!;
      if (char === '.' || char === '[') break;
      // A backslash takes the next character as it is: `.metadata.annotations.example\.com/a`.
      if (char === '\\' && this.#at + 1 < this.text.length) this.#at++;
      else if (/[\s{}\]]/.test(char)) throw new JsonPathError(`unexpected ${JSON.stringify(char)}`);
      name += this.text[this.#at];
    }
    if (name === '') throw new JsonPathError('a name is missing');
    return name === '*' ? members : named(name);
  }

  #bracket(): Step {
    const start = this.#at + 1;
    let quote = '';
    let depth = 0;
    for (let at = start; at < this.text.length; at++) {
      const char = this.text[at]!;
      if (quote) {
        if (char === '\\') at++;
        else if (char === quote) quote = '';
      } else if (char === '"' || char === "'") quote = char;
      else if (char === '[') depth++;
      else if (char === ']' && depth-- === 0) {
        this.#at = at + 1;
        return bracketStep(this.text.slice(start, at).trim());
      }
    }
    throw new JsonPathError('unterminated array');
  }
}

function bracketStep(inner: string): Step {
  if (inner === '*') return members;
  const filter = /^\?\((.*)\)$/s.exec(inner);
  if (filter) return filterStep(filter[1]!.trim());
  const parts = inner.split(',').map((part) => elementStep(part.trim()));
  return parts.length === 1 ? parts[0]! : (values) => union(parts, values);
}

function union(parts: readonly Step[], values: readonly unknown[]): unknown[] {
  const found: unknown[] = [];
  for (const part of parts) if (found.length < valuesMax) found.push(...part(values));
  return bounded(found);
}

/** A position, a range or a key in single quotes. */
function elementStep(text: string): Step {
  const slice = /^(-?\d+)?:(-?\d+)?(?::(\d+))?$/.exec(text);
  if (slice) return sliceStep(slice[1], slice[2], slice[3]);
  if (/^(-?\d+)?$/.test(text)) return positionStep(Number(text));
  const key = /^'([^']*)'$/.exec(text)?.[1];
  if (key === undefined) throw new JsonPathError(`invalid array index ${text}`);
  // A key is read as a path: a dot in it needs a backslash, as outside of quotes.
  const steps = new Parser(`.${key}`).steps();
  return (values) => follow(steps, values);
}

function unquoted(text: string): string | undefined {
  const quote = text[0];
  if ((quote !== "'" && quote !== '"') || text.length < 2 || !text.endsWith(quote)) return undefined;
  return text.slice(1, -1).replace(/\\(.)/gs, '$1');
}

function bounded(values: unknown[]): unknown[] {
  return values.length > valuesMax ? values.slice(0, valuesMax) : values;
}

const members: Step = (values) =>
  bounded(
    values.flatMap((value) =>
      Array.isArray(value)
        ? value
        : isJsonObject(value)
          ? Object.keys(value)
              .sort()
              .map((key) => value[key])
          : [],
    ),
  );

const named =
  (name: string): Step =>
  (values) =>
    values.flatMap((value) => (isJsonObject(value) && Object.hasOwn(value, name) ? [value[name]] : []));

function positionStep(position: number): Step {
  return (values) =>
    lists(values).map((list) => {
      const at = position < 0 ? list.length + position : position;
      if (at < 0 || at >= list.length) throw new DeadEnd();
      return list[at];
    });
}

function sliceStep(from: string | undefined, to: string | undefined, every: string | undefined): Step {
  const step = every === undefined ? 1 : Number(every);
  if (step < 1) throw new JsonPathError('the step must be positive');
  return (values) =>
    bounded(
      lists(values).flatMap((list) =>
        list
          .slice(from === undefined ? 0 : Number(from), to === undefined ? undefined : Number(to))
          .filter((_, i) => i % step === 0),
      ),
    );
}

/** The values as lists; nulls are passed over. */
function lists(values: readonly unknown[]): unknown[][] {
  const found = values.filter((value) => value !== null);
  if (!found.every((value) => Array.isArray(value))) throw new DeadEnd();
  return found as unknown[][];
}

/** The values, and everything in them. */
function everyLevel(values: readonly unknown[]): unknown[] {
  const found: unknown[] = [];
  const open = [...values].reverse();
  while (open.length && found.length < valuesMax) {
    const value = open.pop();
    found.push(value);
    if (typeof value === 'object' && value !== null) open.push(...members([value]).reverse());
  }
  return found;
}

// Filters

type Operand = (item: unknown) => unknown;

/** `@.a == "b"`, `@.a > 3` or `@.a`, which asks whether there is one. */
function filterStep(text: string): Step {
  const [left, operator, right] = splitComparison(text);
  const of = operand(left);
  const test: (item: unknown) => boolean =
    operator === undefined ? (item) => of(item) !== undefined : comparison(of, operator, operand(right!));
  return (values) => bounded(values.flatMap((value) => (Array.isArray(value) ? value.filter(test) : [])));
}

function splitComparison(text: string): [left: string, operator?: string, right?: string] {
  let quote = '';
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if (quote) {
      if (char === '\\') at++;
      else if (char === quote) quote = '';
    } else if (char === '"' || char === "'") quote = char;
    else if (char === '[' || char === '(') depth++;
    else if (char === ']' || char === ')') depth--;
    else if (depth === 0) {
      const operator = /^(?:==|!=|<=|>=|<|>)/.exec(text.slice(at, at + 2))?.[0];
      if (operator) return [text.slice(0, at).trim(), operator, text.slice(at + operator.length).trim()];
    }
  }
  return [text];
}

function operand(text: string): Operand {
  const quoted = unquoted(text);
  if (quoted !== undefined) return () => quoted;
  if (text === 'true' || text === 'false') return () => text === 'true';
  if (/^-?\d+(\.\d+)?$/.test(text)) return () => Number(text);
  // A word without quotes can be read, and compared with nothing.
  if (/^[\p{L}_]/u.test(text))
    return () => {
      throw new DeadEnd();
    };
  if (!/^[@$.]/.test(text)) throw new JsonPathError(`unrecognized character in filter: ${text}`);
  const path = parseJsonPath(text.startsWith('.') ? `@${text}` : text);
  return (item) => path.find(item)[0];
}

function comparison(left: Operand, operator: string, right: Operand): (item: unknown) => boolean {
  return (item) => {
    const [a, b] = [left(item), right(item)];
    if (a === undefined || b === undefined) return false;
    if (operator === '==') return a === b;
    if (operator === '!=') return a !== b;
    if (typeof a !== typeof b || (typeof a !== 'number' && typeof a !== 'string')) return false;
    const [x, y] = [a as number, b as number];
    if (operator === '<') return x < y;
    if (operator === '<=') return x <= y;
    return operator === '>' ? x > y : x >= y;
  };
}

/** The value at a path of names; undefined when one of them is missing. */
export function valueAt(object: unknown, names: readonly string[]): unknown {
  let value = object;
  for (const name of names) {
    if (!isJsonObject(value) || !Object.hasOwn(value, name)) return undefined;
    value = (value as JsonObject)[name];
  }
  return value;
}
