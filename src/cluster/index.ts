/** The public surface of the package: everything exported here is documented, and changes are announced. */

export type {
  AuthenticationOptions,
  OidcOptions,
  RequestHeaderOptions,
  ServiceAccountOptions,
  TokenWebhookSettings,
} from '../access/authentication/authenticationoptions.ts';
export type { StaticUser } from '../access/authentication/statictokens.ts';
export {
  type AuthorizationMode,
  type AuthorizationOptions,
  type AuthorizationWebhookOptions,
  authorizationModes,
} from '../access/authorization/authorizationoptions.ts';
export type { ClientOptions } from '../client/client.ts';
export type { ControllerSettings } from '../controllers/shared/controller.ts';
export type { PodNetworkMode } from '../node/agent/nodenetwork.ts';
export type { AdmissionOptions } from '../registry/admission/plugins.ts';
export type { HistoryBounds } from '../registry/history.ts';
export type { Chance } from '../registry/registry.ts';
export type { WatchDefault } from '../registry/watch.ts';
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
export type { AuditMode } from '../server/observe/auditsink.ts';
export type { AuditWebhookOptions } from '../server/observe/auditwebhook.ts';
export {
  type CustomColumn,
  type CustomError,
  type CustomKind,
  type CustomKindOptions,
  type CustomObject,
  type CustomSchema,
  customKind,
} from './customkind.ts';
export type { EtcdOptions } from './etcdoptions.ts';
export type { ListenOptions, SniFiles } from './listenoptions.ts';
export type { IngressOptions } from './localingress.ts';
export type { LogLine, LogOptions, LogValue } from './log.ts';
export { type NodeJoin, type NodeOptions, type RunningNode, startNode } from './node.ts';
export type { SecureOptions } from './secureoptions.ts';
export type { CertificateFiles, KubeletSettings, ServerSettings } from './serversettings.ts';
export type { SimulatedPower } from './simulatednodes.ts';
export { start } from './start.ts';
export { StartError } from './starterror.ts';
export type { Cluster, StartOptions } from './startoptions.ts';
