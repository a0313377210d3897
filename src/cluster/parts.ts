/** From settings to parts: everything that a cluster is made of, up to a server that does not listen yet. */
import { makeAuthenticator } from '../access/authentication/make-authenticator.ts';
import type { Authorization } from '../access/authorization/make-authorizer.ts';
import type { RunningController } from '../controllers/shared/controller.ts';
import { Aggregation } from '../extensions/aggregation/aggregation.ts';
import { HookClient, type ServiceDial } from '../extensions/calls/hook-client.ts';
import { Definitions } from '../extensions/definitions/definitions.ts';
import { SystemNamespaces } from '../registry/system/system-namespaces.ts';
import { ensureSystemPriorityClasses } from '../registry/system/system-priority-classes.ts';
import { History } from '../registry/view/history.ts';
import type { View } from '../registry/view/view.ts';
import type { Writing } from '../registry/writing.ts';
import { UsageReports } from '../server/computed/usage-reports.ts';
import { OwnDoors } from '../server/http/own-doors.ts';
import { servedComputedVersions } from '../server/route-table.ts';
import type { ApiServer } from '../server/server.ts';
import type { Access } from './access/access.ts';
import { DefaultPolicy } from './access/default-policy.ts';
import { Doors } from './doors.ts';
import { Later } from './later.ts';
import { plantLocalPathClass } from './local-path-class.ts';
import { NodeConnections } from './node/node-connections.ts';
import { NodeCredentials } from './node/node-credentials.ts';
import { auditLog } from './protection.ts';
import { makeRegistry, type OpenRegistry } from './registry-parts.ts';
import { makeServer } from './server-parts.ts';
import type { ClusterSettings } from './settings.ts';
import type { Closers } from './shared/closers.ts';
import { Startup } from './shared/health-checks.ts';
import { StartError } from './shared/start-error.ts';
import { ShutdownDelay } from './shutdown-delay.ts';
import { openView, type Storage } from './storage.ts';

export interface Parts extends OpenRegistry {
  readonly definitions: Definitions;
  /** Access by the secure door; undefined when it is closed. */
  readonly access: Access | undefined;
  readonly policy: DefaultPolicy;
  readonly doors: Doors;
  readonly connections: NodeConnections;
  readonly nodeCredentials: NodeCredentials;
  readonly usage: UsageReports;
  readonly aggregation: Aggregation;
  readonly server: ApiServer;
  /** The controllers, while they run. */
  readonly controllers: Later<RunningController>;
  readonly nodesStartup: Startup;
  readonly delay: ShutdownDelay;
}

/** Makes the parts. Each opened part adds its closer, so that it is closed after everything that is made from it. */
export async function makeParts(
  settings: ClusterSettings,
  { store, metrics }: Storage,
  closers: Closers,
): Promise<Parts> {
  const { options, sources, copy, report } = settings;
  const audit =
    options.auditLog === undefined ? undefined : await auditLog(options.auditLog, sources, report);
  closers.add(() => audit?.close(), 'the audit log');
  const view = await openView(settings, store, closers);
  const dialled = new Later<ApiServer>('the server is starting');
  const dial: ServiceDial = (...place) => dialled.part.dialService(...place);
  const hooks = new HookClient(dial);
  closers.add(() => hooks.close(), 'the webhooks');
  const authorization = await authorizationOf(settings, view);
  closers.add(() => authorization?.close(), 'the authorization');
  const made = await makeRegistry(settings, store, view, hooks, authorization);
  const { registry, writing, tokens, services } = made;
  if (!copy) await fill(writing, settings, closers);
  const upkeep = copy && (copy.isWritable ? 'changes' : 'none');
  const definitions = new Definitions(writing, hooks, report, upkeep);
  closers.add(() => definitions.close(), 'the custom kinds');
  await definitions.start();
  const { history: bounds, isShared } = settings;
  const history = new History(store, view, bounds, sources.nowMs, report, isShared, registry.timers);
  closers.add(() => history.close(), 'the history');
  const policy = new DefaultPolicy(writing);
  closers.add(() => policy.close(), 'the default roles');
  const access = await secureAccess(settings, { ...made, policy }, authorization);
  closers.add(() => access?.close(), 'the secure door');
  const doors = doorsOf(settings, services.firstIP, access);
  const nodeCredentials = new NodeCredentials(writing);
  const connections = waysToNodes(settings, nodeCredentials, new OwnDoors(doors.all, view));
  const aggregation = new Aggregation(writing, {
    dial,
    client: () => settings.files.proxyClient ?? access?.proxyClient,
    computed: [...servedComputedVersions(settings.kinds).keys()],
    report,
  });
  const usage = new UsageReports(registry, connections);
  const controllers = new Later<RunningController>('the controllers do not run');
  const nodesStartup = new Startup();
  const delay = new ShutdownDelay(settings.apiServer.shutdownDelayMs);
  const authentication =
    access?.authentication ??
    (await makeAuthenticator({}, { registry, writing, tokens, onError: report, onWarning: settings.warn }));
  const parts = {
    ...made,
    definitions,
    access,
    policy,
    doors,
    connections,
    nodeCredentials,
    usage,
    aggregation,
    controllers,
    nodesStartup,
    delay,
  };
  const server = makeServer(settings, { ...parts, audit, metrics, authentication });
  dialled.set(server);
  closers.add(() => server.close(), 'the server');
  return { ...parts, server };
}

/** Creates the objects that every cluster has. */
async function fill(writing: Writing, settings: ClusterSettings, closers: Closers): Promise<void> {
  const namespaces = new SystemNamespaces(writing, settings.report);
  closers.add(() => namespaces.close(), 'the namespaces');
  await Promise.all([namespaces.start(), ensureSystemPriorityClasses(writing.registry)]);
  if (settings.makesLocalPathClass) await plantLocalPathClass(writing);
  const { minor } = settings.kinds;
  if (!minor) return;
  const { ServerIdentity } = await import('../registry/system/server-identity.ts');
  const identity = new ServerIdentity(writing, minor, settings.report);
  closers.add(() => identity.close(), 'the identity of the server');
  await identity.start();
}

/** Authorization; undefined without a secure door, where every user may do everything. */
async function authorizationOf(
  { options, sources, warn }: ClusterSettings,
  view: View,
): Promise<Authorization | undefined> {
  const { secure = false, users = [] } = options;
  if (!secure) {
    if (users.length) throw new StartError('users need the secure door: set the option "secure"');
    return undefined;
  }
  const { openAuthorization } = await import('./access/authorization.ts');
  return openAuthorization({ view, sources }, secure === true ? {} : secure, warn);
}

/** Loaded when the secure door is opened: TLS takes Node some milliseconds. */
async function secureAccess(
  { options, keeper, report, warn }: ClusterSettings,
  { registry, writing, tokens, services, policy }: OpenRegistry & Pick<Parts, 'policy'>,
  authorization: Authorization | undefined,
): Promise<Access | undefined> {
  const { secure = false, users = [], store, dataDir, unsafeNoFsync } = options;
  if (!authorization) return undefined;
  const { openAccess } = await import('./access/access.ts');
  return openAccess({
    secure: typeof secure === 'object' ? secure : {},
    authorization,
    policy,
    users,
    dataDir: store === 'memory' ? undefined : dataDir,
    unsafeNoFsync,
    serviceIP: services.firstIP,
    registry,
    writing,
    tokens,
    limits: keeper.limits,
    onError: report,
    onWarning: warn,
  });
}

function waysToNodes(
  { files, apiServer }: ClusterSettings,
  credentials: NodeCredentials,
  doors: OwnDoors,
): NodeConnections {
  const trust = files.nodeTrust(async () => {
    const { ca, client } = await credentials.load();
    return { ca: ca.cert, client, namesNodes: true };
  });
  return new NodeConnections(trust, apiServer.kubelet?.timeoutMs, doors);
}

function doorsOf({ options }: ClusterSettings, serviceIP: string, access: Access | undefined): Doors {
  const { advertiseAddress } = typeof options.secure === 'object' ? options.secure : {};
  return new Doors({ host: options.host, port: options.port, serviceIP, advertiseAddress }, access);
}
