/** Node labels that other ones have replaced. Using one is answered with a warning. */
import { child, index } from '../../errors/field-error.ts';
import type { NodeSelectorTerm } from '../../generated/types.ts';
import { isLabelValue } from '../../values/names.ts';

const instead = (since: string, label: string): string => `deprecated since ${since}; use "${label}" instead`;

const deprecations: ReadonlyMap<string, string> = new Map([
  ['beta.kubernetes.io/arch', instead('v1.14', 'kubernetes.io/arch')],
  ['beta.kubernetes.io/os', instead('v1.14', 'kubernetes.io/os')],
  ['failure-domain.beta.kubernetes.io/region', instead('v1.17', 'topology.kubernetes.io/region')],
  ['failure-domain.beta.kubernetes.io/zone', instead('v1.17', 'topology.kubernetes.io/zone')],
  ['beta.kubernetes.io/instance-type', instead('v1.17', 'node.kubernetes.io/instance-type')],
  ['app.kubernetes.io/created-by', 'deprecated since v1.9'],
  [
    'scheduler.alpha.kubernetes.io/preferAvoidPods',
    'deprecated since v1.22; use Taints and Tolerations instead',
  ],
  ['node-role.kubernetes.io/master', 'use "node-role.kubernetes.io/control-plane" instead'],
]);

/** What is said about a label; undefined when it is in use. */
export const nodeLabelDeprecation = (label: string): string | undefined => deprecations.get(label);

/** `checksValues`: values that no label can have are valid in preferences, where they only match nothing. */
export function* nodeTermWarnings(
  { matchExpressions = [] }: NodeSelectorTerm,
  path: string,
  checksValues: boolean,
): Generator<string, void, undefined> {
  for (const [i, { key = '', values = [] }] of matchExpressions.entries()) {
    const entry = index(child(path, 'matchExpressions'), i);
    const advice = nodeLabelDeprecation(key);
    if (advice) yield `${child(entry, 'key')}: ${key} is ${advice}`;
    if (!checksValues) continue;
    for (const [j, value] of values.entries())
      for (const problem of isLabelValue(value))
        yield `${index(child(entry, 'values'), j)}: ${value} is invalid, ${problem}`;
  }
}
