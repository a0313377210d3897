/** Reads an expression into its syntax tree. Texts of errors follow those of cel-go, whose grammar is made with ANTLR. */

import { bool, bytes, double, int, nullType, string, type Type, uint } from '../values/types.ts';
import { Uint, type Value } from '../values/values.ts';
import { intMax, type Token, tokenize } from './lexer.ts';
import { expandGlobal, expandMember } from './macros.ts';
import type { Issue } from './source.ts';
import type { ListNode, MapNode, Node, StructNode } from './syntax.ts';

/** Characters of an expression; cel-go has the same bound. */
const expressionCharsMax = 100_000;
/** Levels of expressions inside expressions; cel-go has the same bound. */
const depthMax = 250;
/** Commas of one list, map or call, plus operands of one `&&` or `||`. */
const itemsMax = 10_000;

/** Words that no variable may have as its name. */
export const isReserved = (name: string): boolean => reserved.has(name);

const reserved = new Set(
  'as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

const operandWanted =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";
const behindOperand =
  "{<EOF>, '==', '!=', 'in', '<', '<=', '>=', '>', '&&', '||', '[', '{', '.', '-', '?', '+', '*', '/', '%'}";

const relations = new Map([
  ['==', '_==_'],
  ['!=', '_!=_'],
  ['<', '_<_'],
  ['<=', '_<=_'],
  ['>', '_>_'],
  ['>=', '_>=_'],
  ['in', '@in'],
]);
const sums = new Map([
  ['+', '_+_'],
  ['-', '_-_'],
]);
const products = new Map([
  ['*', '_*_'],
  ['/', '_/_'],
  ['%', '_%_'],
]);

/** Parses an expression; undefined when there are syntax errors, which are added to `issues`. */
export function parse(source: string, issues: Issue[]): Node | undefined {
  if (source.length > expressionCharsMax) {
    const message = `expression code point size exceeds limit: size: ${source.length}, limit ${expressionCharsMax}`;
    issues.push({ at: 0, message });
    return undefined;
  }
  const tokens = tokenize(source, issues);
  try {
    const node = new Parser(tokens, issues).whole();
    return issues.length === 0 ? node : undefined;
  } catch (error) {
    if (!(error instanceof SyntaxIssue)) throw error;
    issues.push({ at: error.at, message: error.message });
    return undefined;
  }
}

class SyntaxIssue extends Error {
  readonly at: number;
  constructor(at: number, message: string) {
    super(message);
    this.at = at;
  }
}

class Parser {
  readonly #tokens: readonly Token[];
  readonly #issues: Issue[];
  #next = 0;
  #depth = 0;

  constructor(tokens: readonly Token[], issues: Issue[]) {
    this.#tokens = tokens;
    this.#issues = issues;
  }

  whole(): Node {
    const node = this.#expression();
    const token = this.#peek();
    if (token.kind !== 'end') {
      const expected = startsOperand(token) ? '<EOF>' : behindOperand;
      throw syntaxIssue(token, `extraneous input '${token.text}' expecting ${expected}`);
    }
    return node;
  }

  #expression(): Node {
    this.#depth++;
    if (this.#depth > depthMax) throw tooDeep(this.#peek().at);
    const condition = this.#logic('||');
    const question = this.#peek();
    let node = condition;
    if (this.#accept('?')) {
      const yes = this.#logic('||');
      this.#expect(':');
      const no = this.#expression();
      node = this.#call('_?_:_', [condition, yes, no], question.at);
    }
    this.#depth--;
    return node;
  }

  #logic(operator: '&&' | '||'): Node {
    const operand = (): Node => (operator === '||' ? this.#logic('&&') : this.#relation());
    const first = operand();
    const token = this.#peek();
    if (!this.#accept(operator)) return first;
    const terms = [first];
    do terms.push(operand());
    while (terms.length < itemsMax && this.#accept(operator));
    return this.#bounded({ kind: 'logic', operator, terms, at: token.at, height: above(terms) });
  }

  #relation(): Node {
    return this.#chain(relations, () => this.#chain(sums, () => this.#chain(products, () => this.#unary())));
  }

  /** Operators of one precedence, which group from the left. */
  #chain(operators: ReadonlyMap<string, string>, operand: () => Node): Node {
    let left = operand();
    for (;;) {
      const token = this.#peek();
      const name = token.kind === 'symbol' || token.text === 'in' ? operators.get(token.text) : undefined;
      if (name === undefined) return left;
      this.#next++;
      left = this.#call(name, [left, operand()], token.at);
    }
  }

  #unary(): Node {
    const token = this.#peek();
    if (token.kind !== 'symbol' || (token.text !== '!' && token.text !== '-')) return this.#member();
    this.#next++;
    const number = this.#peek();
    if (token.text === '-' && number.kind === 'number' && !(number.value instanceof Uint)) {
      this.#next++;
      return this.#postfix(this.#number(number, token.at, true));
    }
    this.#depth++;
    if (this.#depth > depthMax) throw tooDeep(token.at);
    const operand = this.#unary();
    this.#depth--;
    return this.#call(token.text === '!' ? '!_' : '-_', [operand], token.at);
  }

  #member(): Node {
    return this.#postfix(this.#primary());
  }

  #postfix(first: Node): Node {
    let node = first;
    for (;;) {
      const token = this.#peek();
      if (this.#accept('.')) node = this.#selection(node, token);
      else if (this.#accept('[')) {
        const optional = this.#accept('?');
        const index = this.#expression();
        this.#expect(']');
        node = this.#call(optional ? '_[?_]' : '_[_]', [node, index], token.at);
      } else if (token.text === '{' && token.kind === 'symbol' && chainName(node) !== undefined) {
        this.#next++;
        node = this.#struct(chainName(node) as string, token.at);
      } else return node;
    }
  }

  #selection(operand: Node, dot: Token): Node {
    const optional = this.#accept('?');
    const field = this.#peek();
    if (field.kind !== 'name' || isKeyword(field.text))
      throw new SyntaxIssue(field.at, "Syntax error: no viable alternative at input '.'");
    this.#next++;
    if (optional) {
      const name: Node = { kind: 'literal', value: field.text, literalType: string, at: field.at, height: 1 };
      return this.#call('_?._', [operand, name], dot.at);
    }
    const open = this.#peek();
    if (!this.#accept('('))
      return this.#bounded({
        kind: 'select',
        operand,
        field: field.text,
        test: false,
        at: dot.at,
        height: operand.height + 1,
      });
    const args = this.#arguments();
    const macro = expandMember(field.text, operand, args, open.at, this.#issues);
    if (macro !== undefined) return this.#bounded(macro);
    const height = above([operand, ...args]);
    return this.#bounded({ kind: 'call', name: field.text, target: operand, args, at: open.at, height });
  }

  #primary(): Node {
    const token = this.#peek();
    this.#next++;
    switch (token.kind) {
      case 'number':
        return this.#number(token, token.at, false);
      case 'string':
        return this.#literal(token, string);
      case 'bytes':
        return this.#literal(token, bytes);
      case 'name':
        return this.#name(token);
      case 'symbol':
        if (token.text === '(') {
          const inner = this.#expression();
          this.#expect(')');
          return inner;
        }
        if (token.text === '[') return this.#list(token.at);
        if (token.text === '{') return this.#map(token.at);
        if (token.text === '.' && this.#peek().kind === 'name') {
          this.#next++;
          return this.#name(this.#tokens[this.#next - 1] as Token);
        }
    }
    this.#next--;
    const following = this.#tokens[this.#next + 1];
    const extra = token.kind === 'symbol' && following !== undefined && startsOperand(following);
    throw syntaxIssue(
      token,
      `${extra ? 'extraneous' : 'mismatched'} input '${token.text}' expecting ${operandWanted}`,
    );
  }

  #name(token: Token): Node {
    const constant = constants.get(token.text);
    if (constant !== undefined)
      return { kind: 'literal', value: constant.value, literalType: constant.type, at: token.at, height: 1 };
    if (token.text === 'in') throw syntaxIssue(token, `mismatched input 'in' expecting ${operandWanted}`);
    if (reserved.has(token.text))
      this.#issues.push({ at: token.at, message: `reserved identifier: ${token.text}` });
    const open = this.#peek();
    if (!this.#accept('(')) return { kind: 'identifier', name: token.text, at: token.at, height: 1 };
    const args = this.#arguments();
    return expandGlobal(token.text, args, open.at, this.#issues) ?? this.#call(token.text, args, open.at);
  }

  #number(token: Token, at: number, negative: boolean): Node {
    const { value, problem } = token;
    if (problem !== undefined) this.#issues.push({ at, message: problem });
    const literal = (value: Value, literalType: Type): Node => ({
      kind: 'literal',
      value,
      literalType,
      at,
      height: 1,
    });
    if (value instanceof Uint) return literal(value, uint);
    if (typeof value === 'number') return literal(negative ? -value : value, double);
    const whole = typeof value === 'bigint' ? value : 0n;
    if (!negative && whole > intMax) this.#issues.push({ at, message: 'invalid int literal' });
    return literal(negative ? -whole : whole, int);
  }

  #literal(token: Token, literalType: Type): Node {
    if (token.problem !== undefined) this.#issues.push({ at: token.at, message: token.problem });
    return { kind: 'literal', value: token.value ?? '', literalType, at: token.at, height: 1 };
  }

  #arguments(): Node[] {
    return this.#items(')', () => this.#expression());
  }

  #list(at: number): Node {
    const elements: ListNode['elements'] = this.#items(']', () => {
      const optional = this.#accept('?');
      return { optional, value: this.#expression() };
    });
    return this.#bounded({ kind: 'list', elements, at, height: above(elements.map(({ value }) => value)) });
  }

  #map(at: number): Node {
    const entries: MapNode['entries'] = this.#items('}', () => {
      const optional = this.#accept('?');
      const key = this.#expression();
      this.#expect(':');
      return { optional, key, value: this.#expression() };
    });
    return this.#bounded({
      kind: 'map',
      entries,
      at,
      height: above(entries.flatMap(({ key, value }) => [key, value])),
    });
  }

  #struct(name: string, at: number): Node {
    const fields: StructNode['fields'] = this.#items('}', () => {
      const optional = this.#accept('?');
      const field = this.#peek();
      if (field.kind !== 'name')
        throw syntaxIssue(field, `mismatched input '${field.text}' expecting IDENTIFIER`);
      this.#next++;
      const colon = this.#peek();
      this.#expect(':');
      return { optional, name: field.text, value: this.#expression(), at: colon.at };
    });
    return this.#bounded({
      kind: 'struct',
      name,
      fields,
      at,
      height: above(fields.map(({ value }) => value)),
    });
  }

  /** Items up to the closing symbol; a comma may come before it, but not in the arguments of a call. */
  #items<T>(closing: string, read: () => T): T[] {
    const items: T[] = [];
    while ((closing === ')' && items.length > 0) || !this.#accept(closing)) {
      if (items.length >= itemsMax) throw new SyntaxIssue(this.#peek().at, `more than ${itemsMax} items`);
      items.push(read());
      if (this.#accept(',')) continue;
      this.#expect(closing);
      break;
    }
    return items;
  }

  #call(name: string, args: readonly Node[], at: number): Node {
    return this.#bounded({ kind: 'call', name, target: undefined, args, at, height: above(args) });
  }

  #bounded(node: Node): Node {
    if (node.height > depthMax) throw tooDeep(node.at);
    return node;
  }

  #peek(): Token {
    return this.#tokens[this.#next] as Token;
  }

  #accept(symbol: string): boolean {
    const token = this.#peek();
    if (token.kind !== 'symbol' || token.text !== symbol) return false;
    this.#next++;
    return true;
  }

  #expect(symbol: string): void {
    if (this.#accept(symbol)) return;
    const token = this.#peek();
    throw syntaxIssue(token, `missing '${symbol}' at '${token.text}'`);
  }
}

const constants = new Map<string, { value: Value; type: Type }>([
  ['true', { value: true, type: bool }],
  ['false', { value: false, type: bool }],
  ['null', { value: null, type: nullType }],
]);

const above = (nodes: readonly Node[]): number =>
  1 + nodes.reduce((most, { height }) => Math.max(most, height), 0);

/** `a.b.c`, when the node is a chain of names. */
export function chainName(node: Node): string | undefined {
  if (node.kind === 'identifier') return node.name;
  if (node.kind !== 'select' || node.test) return undefined;
  const operand = chainName(node.operand);
  return operand === undefined ? undefined : `${operand}.${node.field}`;
}

function isKeyword(text: string): boolean {
  return text === 'in' || constants.has(text);
}

function startsOperand(token: Token): boolean {
  if (token.kind === 'symbol') return '([{-!.'.includes(token.text);
  return token.kind !== 'end' && token.text !== 'in';
}

function syntaxIssue(token: Token, message: string): SyntaxIssue {
  return new SyntaxIssue(token.at, `Syntax error: ${message}`);
}

function tooDeep(at: number): SyntaxIssue {
  return new SyntaxIssue(at, `expression recursion limit exceeded: ${depthMax}`);
}
