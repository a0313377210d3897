/** The public surface of the package. */
export { type NodeOptions, type RunningNode, startNode } from './node.ts';
export type { SimulatedPower } from './simulatednodes.ts';
export { type Cluster, StartError, type StartOptions, start } from './start.ts';
