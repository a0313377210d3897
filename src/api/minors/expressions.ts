/**
 * Expressions in CEL by minor: from 1.28 on, a new expression may only use what the minor before had, so that a cluster
 * can go back one; before, what the minor itself had. Functions are found by their names, outside of texts.
 */

import { type Issue, issuesText } from '../cel/syntax/source.ts';
import { type FieldError, invalid } from '../errors/field-error.ts';

/** The minor from which functions can be used, by name; those that are not here have always been there. */
const since: ReadonlyMap<string, number> = new Map(
  Object.entries({
    28: 'quantity isQuantity isGreaterThan isLessThan compareTo asInteger asApproximateFloat sign optional.of optional.none optional.ofNonZeroValue orValue',
    29: 'quote sets.contains sets.equivalent sets.intersects',
    30: 'ip isIP cidr isCIDR ip.isCanonical containsIP containsCIDR isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast masked prefixLength',
    31: 'format.named fieldSelector labelSelector',
    32: 'transformList transformMap transformMapEntry',
    33: 'semver isSemver major minor patch',
    34: 'first last distinct flatten slice sort sortBy reverse lists.range',
  }).flatMap(([minor, names]) => names.split(' ').map((name) => [name, Number(minor)] as const)),
);
/** Comprehensions with two variables. */
const twoVariables = /\.(?:all|exists|exists_one|existsOne)\(\s*\w+\s*,\s*\w+\s*,/g;
const twoVariablesSince = 32;
/** The first minor whose new expressions are those of the minor before. */
const firstWithBefore = 28;

const literals = /[rRbB]*("""[\s\S]*?"""|'''[\s\S]*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')/g;

/** What is wrong with an expression in this minor, as cel-go prints it; undefined: nothing. */
export function laterFunctions(text: string, minor: number): string | undefined {
  const known = minor < firstWithBefore ? minor : minor - 1;
  const code = text.replace(literals, (literal) => ' '.repeat(literal.length));
  const issues: Issue[] = [];
  for (const { 0: call, 1: name, index } of code.matchAll(/(?<![\w.])([A-Za-z_.][\w.]*)\s*\(/g)) {
    const found = [name!, name!.split('.').at(-1)!].find((one) => (since.get(one) ?? 0) > known);
    if (found !== undefined)
      issues.push({
        at: index + call.indexOf('('),
        message: `undeclared reference to '${found}' (in container '')`,
      });
  }
  if (known < twoVariablesSince)
    for (const { index } of code.matchAll(twoVariables))
      issues.push({ at: index + 1, message: 'invalid argument count for macro' });
  return issues.length ? issuesText(text, issues) : undefined;
}

/** Members that hold expressions, wherever they are. */
const expressionMembers: ReadonlySet<string> = new Set([
  'rule',
  'messageExpression',
  'expression',
  'valueExpression',
]);

/** Errors of the new expressions below a path; those that the stored object has anywhere there may stay. */
export function expressionErrors(value: unknown, old: unknown, path: string, minor: number): FieldError[] {
  const before = new Set<string>();
  walk(old, '', (_, text) => before.add(text));
  const errors: FieldError[] = [];
  walk(value, path, (where, text) => {
    const problem = before.has(text) ? undefined : laterFunctions(text, minor);
    if (problem !== undefined) errors.push(invalid(where, text, `compilation failed: ${problem}`));
  });
  return errors;
}

function walk(value: unknown, path: string, found: (path: string, text: string) => void): void {
  if (Array.isArray(value)) for (const [i, item] of value.entries()) walk(item, `${path}[${i}]`, found);
  else if (typeof value === 'object' && value !== null)
    for (const [name, inner] of Object.entries(value)) {
      const where = path.endsWith('.properties') ? `${path}[${name}]` : `${path}.${name}`;
      if (typeof inner !== 'string') walk(inner, where, found);
      else if (expressionMembers.has(name)) found(where, inner);
    }
}
