/** The public surface of the package. */

export {
  defaultLimits,
  type LimitForm,
  type LimitName,
  type LimitOption,
  type Limits,
  limitForms,
  limitNames,
} from '../server/http/limits.ts';
export type { AuditOptions } from '../server/observe/auditlog.ts';
export { type NodeOptions, type RunningNode, startNode } from './node.ts';
export type { SimulatedPower } from './simulatednodes.ts';
export { type Cluster, type StartOptions, start } from './start.ts';
export { StartError } from './starterror.ts';
