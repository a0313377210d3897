/** Turns a checked expression into functions, one for each node, that compute its value and charge for their steps. */

import { type Comprehension, comprehension } from './comprehensions.ts';
import { findInOptional } from './libraries/optionals.ts';
import type {
  Call,
  Identifier,
  ListNode,
  Logic,
  Macro,
  MapNode,
  Node,
  Select,
  StructNode,
} from './syntax/syntax.ts';
import { type Budget, hiddenErrorCost } from './values/budget.ts';
import { costOf, type Overload } from './values/functions.ts';
import type { Type } from './values/types.ts';
import {
  CelError,
  EntryMap,
  ItemList,
  isOfType,
  MapValue,
  NoSuchOverload,
  Optional,
  StructValue,
  sizeOf,
  TypeName,
  type Value,
} from './values/values.ts';

/** The state of one run. */
export interface Frame {
  readonly variables: Readonly<Record<string, Value>>;
  /** Variables of macros, by depth. */
  readonly locals: Value[];
  readonly budget: Budget;
}

export type Step = (frame: Frame) => Value;

const listCost = 10;
const mapCost = 30;
const structCost = 40;

/** Names of the variables of the macros around a node, outermost first. */
type Scope = readonly string[];

export function compileNode(node: Node, scope: Scope = []): Step {
  switch (node.kind) {
    case 'literal': {
      const { value } = node;
      return () => value;
    }
    case 'identifier':
      return identifier(node, scope);
    case 'select':
      return select(node, scope);
    case 'call':
      return call(node, scope);
    case 'logic':
      return logic(node, scope);
    case 'list':
      return listLiteral(node, scope);
    case 'map':
      return mapLiteral(node, scope);
    case 'struct':
      return structLiteral(node, scope);
    case 'macro':
      return macro(node, scope);
  }
}

function identifier(node: Identifier, scope: Scope): Step {
  const { name, typeName } = node;
  const index = scope.lastIndexOf(name);
  if (index >= 0)
    return ({ locals, budget }) => {
      budget.charge(1);
      return locals[index] as Value;
    };
  if (typeName !== undefined) {
    const value = new TypeName(typeName);
    return () => value;
  }
  return ({ variables, budget }) => {
    budget.charge(1);
    const value = variables[name];
    if (value === undefined) throw new CelError(`no such attribute(s): ${name}`);
    return value;
  };
}

function select(node: Select, scope: Scope): Step {
  if (node.qualified !== undefined) return identifier(node.qualified, scope);
  const operand = compileNode(node.operand, scope);
  const { field, test } = node;
  if (test)
    return (frame) => {
      // Free in cel-go's model, but not in time.
      frame.budget.charge(1);
      return isPresent(operand(frame), field);
    };
  return (frame) => {
    const value = operand(frame);
    frame.budget.charge(1);
    if (value instanceof Optional) return findInOptional(value, field);
    const found = value instanceof MapValue ? value.find(field) : undefined;
    if (found === undefined) throw new CelError(`no such key: ${field}`);
    return found;
  };
}

function isPresent(operand: Value, field: string): boolean {
  const value = operand instanceof Optional ? operand.value : operand;
  return value instanceof MapValue && value.find(field) !== undefined;
}

function call(node: Call, scope: Scope): Step {
  const operands = (node.operands ?? []).map((operand) => compileNode(operand, scope));
  const [first, second, third] = operands;
  if (node.name === '_?_:_' && third !== undefined)
    return (frame) => {
      const condition = (first as Step)(frame);
      if (typeof condition !== 'boolean') throw new NoSuchOverload();
      return condition ? (second as Step)(frame) : third(frame);
    };
  if (node.name === '_?._')
    return (frame) => {
      const container = (first as Step)(frame);
      frame.budget.charge(1);
      return findInOptional(container, (second as Step)(frame));
    };
  const overloads = node.overloads ?? [];
  const [only] = overloads;
  const known = (node.operands ?? []).every(({ type }) => type !== undefined && isKnown(type));
  if (
    overloads.length === 1 &&
    only !== undefined &&
    (known || only.params.every(({ kind }) => kind === 'parameter'))
  )
    return directCall(only, operands);
  return (frame) => {
    const args = operands.map((operand) => operand(frame));
    const overload = overloads.find(({ params }) =>
      params.every((param, index) => isOfType(args[index] as Value, param)),
    );
    if (overload === undefined) throw new NoSuchOverload();
    frame.budget.charge(costOf(overload, args.map(sizeOf), args));
    return overload.metered ? overload.run(frame.budget, ...args) : overload.run(...args);
  };
}

function directCall(overload: Overload, operands: readonly Step[]): Step {
  const { run, cost, metered } = overload;
  const [first, second] = operands;
  if (operands.length === 1 && !metered)
    return (frame) => {
      const a = (first as Step)(frame);
      frame.budget.charge(typeof cost === 'number' ? cost : cost([sizeOf(a)], [a]));
      return run(a);
    };
  if (operands.length === 2)
    return (frame) => {
      const a = (first as Step)(frame);
      const b = (second as Step)(frame);
      frame.budget.charge(typeof cost === 'number' ? cost : cost([sizeOf(a), sizeOf(b)], [a, b]));
      return metered ? run(frame.budget, a, b) : run(a, b);
    };
  return (frame) => {
    const args = operands.map((operand) => operand(frame));
    frame.budget.charge(costOf(overload, args.map(sizeOf), args));
    return metered ? run(frame.budget, ...args) : run(...args);
  };
}

/** Whether values of the type can be given to an overload that the checker chose without a look at them. */
function isKnown(type: Type): boolean {
  switch (type.kind) {
    case 'dyn':
    case 'error':
    case 'parameter':
    // Where an object, list or map is wanted, null passes the checker.
    case 'null':
    // The old value is optional to the checker and plain when it runs, in messages of some rules.
    case 'optional':
      return false;
    default:
      return true;
  }
}

/** Evaluates a logical operator: an operand that decides the result wins over errors of others. */
function logic(node: Logic, scope: Scope): Step {
  const terms = node.terms.map((term) => compileNode(term, scope));
  const deciding = node.operator === '||';
  return (frame) => {
    let failure: CelError | undefined;
    for (const term of terms) {
      try {
        const value = term(frame);
        if (value === deciding) return deciding;
        if (typeof value !== 'boolean') failure ??= new NoSuchOverload();
      } catch (error) {
        if (!(error instanceof CelError)) throw error;
        frame.budget.charge(hiddenErrorCost);
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
    return !deciding;
  };
}

function listLiteral(node: ListNode, scope: Scope): Step {
  const elements = node.elements.map(({ value, optional }) => ({
    step: compileNode(value, scope),
    optional,
  }));
  return (frame) => {
    frame.budget.charge(listCost);
    const items: Value[] = [];
    for (const { step, optional } of elements) {
      const value = step(frame);
      if (!optional) items.push(value);
      else if (!(value instanceof Optional)) throw new NoSuchOverload();
      else if (value.value !== undefined) items.push(value.value);
    }
    return new ItemList(items);
  };
}

function mapLiteral(node: MapNode, scope: Scope): Step {
  const entries = node.entries.map(({ key, value, optional }) => ({
    key: compileNode(key, scope),
    value: compileNode(value, scope),
    optional,
  }));
  return (frame) => {
    frame.budget.charge(mapCost);
    const pairs: [Value, Value][] = [];
    for (const { key, value, optional } of entries) {
      const name = key(frame);
      const held = value(frame);
      if (!optional) pairs.push([name, held]);
      else if (!(held instanceof Optional)) throw new NoSuchOverload();
      else if (held.value !== undefined) pairs.push([name, held.value]);
    }
    return EntryMap.of(pairs);
  };
}

function structLiteral(node: StructNode, scope: Scope): Step {
  const fields = node.fields.map(({ name, value, optional }) => ({
    name,
    step: compileNode(value, scope),
    optional,
  }));
  const { name } = node;
  return (frame) => {
    frame.budget.charge(structCost);
    const values = new Map<string, Value>();
    for (const field of fields) {
      const value = field.step(frame);
      if (!field.optional) values.set(field.name, value);
      else if (!(value instanceof Optional)) throw new NoSuchOverload();
      else if (value.value !== undefined) values.set(field.name, value.value);
    }
    return new StructValue(name, values);
  };
}

function macro(node: Macro, scope: Scope): Step {
  const inner = [...scope, ...node.variables];
  const part = (child: Node | undefined): Step | undefined =>
    child === undefined ? undefined : compileNode(child, inner);
  const parts: Comprehension = {
    range: compileNode(node.range, scope),
    variables: node.variables.length,
    slot: scope.length,
    condition: part(node.condition),
    body: part(node.body),
  };
  return comprehension(node.name, parts);
}
