/** The public surface of the package. */
export type { AuditOptions } from '../server/auditlog.ts';
export {
  defaultLimits,
  type LimitForm,
  type LimitName,
  type LimitOption,
  type Limits,
  limitForms,
  limitNames,
} from '../server/limits.ts';
export { type NodeOptions, type RunningNode, startNode } from './node.ts';
export type { SimulatedPower } from './simulatednodes.ts';
export { type Cluster, StartError, type StartOptions, start } from './start.ts';
