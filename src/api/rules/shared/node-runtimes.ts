/** The RuntimeClass objects of nodes that have several runtimes, and how such a node says what it has. */
import type { Node, RuntimeClass } from '../../generated/types.ts';

const labelPrefix = 'wherry.dev/runtime-';
const labelOf = (name: string): string => labelPrefix + name;

const engines: ReadonlySet<string> = new Set(['docker', 'cri']);
/** Every node of processes has these. */
const plain = ['process', 'simulated'];

/** Labels of a node that has these runtimes. */
export const runtimeLabels = (names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.filter((name) => engines.has(name)).map((name) => [labelOf(name), 'true']));

/** The runtimes that a node has, as far as pods can choose them. */
export function runtimesOf({ metadata, status }: Node): string[] {
  if (!status?.nodeInfo?.containerRuntimeVersion?.startsWith('process://')) return [];
  return [...plain, ...[...engines].filter((name) => metadata.labels?.[labelOf(name)] === 'true')];
}

/** Classes of container engines lead their pods to the nodes that have the engine. */
export const runtimeClassOf = (name: string): RuntimeClass => ({
  apiVersion: 'node.k8s.io/v1',
  kind: 'RuntimeClass',
  metadata: { name },
  handler: name,
  ...(engines.has(name) ? { scheduling: { nodeSelector: { [labelOf(name)]: 'true' } } } : {}),
});
