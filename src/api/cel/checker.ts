/** Finds the type of every node and the overloads of every call, and tells what does not fit. */
import type { DeclaredSize } from './declared-size.ts';
import { chainName } from './syntax/parser.ts';
import type { Issue } from './syntax/source.ts';
import type {
  Call,
  Identifier,
  ListNode,
  Macro,
  MapNode,
  Node,
  Select,
  StructNode,
} from './syntax/syntax.ts';
import type { FunctionTable, Overload } from './values/functions.ts';
import {
  bool,
  dyn,
  errorType,
  fresh,
  int,
  list,
  map,
  mentions,
  type ObjectType,
  optional,
  Substitution,
  sameType,
  settled,
  type Type,
  typeText,
  typeType,
} from './values/types.ts';

/** The variables, types and functions that an expression may use. */
export interface Environment {
  /** Variables by name, which may contain dots (`authorizer.requestResource`). */
  readonly variables: ReadonlyMap<string, Type>;
  readonly functions: FunctionTable;
  /** How large what a path leads to is by its declaration; without it, what the types of variables say. */
  readonly declaredSize?: DeclaredSize;
  /** Types of objects that an expression may make: `Object{…}`. */
  readonly structs?: (name: string) => ObjectType | undefined;
}

const typeNames: Record<string, string> = {
  bool: 'bool',
  bytes: 'bytes',
  double: 'double',
  int: 'int',
  list: 'list',
  map: 'map',
  null_type: 'null_type',
  string: 'string',
  type: 'type',
  uint: 'uint',
  optional_type: 'optional_type',
  'google.protobuf.Timestamp': 'google.protobuf.Timestamp',
  'google.protobuf.Duration': 'google.protobuf.Duration',
  'kubernetes.Quantity': 'kubernetes.Quantity',
  'kubernetes.URL': 'kubernetes.URL',
  'kubernetes.Semver': 'kubernetes.Semver',
  'net.IP': 'net.IP',
  'net.CIDR': 'net.CIDR',
};

/** Shapes that the language itself gives a meaning, beside functions. */
const conditional: Pick<Overload, 'params' | 'result' | 'generic'> = {
  generic: true,
  params: [bool, { kind: 'parameter', name: 'A' }, { kind: 'parameter', name: 'A' }],
  result: { kind: 'parameter', name: 'A' },
};

export class Checker {
  /** Variables of the environment that the expression names. */
  readonly references = new Set<string>();
  readonly #environment: Environment;
  readonly #issues: Issue[];
  readonly #scopes: Map<string, Type>[] = [];
  readonly #undeclared = new Set<string>();
  #substitution = new Substitution();
  #calls = 0;

  constructor(environment: Environment, issues: Issue[]) {
    this.#environment = environment;
    this.#issues = issues;
  }

  /** The type of the whole expression. */
  check(node: Node): Type {
    this.#typeOf(node);
    settle(node, this.#substitution);
    return node.type as Type;
  }

  #typeOf(node: Node): Type {
    const type = this.#infer(node);
    node.type = type;
    return type;
  }

  #infer(node: Node): Type {
    switch (node.kind) {
      case 'literal':
        return node.literalType;
      case 'identifier':
        return this.#identifier(node);
      case 'select':
        return this.#select(node);
      case 'call':
        return this.#call(node);
      case 'logic':
        for (const term of node.terms) this.#expectBool(term);
        return bool;
      case 'list':
        return this.#list(node);
      case 'map':
        return this.#map(node);
      case 'struct':
        return this.#struct(node);
      case 'macro':
        return this.#macro(node);
    }
  }

  #local(name: string): Type | undefined {
    for (let index = this.#scopes.length - 1; index >= 0; index--) {
      const type = this.#scopes[index]?.get(name);
      if (type !== undefined) return type;
    }
    return undefined;
  }

  /** A variable of the environment or the name of a type. */
  #declared(node: Identifier): Type | undefined {
    const variable = this.#environment.variables.get(node.name);
    if (variable !== undefined) {
      this.references.add(node.name);
      return variable;
    }
    if (!Object.hasOwn(typeNames, node.name)) return undefined;
    node.typeName = typeNames[node.name] as string;
    return typeType;
  }

  #identifier(node: Identifier): Type {
    const type = this.#local(node.name) ?? this.#declared(node);
    return type ?? this.#undeclaredReference(node.name, node.at);
  }

  /** Reports an undeclared reference, once for each name, as Kubernetes does. */
  #undeclaredReference(name: string, at: number): Type {
    if (!this.#undeclared.has(name)) this.#tell(at, `undeclared reference to '${name}' (in container '')`);
    this.#undeclared.add(name);
    return errorType;
  }

  #select(node: Select): Type {
    const name = node.test ? undefined : chainName(node);
    if (name !== undefined && this.#local(name.slice(0, name.indexOf('.'))) === undefined) {
      const qualified: Identifier = { kind: 'identifier', name, at: node.at, height: 1 };
      const type = this.#declared(qualified);
      if (type !== undefined) {
        qualified.type = type;
        node.qualified = qualified;
        return type;
      }
    }
    const operand = this.#substitution.apply(this.#typeOf(node.operand));
    const field = this.#fieldOf(operand, node.field, node.at);
    return node.test ? bool : field;
  }

  #fieldOf(operand: Type, field: string, at: number): Type {
    switch (operand.kind) {
      case 'error':
        return errorType;
      case 'dyn':
      case 'parameter':
        return dyn;
      case 'map':
        return operand.value;
      case 'optional': {
        const inner = this.#fieldOf(operand.item, field, at);
        return inner.kind === 'optional' ? inner : optional(inner);
      }
      case 'object': {
        const type = operand.field(field);
        if (type !== undefined) return type;
        this.#tell(at, `undefined field '${field}'`);
        return errorType;
      }
      default:
        this.#tell(at, `type '${typeText(operand)}' does not support field selection`);
        return errorType;
    }
  }

  #call(node: Call): Type {
    const { name, target, args } = node;
    const namespace = target === undefined ? undefined : chainName(target);
    const qualified = namespace === undefined ? undefined : `${namespace}.${name}`;
    if (
      qualified !== undefined &&
      this.#environment.functions.get(qualified)?.some(({ member }) => !member)
    ) {
      node.operands = args;
      const argTypes = args.map((arg) => this.#typeOf(arg));
      return this.#resolve(node, qualified, argTypes, false);
    }
    const operands = target === undefined ? args : [target, ...args];
    node.operands = operands;
    const argTypes = operands.map((operand) => this.#typeOf(operand));
    if (name === '_?_:_') return this.#choose(node, name, [conditional as Overload], argTypes, false);
    if (name === '_?._') {
      const [operand = dyn] = argTypes;
      const field = (args[1] as { value?: unknown }).value;
      const type = this.#fieldOf(this.#substitution.apply(operand), String(field), node.at);
      return type.kind === 'optional' ? type : optional(type);
    }
    return this.#resolve(node, name, argTypes, target !== undefined);
  }

  #resolve(node: Call, name: string, argTypes: readonly Type[], member: boolean): Type {
    const overloads = this.#environment.functions.get(name);
    if (overloads === undefined) return this.#undeclaredReference(name, node.at);
    return this.#choose(
      node,
      name,
      overloads.filter((overload) => overload.member === member),
      argTypes,
      member,
    );
  }

  #choose(
    node: Call,
    name: string,
    overloads: readonly Overload[],
    argTypes: readonly Type[],
    member: boolean,
  ): Type {
    const found: Overload[] = [];
    let result: Type | undefined;
    let bindings: Substitution | undefined;
    const open = argTypes.some((type) => mentions(type));
    for (const overload of overloads) {
      if (overload.params.length !== argTypes.length) continue;
      if (!overload.generic && !open) {
        // Nothing can be bound, so nothing needs to be undone.
        if (!overload.params.every((param, index) => this.#substitution.fits(param, argTypes[index] as Type)))
          continue;
        found.push(overload);
        result = result === undefined || sameType(result, overload.result) ? overload.result : dyn;
        continue;
      }
      const mark = `.${this.#calls++}`;
      const substitution = this.#substitution.copy();
      if (
        !overload.params.every((param, index) =>
          substitution.fits(fresh(param, mark), argTypes[index] as Type),
        )
      )
        continue;
      const type = substitution.apply(fresh(overload.result, mark));
      found.push(overload);
      bindings = bindings === undefined ? substitution : undefined;
      result = result === undefined || sameType(result, type) ? type : dyn;
    }
    if (result === undefined) {
      if (!argTypes.some(({ kind }) => kind === 'error'))
        this.#tell(node.at, noOverload(name, argTypes, member, this.#substitution));
      return errorType;
    }
    if (found.length === 1 && bindings !== undefined) this.#substitution = bindings;
    node.overloads = found;
    return result;
  }

  #expectBool(node: Node): void {
    const type = this.#typeOf(node);
    if (!this.#substitution.fits(bool, type))
      this.#tell(node.at, `expected type 'bool' but found '${typeText(this.#substitution.apply(type))}'`);
  }

  #list(node: ListNode): Type {
    let item: Type | undefined;
    for (const element of node.elements) {
      const type = this.#typeOf(element.value);
      item = this.#joined(item, element.optional && type.kind === 'optional' ? type.item : type);
    }
    return list(item ?? this.#parameter());
  }

  #map(node: MapNode): Type {
    let key: Type | undefined;
    let value: Type | undefined;
    for (const entry of node.entries) {
      key = this.#joined(key, this.#typeOf(entry.key));
      const type = this.#typeOf(entry.value);
      value = this.#joined(value, entry.optional && type.kind === 'optional' ? type.item : type);
    }
    return map(key ?? this.#parameter(), value ?? this.#parameter());
  }

  #parameter(): Type {
    return { kind: 'parameter', name: `.${this.#calls++}` };
  }

  #joined(known: Type | undefined, next: Type): Type {
    if (known === undefined) return next;
    return this.#substitution.fits(known, next) ? known : dyn;
  }

  #struct(node: StructNode): Type {
    const type = this.#environment.structs?.(node.name);
    for (const field of node.fields) {
      const given = this.#typeOf(field.value);
      if (type === undefined) continue;
      const wanted = type.field(field.name);
      if (wanted === undefined) this.#tell(field.at, `undefined field '${field.name}'`);
      else if (!this.#substitution.fits(field.optional ? optional(wanted) : wanted, given))
        this.#tell(
          field.at,
          `expected type of field '${field.name}' is '${typeText(wanted)}' but provided type is '${typeText(given)}'`,
        );
    }
    return type ?? this.#undeclaredReference(node.name, node.at);
  }

  #macro(node: Macro): Type {
    const range = this.#substitution.apply(this.#typeOf(node.range));
    const bound = this.#bound(node, range);
    if (bound === undefined) return errorType;
    this.#scopes.push(new Map(node.variables.map((name, index) => [name, bound[index] as Type])));
    const type = this.#macroResult(node, bound);
    this.#scopes.pop();
    return type;
  }

  /** The types of the variables, or undefined when the range cannot be one. */
  #bound(node: Macro, range: Type): readonly Type[] | undefined {
    const anything = range.kind === 'dyn' || range.kind === 'parameter';
    if (range.kind === 'error') return [errorType, errorType];
    if (node.name === 'optMap' || node.name === 'optFlatMap') {
      if (range.kind === 'optional') return [range.item];
      if (anything) return [dyn];
      this.#tell(node.at, noOverload('hasValue', [range], true, this.#substitution));
      return undefined;
    }
    if (anything) return [dyn, dyn];
    if (range.kind === 'list') return node.variables.length === 2 ? [int, range.item] : [range.item];
    if (range.kind === 'map' && node.name !== 'sortBy') return [range.key, range.value];
    this.#tell(
      node.range.at,
      `expression of type '${typeText(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
    );
    return undefined;
  }

  #macroResult(node: Macro, bound: readonly Type[]): Type {
    const [first = dyn] = bound;
    if (node.condition !== undefined) {
      if (node.name === 'all' || node.name === 'exists') {
        this.#expectBool(node.condition);
        return bool;
      }
      const condition = this.#typeOf(node.condition);
      const kept = node.name === 'existsOne' ? int : list(first);
      if (!this.#substitution.fits(bool, condition))
        this.#tell(node.at, noOverload('_?_:_', [condition, kept, kept], false, this.#substitution));
    }
    if (node.name === 'existsOne') return bool;
    if (node.name === 'filter') return list(first);
    const body = this.#substitution.apply(this.#typeOf(node.body as Node));
    switch (node.name) {
      case 'map':
      case 'transformList':
        return list(body);
      case 'transformMap':
        return map(first, body);
      case 'transformMapEntry':
        if (body.kind === 'map' || body.kind === 'dyn' || body.kind === 'error') return body;
        this.#tell((node.body as Node).at, `expected type 'map(dyn, dyn)' but found '${typeText(body)}'`);
        return errorType;
      case 'sortBy':
        return list(first);
      case 'optMap':
        return optional(body);
      default:
        if (body.kind === 'optional' || body.kind === 'dyn' || body.kind === 'error') return body;
        this.#tell(
          (node.body as Node).at,
          `expected type 'optional_type(dyn)' but found '${typeText(body)}'`,
        );
        return errorType;
    }
  }

  #tell(at: number, message: string): void {
    this.#issues.push({ at, message });
  }
}

function noOverload(
  name: string,
  argTypes: readonly Type[],
  member: boolean,
  substitution: Substitution,
): string {
  const texts = argTypes.map((type) => typeText(settled(substitution.apply(type))));
  const applied = member ? `${texts[0]}.(${texts.slice(1).join(', ')})` : `(${texts.join(', ')})`;
  return `found no matching overload for '${name}' applied to '${applied}'`;
}

/** Replaces what parameters stand for in the types of all nodes. */
function settle(node: Node, substitution: Substitution): void {
  if (node.type !== undefined) node.type = settled(substitution.apply(node.type));
  for (const child of childrenOf(node)) settle(child, substitution);
}

export function childrenOf(node: Node): readonly Node[] {
  switch (node.kind) {
    case 'literal':
    case 'identifier':
      return [];
    case 'select':
      return node.qualified === undefined ? [node.operand] : [];
    case 'call':
      return node.operands ?? node.args;
    case 'logic':
      return node.terms;
    case 'list':
      return node.elements.map(({ value }) => value);
    case 'map':
      return node.entries.flatMap(({ key, value }) => [key, value]);
    case 'struct':
      return node.fields.map(({ value }) => value);
    case 'macro':
      return [node.range, node.condition, node.body].filter((child) => child !== undefined);
  }
}
