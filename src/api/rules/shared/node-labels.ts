/** Node labels that other ones have replaced. Using one is answered with a warning. */

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
