/** The public surface of the package: everything exported here is documented, and changes are announced. */

export type {
  AuthenticationOptions,
  OidcOptions,
  RequestHeaderOptions,
  ServiceAccountOptions,
  TokenWebhookSettings,
} from '../access/authentication/authentication-options.ts';
export type { StaticUser } from '../access/authentication/static-tokens.ts';
export {
  type AuthorizationMode,
  type AuthorizationOptions,
  type AuthorizationWebhookOptions,
  authorizationModes,
} from '../access/authorization/authorization-options.ts';
export type { ClientOptions } from '../client/client.ts';
export type { ControllerSettings } from '../controllers/shared/controller.ts';
export type { PodNetworkMode } from '../node/agent/node-network.ts';
export type { DumpProblem } from '../recorder/archive/dump-file.ts';
export type { DumpProgress, DumpSummary } from '../recorder/dump/dump.ts';
export type { CopyProgress, KindResult } from '../recorder/source/cluster-copy.ts';
export type { SecretMode } from '../recorder/source/secret-values.ts';
export type { AdmissionOptions } from '../registry/admission/plugins.ts';
export type { Sources } from '../registry/registry.ts';
export type { WatchDefault } from '../registry/verbs/watch.ts';
export type { HistoryBounds } from '../registry/view/history.ts';
export {
  defaultLimits,
  type LimitForm,
  type LimitName,
  type LimitOption,
  type Limits,
  limitForms,
  limitNames,
} from '../server/http/limits.ts';
export type { AuditOptions } from '../server/observe/audit-log.ts';
export type { AuditMode } from '../server/observe/audit-sink.ts';
export type { AuditWebhookOptions } from '../server/observe/audit-webhook.ts';
export type { Cluster } from './cluster.ts';
export { type ImportOptions, type ImportSummary, importCluster } from './import-cluster.ts';
export { type RunningNode, startNode } from './node/node.ts';
export type { SimulatedPower } from './node/simulated-nodes.ts';
export { type OpenDumpOptions, type OpenedDump, openDump } from './open-dump.ts';
export type { SniFiles } from './options/doors.ts';
export type { RegistryAccess } from './options/image-shapes.ts';
export type { Lifecycle, LifecycleStage } from './options/lifecycles.ts';
export type { NodeGroup } from './options/node-groups.ts';
export type { IngressOptions, NodeJoin, NodeOptions } from './options/nodes.ts';
export type { CertificateFiles, KubeletSettings, ServerSettings } from './options/server-settings.ts';
export type { ListenOptions, SecureOptions, StartOptions } from './options/start-options.ts';
export type { EtcdOptions } from './options/store.ts';
export {
  type RecordedCluster,
  type RecordOptions,
  type RecordProgress,
  record,
} from './record.ts';
export {
  type CustomColumn,
  type CustomError,
  type CustomKind,
  type CustomKindOptions,
  type CustomObject,
  type CustomSchema,
  customKind,
} from './shared/custom-kind.ts';
export type { LogLine, LogOptions, LogValue } from './shared/log.ts';
export type { RecordStatus } from './shared/record-status.ts';
export { StartError } from './shared/start-error.ts';
export { start } from './start.ts';
