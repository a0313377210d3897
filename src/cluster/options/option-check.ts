/** Checks the names of options: a misspelt one would silently be ignored. */
import type { StaticUser } from '../../access/authentication/static-tokens.ts';
import type { ControllerSettings } from '../../controllers/shared/controller.ts';
import type { AdmissionOptions } from '../../registry/admission/plugins.ts';
import type { Sources } from '../../registry/registry.ts';
import type { HistoryBounds } from '../../registry/view/history.ts';
import type { AuditOptions } from '../../server/observe/audit-log.ts';
import type { AuditWebhookOptions } from '../../server/observe/audit-webhook.ts';
import type { IngressOptions } from '../node/local-ingress.ts';
import type { NodeOptions } from '../node/node.ts';
import type { LogOptions } from '../shared/log.ts';
import { StartError } from '../shared/start-error.ts';
import { nearestName } from '../shared/suggestion.ts';
import type { EtcdOptions } from './etcd-options.ts';
import type { SecureOptions } from './secure-options.ts';
import type { ServerSettings } from './server-settings.ts';
import type { StartOptions } from './start-options.ts';

/** The compiler checks that none is missing. */
type Names<T> = Readonly<Record<keyof Required<T>, true>>;

const startNames: Names<StartOptions> = {
  store: true,
  etcd: true,
  dataDir: true,
  unsafeNoFsync: true,
  host: true,
  port: true,
  secure: true,
  admission: true,
  users: true,
  kinds: true,
  runtimeConfig: true,
  history: true,
  like: true,
  createStatus: true,
  managedFields: true,
  allowPrivileged: true,
  watchStart: true,
  serviceClusterIPRange: true,
  serviceNodePortRange: true,
  controllers: true,
  leaderElection: true,
  controllerSettings: true,
  node: true,
  simulatedNodes: true,
  defaultStorageClass: true,
  ingress: true,
  ui: true,
  apiServer: true,
  limits: true,
  admissionConfigFile: true,
  encryptionConfigFile: true,
  auditLog: true,
  onError: true,
  onFatal: true,
  onWarning: true,
  log: true,
  chance: true,
};

const nodeNames: Names<NodeOptions> = {
  name: true,
  folder: true,
  volumes: true,
  address: true,
  podNetwork: true,
  podRange: true,
  serviceRange: true,
  logLinks: true,
  images: true,
  runtime: true,
  dockerSocket: true,
  criSocket: true,
  kubeletPort: true,
  labels: true,
  join: true,
  now: true,
  log: true,
  onError: true,
};

const logNames: Names<LogOptions> = { level: true, write: true };
const secureNames: Names<SecureOptions> = {
  host: true,
  port: true,
  orAnyPort: true,
  advertiseAddress: true,
  sans: true,
  certFile: true,
  keyFile: true,
  sniCertificates: true,
  clientCAFile: true,
  minVersion: true,
  ciphers: true,
  kubeconfigFile: true,
  http2: true,
  http2StreamsMax: true,
  tokenAuthFile: true,
  requestHeader: true,
  bootstrapTokens: true,
  anonymous: true,
  oidc: true,
  configFile: true,
  tokenWebhook: true,
  serviceAccounts: true,
  apiAudiences: true,
  authorizationModes: true,
  authorizationConfigFile: true,
  authorizationPolicyFile: true,
  authorizationWebhook: true,
};
const userNames: Names<StaticUser> = { name: true, uid: true, groups: true, token: true };

const etcdNames: Names<EtcdOptions> = {
  servers: true,
  caFile: true,
  certFile: true,
  keyFile: true,
  prefix: true,
  eventServers: true,
};

const serverNames: Names<ServerSettings> = {
  corsAllowedOrigins: true,
  strictTransportSecurity: true,
  goawayChance: true,
  gitVersion: true,
  emulatedVersion: true,
  watchSecondsMin: true,
  watchLists: true,
  compressesAnswers: true,
  notReadyTolerationSeconds: true,
  unreachableTolerationSeconds: true,
  kubernetesNodePort: true,
  kubernetesEndpoints: true,
  shutdownDelayMs: true,
  kubelet: true,
  proxyClient: true,
};

const historyNames: Names<HistoryBounds> = { ageMaxMs: true, changesMax: true };
const ingressNames: Names<IngressOptions> = { port: true, tlsPort: true, host: true };
const auditNames: Names<AuditOptions> = {
  file: true,
  fileBytesMax: true,
  backupsMax: true,
  fileAgeMaxMs: true,
  fileFormat: true,
  fileMode: true,
  webhook: true,
  policyFile: true,
};
const auditWebhookNames: Names<AuditWebhookOptions> = {
  configFile: true,
  mode: true,
  batchEventsMax: true,
  batchWaitMs: true,
  bufferEventsMax: true,
  retryMs: true,
};
const admissionNames: Names<AdmissionOptions> = { enabled: true, disabled: true };
const chanceNames: Names<Sources> = { nowMs: true, uid: true, randomBelow: true };
const settingNames: Names<ControllerSettings> = {
  nodeGraceMs: true,
  namespaceGraceMs: true,
  collectOnlyDeletedOwners: true,
  finishedPodsMax: true,
  eventLifeMs: true,
  autoscalerSyncMs: true,
  serviceAccountTokenSecrets: true,
};

/** Throws a `StartError` that names the first unknown option. Limits are checked where they are read. */
export function checkStartOptions(options: StartOptions): void {
  checkNames(options, startNames, '');
  if (options.like !== undefined && options.like !== 'kubernetes')
    throw new StartError(`a cluster can be like "kubernetes" only, not ${JSON.stringify(options.like)}`);
  const { managedFields = 'all' } = options;
  if (!['all', 'applied', 'off'].includes(managedFields))
    throw new StartError(
      `managedFields must be "all", "applied" or "off", not ${JSON.stringify(managedFields)}`,
    );
  checkNames(options.node, nodeNames, 'node.');
  checkNames(options.secure, secureNames, 'secure.');
  for (const user of options.users ?? []) checkNames(user, userNames, 'users[].');
  checkNames(options.etcd, etcdNames, 'etcd.');
  checkNames(options.apiServer, serverNames, 'apiServer.');
  checkNames(options.history, historyNames, 'history.');
  checkNames(options.ingress, ingressNames, 'ingress.');
  checkNames(options.auditLog, auditNames, 'auditLog.');
  if (typeof options.auditLog === 'object')
    checkNames(options.auditLog.webhook, auditWebhookNames, 'auditLog.webhook.');
  checkNames(options.log, logNames, 'log.');
  checkNames(options.admission, admissionNames, 'admission.');
  checkNames(options.chance, chanceNames, 'chance.');
  checkNames(options.controllerSettings, settingNames, 'controllerSettings.');
}

export function checkNodeOptionNames(options: NodeOptions): void {
  checkNames(options, nodeNames, '');
}

function checkNames(given: unknown, known: Readonly<Record<string, true>>, place: string): void {
  if (typeof given !== 'object' || given === null) return;
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(known, name));
  if (unknown === undefined) return;
  const meant = nearestName(unknown, Object.keys(known));
  throw new StartError(
    `there is no option ${JSON.stringify(`${place}${unknown}`)}${meant === undefined ? '' : `; did you mean ${JSON.stringify(`${place}${meant}`)}?`}`,
  );
}
