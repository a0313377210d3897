/**
 * What an expression costs at most, worked out before it ever runs, from the sizes that types say values can have.
 * The model is that of cel-go with the additions of Kubernetes.
 */
import { roundCosts } from './comprehensions.ts';
import { product } from './functions.ts';
import type { Call, Macro, Node } from './syntax.ts';
import type { Type } from './types.ts';
import { sizeOf } from './values.ts';

interface Estimate {
  readonly cost: number;
  /** Of the value; infinite when nothing is known. */
  readonly size: number;
}

export function estimateCost(node: Node): number {
  return estimate(node).cost;
}

function estimate(node: Node): Estimate {
  switch (node.kind) {
    case 'literal':
      return { cost: 0, size: sizeOf(node.value) };
    case 'identifier':
      return { cost: node.typeName === undefined ? 1 : 0, size: sizeOfType(node.type) };
    case 'select': {
      if (node.qualified !== undefined) return { cost: 1, size: sizeOfType(node.type) };
      return { cost: estimate(node.operand).cost + (node.test ? 0 : 1), size: sizeOfType(node.type) };
    }
    case 'call':
      return callEstimate(node);
    case 'logic':
      return { cost: node.terms.reduce((sum, term) => sum + estimate(term).cost, 0), size: 1 };
    case 'list':
      return { cost: 10 + sum(node.elements.map(({ value }) => value)), size: node.elements.length };
    case 'map':
      return {
        cost: 30 + sum(node.entries.flatMap(({ key, value }) => [key, value])),
        size: node.entries.length,
      };
    case 'struct':
      return { cost: 40 + sum(node.fields.map(({ value }) => value)), size: node.fields.length };
    case 'macro':
      return macroEstimate(node);
  }
}

function sum(nodes: readonly Node[]): number {
  return nodes.reduce((total, node) => total + estimate(node).cost, 0);
}

function callEstimate(node: Call): Estimate {
  const operands = (node.operands ?? []).map(estimate);
  const [first, second, third] = operands;
  if (node.name === '_?_:_' && first !== undefined && second !== undefined && third !== undefined)
    return { cost: first.cost + Math.max(second.cost, third.cost), size: Math.max(second.size, third.size) };
  const inner = operands.reduce((total, { cost }) => total + cost, 0);
  if (node.overloads === undefined) return { cost: inner + 1, size: sizeOfType(node.type) };
  const sizes = operands.map(({ size }) => size);
  const cost = Math.max(...node.overloads.map((overload) => overload.cost(sizes)));
  const known = node.overloads.filter(({ resultSize }) => resultSize !== undefined);
  const size =
    known.length > 0
      ? Math.max(...known.map((overload) => overload.resultSize?.(sizes) ?? 0))
      : sizeOfType(node.type);
  return { cost: inner + cost, size };
}

function macroEstimate(node: Macro): Estimate {
  const range = estimate(node.range);
  const { round, whole } = roundCosts[node.name];
  const body =
    (node.condition === undefined ? 0 : estimate(node.condition).cost) +
    (node.body === undefined ? 0 : estimate(node.body).cost);
  const optional = node.name === 'optMap' || node.name === 'optFlatMap';
  const rounds = optional ? 1 : range.size;
  const size = node.name === 'all' || node.name === 'exists' || node.name === 'existsOne' ? 1 : range.size;
  return { cost: range.cost + whole + product(rounds, round + body), size };
}

function sizeOfType(type: Type | undefined): number {
  if (type === undefined) return Number.POSITIVE_INFINITY;
  if (type.sizeMax !== undefined) return type.sizeMax;
  switch (type.kind) {
    case 'string':
    case 'bytes':
    case 'list':
    case 'map':
    case 'dyn':
    case 'error':
    case 'object':
      return Number.POSITIVE_INFINITY;
    case 'optional':
      return sizeOfType(type.item);
    default:
      return 1;
  }
}
