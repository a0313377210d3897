/** Checks literals before an expression runs: patterns, times, formats, and lists of mixed types. */
import { compileRegexp, RegexpError } from '../text/go-regexp.ts';
import { childrenOf } from './checker.ts';
import { clauseProblem, parseFormat } from './libraries/formatting.ts';
import { parseDuration, parseTimestamp } from './libraries/times.ts';
import type { Issue } from './syntax/source.ts';
import type { Call, Node } from './syntax/syntax.ts';
import { Substitution, type Type, typeText } from './values/types.ts';
import { CelError } from './values/values.ts';

/** @param mixed inside of a format, whose arguments may be of different types */
export function checkLiterals(node: Node, issues: Issue[], mixed = false): void {
  if (node.kind === 'call') checkCall(node, issues);
  if (node.kind === 'list' && !mixed) checkAlike(node.elements.map(unwrapped), issues);
  if (node.kind === 'map' && !mixed) {
    const keys = node.entries.map(({ key }) => ({ node: key, type: key.type }));
    checkAlike(keys, issues);
    checkAlike(node.entries.map(unwrapped), issues);
  }
  const formats = mixed || isFormat(node);
  for (const child of childrenOf(node)) checkLiterals(child, issues, formats);
}

function isFormat(node: Node): node is Call {
  return (
    node.kind === 'call' && node.name === 'format' && node.target !== undefined && node.args.length === 1
  );
}

interface Member {
  readonly node: Node;
  readonly type: Type | undefined;
}

function unwrapped({ value, optional }: { value: Node; optional: boolean }): Member {
  const { type } = value;
  return { node: value, type: optional && type?.kind === 'optional' ? type.item : type };
}

function checkAlike(members: readonly Member[], issues: Issue[]): void {
  const first = members[0]?.type;
  if (first === undefined) return;
  for (const { node, type } of members) {
    if (type === undefined || new Substitution().fits(first, type)) continue;
    issues.push({ at: node.at, message: `expected type '${typeText(first)}' but found '${typeText(type)}'` });
  }
}

function checkCall(node: Call, issues: Issue[]): void {
  if (isFormat(node)) checkFormat(node, issues);
  const arg = node.args.at(-1);
  if (arg?.kind !== 'literal' || typeof arg.value !== 'string') return;
  if (!isValidArgument(node.name, node, arg.value))
    issues.push({ at: arg.at, message: `invalid ${node.name} argument` });
}

function isValidArgument(name: string, { args, target }: Call, text: string): boolean {
  const alone = target === undefined && args.length === 1;
  if (name === 'timestamp' && alone) return parseTimestamp(text) !== undefined;
  if (name === 'duration' && alone) return parseDuration(text) !== undefined;
  if (name !== 'matches') return true;
  try {
    compileRegexp(text);
    return true;
  } catch (error) {
    if (error instanceof RegexpError) return false;
    throw error;
  }
}

function checkFormat({ target, args, at }: Call, issues: Issue[]): void {
  const [list] = args;
  if (target?.kind !== 'literal' || typeof target.value !== 'string' || list?.kind !== 'list') return;
  try {
    const clauses = parseFormat(target.value).filter((part) => typeof part !== 'string');
    for (const [index, clause] of clauses.entries()) {
      const element = list.elements[index]?.value;
      if (element === undefined) {
        issues.push({ at, message: `index ${index} out of range` });
        return;
      }
      if (element.type === undefined || element.type.kind === 'dyn') continue;
      const problem = clauseProblem(clause.letter, typeText(element.type));
      if (problem !== undefined) issues.push({ at: element.at, message: problem });
    }
  } catch (error) {
    if (!(error instanceof CelError)) throw error;
    issues.push({ at, message: error.message });
  }
}
