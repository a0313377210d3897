/**
 * Estimates the maximum cost of an expression before it runs, from the sizes that schemas allow. The model is exactly
 * that of cel-go with Kubernetes' additions: definitions are accepted or refused by it.
 */
import { type CallCost, callCost, type Operand, sorting } from './call-cost.ts';
import type { DeclaredSize } from './declared-size.ts';
import type { Call, ListNode, Macro, MapNode, Node, Select } from './syntax/syntax.ts';
import { exactly, product, type SizeRange, unionOf, unknownSize } from './values/size-range.ts';
import type { Type } from './values/types.ts';
import { ValuePath } from './values/value-path.ts';
import { sizeOf } from './values/values.ts';

/** Steps to make a list, a map or an object. */
const listSteps = 10;
const mapSteps = 30;
const objectSteps = 40;

export function estimateCost(node: Node, declaredSize: DeclaredSize): number {
  return new Estimator(declaredSize).cost(node);
}

/** The sizes of the entries of a list or map that the expression makes. */
interface EntrySize {
  readonly container: 'list' | 'map';
  readonly key: SizeRange;
  readonly value: SizeRange;
}

/** A variable of a macro. */
interface Local {
  readonly path: ValuePath | undefined;
  readonly size: SizeRange | undefined;
}

class Estimator {
  readonly #declaredSize: DeclaredSize;
  readonly #locals = new Map<string, Local[]>();
  /** The paths of the nodes that were visited. */
  readonly #paths = new Map<Node, ValuePath>();
  readonly #sizes = new Map<Node, SizeRange>();
  readonly #entries = new Map<Node, EntrySize>();

  constructor(declaredSize: DeclaredSize) {
    this.#declaredSize = declaredSize;
  }

  cost(node: Node): number {
    switch (node.kind) {
      case 'literal':
        return 0;
      case 'identifier':
        if (!this.#local(node.name)) this.#paths.set(node, ValuePath.of(node.name));
        return 1;
      case 'select':
        return this.#selectCost(node);
      case 'call':
        return this.#callCost(node);
      case 'logic':
        return this.#sum(node.terms);
      case 'list':
        return this.#listCost(node);
      case 'map':
        return this.#mapCost(node);
      case 'struct':
        return objectSteps + this.#sum(node.fields.map(({ value }) => value));
      case 'macro':
        return this.#macroCost(node);
    }
  }

  #sum(nodes: readonly Node[]): number {
    return nodes.reduce((sum, node) => sum + this.#costWithSize(node), 0);
  }

  #selectCost(node: Select): number {
    if (node.qualified !== undefined) {
      this.#paths.set(node, ValuePath.of(node.qualified.name));
      return 1;
    }
    const cost = this.cost(node.operand);
    if (node.test) return cost;
    this.#paths.set(node, ValuePath.step(this.#path(node.operand), node.field));
    const kind = node.operand.type?.kind;
    return cost + (kind === 'map' || kind === 'object' || kind === 'parameter' ? 1 : 0);
  }

  #listCost(node: ListNode): number {
    const values = node.elements.map(({ value }) => value);
    const cost = listSteps + this.#sum(values);
    this.#entries.set(node, { container: 'list', key: exactly(1), value: this.#either(values) });
    return cost;
  }

  #mapCost(node: MapNode): number {
    const cost = mapSteps + this.#sum(node.entries.flatMap(({ key, value }) => [key, value]));
    const key = this.#either(node.entries.map((entry) => entry.key));
    const value = this.#either(node.entries.map((entry) => entry.value));
    this.#entries.set(node, { container: 'map', key, value });
    return cost;
  }

  /** The size of any one of these. */
  #either(nodes: readonly Node[]): SizeRange {
    const sizes = nodes.map((node) => this.#size(node) ?? unknownSize);
    return sizes.length === 0 ? exactly(0) : sizes.reduce(unionOf);
  }

  #callCost(node: Call): number {
    const operands = node.operands ?? node.args;
    const isMember = node.target !== undefined && operands.length > node.args.length;
    // In the order of cel-go: arguments before the target.
    const args = isMember ? operands.slice(1) : operands;
    const costs = args.map((arg) => this.#costWithSize(arg));
    if (node.name === '_?_:_') {
      const [condition = 0, yes = 0, no = 0] = costs;
      this.#unite(node, args[1] as Node, args[2] as Node);
      return condition + Math.max(yes, no);
    }
    const inner = costs.reduce((sum, cost) => sum + cost, 0);
    if (node.name === 'dyn') {
      this.#take(node, args[0] as Node);
      return inner + 1;
    }
    const given = args.map((arg) => this.#operand(arg));
    const subject = isMember ? (operands[0] as Node) : undefined;
    const subjectCost = subject ? this.#costWithSize(subject) : 0;
    const call: CallCost = node.overloads
      ? callCost(node.overloads, subject && this.#operand(subject), given)
      : { cost: 1 };
    this.#setResult(node, args, call.size);
    return inner + subjectCost + call.cost;
  }

  #costWithSize(node: Node): number {
    const cost = this.cost(node);
    // Looked up now: memory of paths may be shared with what comes next.
    this.#size(node);
    return cost;
  }

  #operand(node: Node): Operand {
    const path = this.#path(node)?.copy();
    const itemSize = (): SizeRange => (path && this.#declared(ValuePath.step(path, '@items'))) ?? unknownSize;
    return { node, size: this.#size(node) ?? unknownSize, itemSize };
  }

  #setResult(node: Call, args: readonly Node[], given: SizeRange | undefined): void {
    let size = given;
    const [container] = args;
    for (const { name, params } of node.overloads ?? []) {
      if (container === undefined) break;
      const kind = params[0]?.kind;
      if (name === '_[_]' && (kind === 'list' || kind === 'map')) {
        size = this.#entrySize(container)?.value;
        const step = kind === 'list' ? '@items' : '@values';
        this.#paths.set(node, ValuePath.step(this.#path(container), step));
      } else if (name === '_+_' && (kind === 'list' || kind === 'string' || kind === 'bytes'))
        this.#uniteEntries(node, container, args[1] as Node);
      size ??= this.#size(node);
    }
    if (size) this.#sizes.set(node, size);
  }

  /** Makes a node as large as another. */
  #take(node: Node, other: Node): void {
    const size = this.#size(other);
    const entries = this.#entrySize(other);
    if (size) this.#sizes.set(node, size);
    if (entries) this.#entries.set(node, entries);
  }

  /** Makes a node as large as either of two others. */
  #unite(node: Node, one: Node, other: Node): void {
    this.#sizes.set(node, unionOf(this.#size(one) ?? unknownSize, this.#size(other) ?? unknownSize));
    this.#uniteEntries(node, one, other);
  }

  #uniteEntries(node: Node, one: Node, other: Node): void {
    const a = this.#entrySize(one);
    const b = this.#entrySize(other);
    if (a && b)
      this.#entries.set(node, {
        container: a.container,
        key: unionOf(a.key, b.key),
        value: unionOf(a.value, b.value),
      });
  }

  /** Macros cost what the calls and loops cost that cel-go makes of them. */
  #macroCost(node: Macro): number {
    switch (node.name) {
      case 'all':
        return this.#loopCost(node, 1, exactly(1), () => 3 + this.#part(node.condition));
      case 'exists':
        return this.#loopCost(node, 1, exactly(1), () => 4 + this.#part(node.condition));
      case 'existsOne':
        return this.#loopCost(node, 2, exactly(1), () => 2 + this.#part(node.condition));
      case 'filter':
        return this.#listLoopCost(node, () => {
          const [name = ''] = node.variables;
          const variable: Node = { kind: 'identifier', name, at: 0, height: 1 };
          variable.type = node.type?.kind === 'list' ? node.type.item : undefined;
          return variable;
        });
      case 'map':
      case 'transformList':
        return this.#listLoopCost(node, () => node.body as Node);
      case 'transformMap':
      case 'transformMapEntry': {
        const insert = node.name === 'transformMap' ? 3 : 2;
        return this.#loopCost(
          node,
          mapSteps + 1,
          undefined,
          () => this.#part(node.condition) + insert + this.#part(node.body),
        );
      }
      case 'sortBy':
        return this.#sortCost(node);
      case 'optMap':
      case 'optFlatMap':
        return this.#optionalCost(node);
    }
  }

  #part(node: Node | undefined): number {
    return node === undefined ? 0 : this.#costWithSize(node);
  }

  /** A loop whose rounds add an item to a list. */
  #listLoopCost(node: Macro, itemOf: () => Node): number {
    let value = unknownSize;
    const cost = this.#loopCost(node, listSteps + 1, undefined, () => {
      const condition = this.#part(node.condition);
      const item = itemOf();
      const made = this.#part(item);
      value = { min: 0, max: (this.#size(item) ?? unknownSize).max };
      return condition + listSteps + 2 + made;
    });
    this.#entries.set(node, { container: 'list', key: exactly(1), value });
    return cost;
  }

  /** @param size of the result; that of the range when it is undefined */
  #loopCost(node: Macro, whole: number, size: SizeRange | undefined, round: () => number): number {
    const cost = this.cost(node.range);
    const each = this.#withVariables(node, round);
    // Looked up behind the body, as cel-go does.
    const rounds = this.#size(node.range) ?? unknownSize;
    this.#sizes.set(node, size ?? rounds);
    return cost + whole + product(rounds.max, each);
  }

  #withVariables<T>(node: Macro, run: () => T): T {
    const { range, variables } = node;
    const path = this.#path(range);
    const entries = this.#entrySize(range);
    const isList = (entries?.container ?? range.type?.kind) === 'list';
    // Each is made only if it is bound: the next one may take its place in memory.
    const key = (): Local => ({
      path: ValuePath.step(path, isList ? '@indices' : '@keys'),
      size: entries?.key,
    });
    const value = (): Local => ({
      path: ValuePath.step(path, isList ? '@items' : '@values'),
      size: entries?.value,
    });
    const locals = variables.length === 2 ? [key(), value()] : [isList ? value() : key()];
    return this.#binding(variables, locals, run);
  }

  #binding<T>(names: readonly string[], locals: readonly Local[], run: () => T): T {
    for (const [index, name] of names.entries()) {
      const known = this.#locals.get(name) ?? [];
      known.push(locals[index] as Local);
      this.#locals.set(name, known);
    }
    const result = run();
    for (const name of names) this.#locals.get(name)?.pop();
    return result;
  }

  /** A list of keys, then a sort by it. */
  #sortCost(node: Macro): number {
    const target = listSteps + this.#costWithSize(node.range);
    const round = this.#withVariables(node, () => listSteps + 2 + this.#part(node.body));
    const items = this.#size(node.range) ?? unknownSize;
    const keys = 1 + listSteps + 1 + product(items.max, round);
    const sort = sorting(items, node.body?.type);
    if (sort.size) this.#sizes.set(node, sort.size);
    return target + keys + 1 + sort.cost;
  }

  /** `target.hasValue() ? optional.of(body, with target.value() as its variable) : optional.none()` */
  #optionalCost(node: Macro): number {
    const target = this.#costWithSize(node.range);
    const { type } = node.range;
    const held = type?.kind === 'optional' ? sizeOfType(type.item) : undefined;
    const body = this.#binding(node.variables, [{ path: undefined, size: held }], () =>
      this.#part(node.body),
    );
    const none = sizeOfType(node.type) ?? unknownSize;
    const made = node.name === 'optMap' ? none : (this.#size(node.body as Node) ?? unknownSize);
    this.#sizes.set(node, unionOf(made, none));
    const wrapped = node.name === 'optMap' ? 1 : 0;
    return target + 1 + listSteps + target + 1 + body + wrapped;
  }

  #local(name: string): Local | undefined {
    return this.#locals.get(name)?.at(-1);
  }

  #path(node: Node): ValuePath | undefined {
    const local = node.kind === 'identifier' ? this.#local(node.name) : undefined;
    return local ? local.path : this.#paths.get(node);
  }

  #declared(path: ValuePath): SizeRange | undefined {
    const max = this.#declaredSize(path);
    return max === undefined ? undefined : { min: 0, max };
  }

  #size(node: Node): SizeRange | undefined {
    const known = this.#sizes.get(node) ?? sizeOfLiteral(node);
    if (known) return known;
    const path = this.#path(node);
    const declared = path && this.#declared(path);
    if (declared) {
      this.#sizes.set(node, declared);
      return declared;
    }
    const local = node.kind === 'identifier' ? this.#local(node.name) : undefined;
    return sizeOfType(node.type) ?? local?.size;
  }

  #entrySize(node: Node): EntrySize | undefined {
    return this.#entries.get(node);
  }
}

function sizeOfLiteral(node: Node): SizeRange | undefined {
  switch (node.kind) {
    case 'literal':
      return exactly(typeof node.value === 'string' ? Array.from(node.value).length : sizeOf(node.value));
    case 'list':
      return exactly(node.elements.length);
    case 'map':
      return exactly(node.entries.length);
    default:
      return undefined;
  }
}

/** The size of a value by its type; undefined when values of the type differ in size. */
function sizeOfType(type: Type | undefined): SizeRange | undefined {
  switch (type?.kind) {
    case 'bool':
    case 'int':
    case 'uint':
    case 'double':
    case 'timestamp':
    case 'duration':
      return exactly(1);
    case 'optional':
      return sizeOfType(type.item);
    default:
      return undefined;
  }
}
