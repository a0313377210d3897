/** Expressions of access: what those over tokens, users and questions to authorizers may use, and what they must give. */
import { type CheckedExpression, compileFor, fields, userInfoType } from './admission.ts';
import type { Environment } from './checker.ts';
import { ruleFunctions } from './libraries/libraries.ts';
import { parse } from './syntax/parser.ts';
import type { Node } from './syntax/syntax.ts';
import { dyn, list, map, string, type Type } from './values/types.ts';

const environment = (name: string, type: Type): Environment => ({
  variables: new Map([[name, type]]),
  functions: ruleFunctions(),
});

/**
 * `claims`: what a token says. Its values have no types, so what an expression gives is checked when it runs, unless
 * it is to be a bool.
 */
export const compileClaims = (expression: string, wanted?: 'bool'): CheckedExpression =>
  compileFor(expression, environment('claims', map(string, dyn)), wanted && [wanted]);

/** `user`: whom a token names. */
export const compileUserRule = (expression: string): CheckedExpression =>
  compileFor(expression, environment('user', userInfoType), ['bool']);

const selectorType = (name: string, requirement: string): Type =>
  fields(`kubernetes.${name}`, {
    rawSelector: string,
    requirements: list(
      fields(`kubernetes.${requirement}`, { key: string, operator: string, values: list(string) }),
    ),
  });

const reviewType = fields('kubernetes.SubjectAccessReviewSpec', {
  resourceAttributes: fields('kubernetes.ResourceAttributes', {
    namespace: string,
    verb: string,
    group: string,
    version: string,
    resource: string,
    subresource: string,
    name: string,
    fieldSelector: selectorType('FieldSelectorAttributes', 'FieldSelectorRequirement'),
    labelSelector: selectorType('LabelSelectorAttributes', 'LabelSelectorRequirement'),
  }),
  nonResourceAttributes: fields('kubernetes.NonResourceAttributes', { path: string, verb: string }),
  user: string,
  groups: list(string),
  extra: map(string, list(string)),
  uid: string,
});

/** `request`: the spec of the SubjectAccessReview that a webhook would be sent. */
export const compileReviewCondition = (expression: string): CheckedExpression =>
  compileFor(expression, environment('request', reviewType), ['bool']);

/** Whether an expression reads a claim: `claims.email`, `claims.?email`, `claims["email"]`, `has(claims.email)`. */
export function readsClaim(expression: string, claim: string): boolean {
  const node = parse(expression, []);
  return node !== undefined && reads(node, claim);
}

function reads(node: Node, claim: string): boolean {
  const isClaims = (operand: Node | undefined): boolean =>
    operand?.kind === 'identifier' && operand.name === 'claims';
  const isKey = (key: Node | undefined): boolean => key?.kind === 'literal' && key.value === claim;
  if (node.kind === 'select' && node.field === claim && isClaims(node.operand)) return true;
  if (node.kind === 'call') {
    const operands = node.target ? [node.target, ...node.args] : node.args;
    if (isClaims(operands[0]) && isKey(operands[1])) return true;
  }
  return partsOf(node).some((part) => reads(part, claim));
}

function partsOf(node: Node): readonly Node[] {
  switch (node.kind) {
    case 'select':
      return [node.operand];
    case 'call':
      return node.target ? [node.target, ...node.args] : node.args;
    case 'logic':
      return node.terms;
    case 'list':
      return node.elements.map(({ value }) => value);
    case 'map':
      return node.entries.flatMap(({ key, value }) => [key, value]);
    case 'struct':
      return node.fields.map(({ value }) => value);
    case 'macro':
      return [node.range, node.condition, node.body].filter((part) => part !== undefined);
    default:
      return [];
  }
}
