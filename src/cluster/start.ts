/**
 * Starts a cluster: store, view, registry and server. This is the embedding API: no globals, no signal
 * handlers, no output; dozens of clusters fit into one process.
 */
import { randomInt, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeAuthenticator } from '../access/authentication/make-authenticator.ts';
import { readTokenSettings } from '../access/authentication/token-settings.ts';
import { builtinKinds, KindTable } from '../api/kinds/kinds.ts';
import { Enablement, runtimeConfigProblem } from '../api/values/runtime-config.ts';
import { wallClock } from '../clock.ts';
import { chosenControllers, startControllers } from '../controllers/controllers.ts';
import { eventExpiryController } from '../controllers/event-expiry.ts';
import {
  type Controller,
  type ControllerContext,
  defaultSettings,
  type RunningController,
} from '../controllers/shared/controller.ts';
import { LeaderElection } from '../controllers/shared/leader-election.ts';
import { localPathProvisioner } from '../controllers/volumes/local-path.ts';
import { Aggregation } from '../extensions/aggregation/aggregation.ts';
import { Definitions } from '../extensions/definitions/definitions.ts';
import { MutatingPolicies } from '../extensions/policies/mutating-policies.ts';
import { ValidatingPolicies } from '../extensions/policies/validating-policies.ts';
import { HookClient, type ServiceDial } from '../extensions/webhooks/hook-client.ts';
import { MutatingWebhooks } from '../extensions/webhooks/mutating-webhooks.ts';
import { ValidatingWebhooks } from '../extensions/webhooks/validating-webhooks.ts';
import type { AdmissionChain } from '../registry/admission/admission.ts';
import { admissionChain, type ExtensionPlugins } from '../registry/admission/plugins.ts';
import { parseIPRanges } from '../registry/allocation/ip-allocator.ts';
import { parsePortRange } from '../registry/allocation/port-allocator.ts';
import { ServiceAllocator, type ServiceRanges } from '../registry/allocation/service-allocation.ts';
import { openReadableView } from '../registry/encryption/readable-view.ts';
import type { Finalizing } from '../registry/finalizing.ts';
import { Registry, type Sources } from '../registry/registry.ts';
import { KubernetesService } from '../registry/system/kubernetes-service.ts';
import { SystemNamespaces } from '../registry/system/system-namespaces.ts';
import { ensureSystemPriorityClasses } from '../registry/system/system-priority-classes.ts';
import type { TokenSettings } from '../registry/tokens.ts';
import { warnUnenforced } from '../registry/verbs/policy-enforcement.ts';
import { defaultHistory, History } from '../registry/view/history.ts';
import type { RequestObserver } from '../server/chain/step.ts';
import { UsageReports } from '../server/computed/usage-reports.ts';
import { Dashboard } from '../server/dashboard/dashboard.ts';
import { LimitKeeper, limitsProblem } from '../server/http/limits.ts';
import { Capacity } from '../server/observe/capacity.ts';
import { StoreMetrics } from '../server/observe/store-metrics.ts';
import { NodeVolumes } from '../server/pods/node-volumes.ts';
import { computedVersions, servedComputedVersions } from '../server/route-table.ts';
import { ApiServer } from '../server/server.ts';
import type { Access } from './access/access.ts';
import { kubeconfigFor } from './access/kubeconfig.ts';
import type { Cluster, StartOptions } from './cluster.ts';
import { kindsOfProgram } from './custom-kind.ts';
import { Doors } from './doors.ts';
import { plantLocalPathClass } from './local-path-class.ts';
import type { RunningIngress } from './node/local-ingress.ts';
import { LocalNodes } from './node/local-nodes.ts';
import { checkNodeOptions } from './node/node.ts';
import { NodeConnections } from './node/node-connections.ts';
import { NodeCredentials } from './node/node-credentials.ts';
import { effectiveOptions } from './options/effective-options.ts';
import type { NodeOptions } from './options/nodes.ts';
import { defaultOf } from './options/option.ts';
import { checkStartOptions } from './options/option-check.ts';
import { readServerSettings } from './options/server-settings.ts';
import { servingOptions } from './options/serving.ts';
import { auditLog, configureAdmission, encrypted } from './protection.ts';
import { rangeInForce, tellRefusedRange } from './service-range.ts';
import { observeActivity, requestObserver } from './shared/activity.ts';
import { Closers } from './shared/closers.ts';
import { ErrorReport } from './shared/error-report.ts';
import {
  controllersCheck,
  nodesCheck,
  Startup,
  shutdownCheck,
  storeCheck,
  viewCheck,
} from './shared/health-checks.ts';
import type { ClusterParts, Instruments } from './shared/instruments.ts';
import { logConfiguration } from './shared/log.ts';
import { StartError } from './shared/start-error.ts';
import { heldHere, openEventStore } from './store/event-store.ts';
import { isShared, openStore } from './store/store-choice.ts';

const systemChance: Sources = {
  nowMs: wallClock,
  uid: () => randomUUID(),
  randomBelow: (bound) => randomInt(bound),
};

/** Starts a cluster in this process. Resolves when the API answers; nodes register after that. */
export async function start(options: StartOptions = {}): Promise<Cluster> {
  return (await startWith(options, undefined)).cluster;
}

/** The same with instruments, and with the parts that they look at. */
export async function startWith(
  options: StartOptions,
  instruments: Instruments | undefined,
): Promise<{ readonly cluster: Cluster; readonly parts: ClusterParts }> {
  checkStartOptions(options);
  const chance: Sources = { ...(instruments?.chance ?? systemChance), ...options.chance };
  const { tell: report, tellLoss } = new ErrorReport(options.onError, options.onFatal);
  const { log } = options;
  const wantedRanges = serviceRanges(options);
  const chosen = controllersOf(options);
  const keeper = limitKeeper(options);
  const node = nodeOptions(options);
  if (node) await checkNodeOptions(node);
  const { apiServer = {} } = options;
  const settings = await readServerSettings(apiServer);
  const kinds = kindTable(options);
  const storeMetrics = new StoreMetrics();
  const closers = new Closers();
  const store = await encrypted(
    await openStore(options, chance, storeMetrics, instruments),
    kinds,
    options.encryptionConfigFile,
  );
  closers.add(() => store.close());
  const nodesStartup = new Startup();
  let delayed: Promise<unknown> | undefined;
  try {
    // Opened before the server, so closed after it, when every request has been logged.
    const audit =
      options.auditLog === undefined ? undefined : await auditLog(options.auditLog, chance, report);
    closers.add(() => audit?.close());
    const viewOptions = { onError: report, onLost: tellLoss };
    const view = await openReadableView(store, kinds, { ...viewOptions, holds: heldHere(options) });
    closers.add(() => view.close());
    await openEventStore(options, kinds, chance, view, viewOptions, closers);
    const range = rangeInForce(
      view,
      options.serviceClusterIPRange ?? defaultOf(servingOptions.serviceClusterIPRange),
    );
    const ranges = range.refused ? { ...wantedRanges, addresses: parseIPRanges(range.text)! } : wantedRanges;
    const services = new ServiceAllocator(view, ranges);
    const finalizing = finalizingOf(options, chosen);
    const tokenSettings = await tokenSettingsOf(options);
    const registry = new Registry(
      store,
      view,
      kinds,
      chance,
      [services, services.addresses],
      finalizing,
      tokenSettings,
    );
    if (instruments) registry.timers = instruments.timers;
    instruments?.attach(registry);
    const dial: ServiceDial = (...place) => {
      if (!running) throw new Error('the server is starting');
      return running.dialService(...place);
    };
    const hooks = new HookClient(dial);
    closers.add(() => hooks.close());
    let running: ApiServer | undefined;
    registry.admission = chosenPlugins(options, {
      mutating: [new MutatingPolicies(registry), new MutatingWebhooks(registry, hooks)],
      validating: [new ValidatingPolicies(registry), new ValidatingWebhooks(registry, hooks)],
    });
    registry.admission = registry.admission.guardedBy(warnUnenforced);
    registry.managedFields = options.managedFields ?? 'all';
    registry.tolerationSeconds = {
      notReady: apiServer.notReadyTolerationSeconds ?? registry.tolerationSeconds.notReady,
      unreachable: apiServer.unreachableTolerationSeconds ?? registry.tolerationSeconds.unreachable,
    };
    registry.allowance = { privileged: options.allowPrivileged ?? false };
    await configureAdmission(registry, options.admissionConfigFile);
    const namespaces = new SystemNamespaces(registry, report);
    closers.add(() => namespaces.close());
    await Promise.all([namespaces.start(), ensureSystemPriorityClasses(registry)]);
    if (wantsLocalPathClass(options, chosen)) await plantLocalPathClass(registry);
    const definitions = new Definitions(registry, hooks, report);
    closers.add(() => definitions.close());
    await definitions.start();
    const bounds = { ...defaultHistory, ...options.history };
    const history = new History(
      store,
      view,
      bounds,
      chance.nowMs,
      report,
      isShared(options),
      registry.timers,
    );
    closers.add(() => history.close());
    const credentials = new NodeCredentials(registry);
    const trust = settings.nodeTrust(async () => {
      const authority = await credentials.load();
      return access?.nodeTrust(authority) ?? { ca: authority.ca.cert, client: authority.client };
    });
    const nodeConnections = new NodeConnections(trust, apiServer.kubelet?.timeoutMs);
    const usage = new UsageReports(registry, nodeConnections);
    let controllers: RunningController | undefined;
    const idle = (): string | undefined => (controllers ? undefined : 'the controllers do not run');
    const access = await secureAccess(options, registry, services.firstIP, keeper.limits, report);
    closers.add(() => access?.close());
    const onWarning = options.onWarning ?? (() => undefined);
    const authentication =
      access?.authentication ?? (await makeAuthenticator({}, { registry, onError: report, onWarning }));
    const { advertiseAddress } = typeof options.secure === 'object' ? options.secure : {};
    const doors = new Doors({ ...options, serviceIP: services.firstIP, advertiseAddress }, access);
    const aggregation = new Aggregation(registry, {
      dial,
      client: () => settings.proxyClient ?? access?.proxyClient,
      computed: [...servedComputedVersions(kinds).keys()],
      report,
    });
    const server = new ApiServer(registry, {
      aggregation,
      doors: doors.all,
      createStatus: options.createStatus ?? (options.like ? 201 : 200),
      compatibility: options.like ?? 'contract',
      watchDefault: options.watchStart ?? (options.like ? 'state' : 'history'),
      keeper,
      storeMetrics,
      authentication,
      audit,
      components: [
        { name: 'etcd-0', failure: () => (registry.writeFailure ?? view.failure)?.message },
        ...(chosen.length ? [{ name: 'controller-manager', failure: idle }] : []),
        ...(chosen.some(({ name }) => name === 'scheduler') ? [{ name: 'scheduler', failure: idle }] : []),
      ],
      health: [
        { ...storeCheck(registry), readyOnly: isShared(options) },
        { ...viewCheck(registry), readyOnly: isShared(options) },
        ...(chosen.length ? [controllersCheck(idle)] : []),
        nodesCheck(registry, () => nodeConnections.localNames, nodesStartup),
        ...(apiServer.shutdownDelayMs ? [shutdownCheck(() => delayed !== undefined)] : []),
        ...(access?.authorization.checks ?? []),
      ],
      dashboard: options.ui === false ? undefined : new Dashboard(),
      nodes: nodeConnections,
      nodeAddressTypes: apiServer.kubelet?.addressTypes,
      settings: apiServer,
      usage,
      observer: joined(instruments?.observer, log && requestObserver(log)),
      instruments,
      report,
    });
    running = server;
    closers.add(() => server.close());
    await server.listen();
    closers.add(() => aggregation.close());
    aggregation.start().catch(report);
    if (log) logConfiguration(log, effectiveOptions(options, server.url, chosen, keeper));
    const capacity = new Capacity({
      registry,
      keeper,
      warn: options.onWarning ?? (() => undefined),
      report,
    });
    closers.add(() => capacity.close());
    const advertised = { ...doors.advertised(services.firstIP), serviceRange: range.text };
    const { kubernetesNodePort: nodePort, kubernetesEndpoints: endpoints } = apiServer;
    const kubernetes = new KubernetesService(registry, { ...advertised, nodePort, endpoints }, report);
    closers.add(() => kubernetes.close());
    // Together, so that what they write shares a commit.
    await Promise.all([access?.announce(), capacity.start(), kubernetes.start()]);
    await tellRefusedRange(registry, range, onWarning, report);
    const periods = { ...defaultSettings, ...options.controllerSettings };
    // Closed before the server, so that nodes can report that they are going.
    const nodes = new LocalNodes({
      api: doors.inside,
      connections: nodeConnections,
      node: node && { serviceRange: range.text, ...node },
      simulated: options.simulatedNodes ?? 0,
      graceMs: periods.nodeGraceMs,
      now: chance.nowMs,
      timers: registry.timers,
      onError: report,
    });
    closers.add(() => nodes.close());
    const context: ControllerContext = {
      registry,
      settings: periods,
      nodeVolumes: new NodeVolumes(nodeConnections),
      podUsage: (namespace) => usage.podUsage(namespace),
      trust: access?.trust,
      onError: report,
    };
    const activity = log ? observeActivity(context, log) : [];
    closers.add(() => {
      for (const observation of activity) observation.close();
    });
    const lead = (): RunningController => startControllers(context, chosen);
    controllers =
      (options.leaderElection ?? isShared(options)) ? new LeaderElection(context, identity(), lead) : lead();
    // Closed before the nodes: otherwise controllers would react to every pod of the closing nodes.
    closers.add(async () => {
      await controllers?.close();
      controllers = undefined;
    });
    let ingress: RunningIngress | undefined;
    if (options.ingress) {
      const { startIngress } = await import('./node/local-ingress.ts');
      ingress = await startIngress(doors.inside, doors.ports, options.ingress, {
        now: chance.nowMs,
        onError: report,
      });
    }
    closers.add(() => ingress?.close());
    const described = (): string | undefined =>
      [nodes.description, ingress?.description].filter(Boolean).join('\n') || undefined;
    const nodesReady = nodes.start().then(described);
    nodesStartup.follow(nodesReady);
    nodesReady.catch(report);
    const cluster: Cluster = {
      nodesReady,
      simulated: nodes.simulated,
      url: doors.url,
      secureUrl: doors.secureUrl,
      kubeconfigFile: access?.kubeconfigFile,
      get kubeconfig() {
        return options.port === 'off' ? access!.adminKubeconfig : kubeconfigFor(doors.url);
      },
      kubeconfigFor: (name) => userKubeconfig(access, name),
      close: async () => {
        if (apiServer.shutdownDelayMs) await (delayed ??= sleep(apiServer.shutdownDelayMs));
        await closers.close();
      },
    };
    return { cluster, parts: { registry, definitions, nodes, controllers: () => controllers } };
  } catch (error) {
    await closers.close().catch(report);
    throw asStartError(error, options);
  }
}

const joined = (
  first: RequestObserver | undefined,
  second: RequestObserver | undefined,
): RequestObserver | undefined =>
  first && second
    ? (...request) => {
        first(...request);
        second(...request);
      }
    : (first ?? second);

/** The built-in kinds, and those of the program. */
function kindTable({ kinds = [], runtimeConfig = {} }: StartOptions): KindTable {
  const own = kindsOfProgram(kinds);
  const names = own.map(({ apiVersion, resource }) => `${apiVersion} ${resource}`);
  if (new Set(names).size < names.length) throw new StartError('two of the kinds have the same name');
  const enablement = new Enablement(runtimeConfig);
  const table = new KindTable([...builtinKinds, ...own], enablement.serves);
  const problem =
    runtimeConfigProblem(runtimeConfig) ??
    enablement.problem((apiVersion) => computedVersions.has(apiVersion) || table.hasVersion(apiVersion));
  if (problem) throw new StartError(problem);
  return table;
}

/** undefined: the defaults. */
async function tokenSettingsOf({ secure = false }: StartOptions): Promise<TokenSettings | undefined> {
  if (!secure) return undefined;
  try {
    return await readTokenSettings(secure === true ? {} : secure);
  } catch (error) {
    throw new StartError((error as Error).message, { cause: error });
  }
}

function chosenPlugins({ admission }: StartOptions, extensions: ExtensionPlugins): AdmissionChain {
  try {
    return admissionChain(admission, extensions);
  } catch (error) {
    throw new StartError((error as Error).message);
  }
}

/** Loaded by those who open the secure door: TLS takes Node some milliseconds. */
async function secureAccess(
  { secure = false, users = [], store, dataDir, unsafeNoFsync, onWarning = () => undefined }: StartOptions,
  registry: Registry,
  serviceIP: string,
  limits: LimitKeeper['limits'],
  onError: (error: Error) => void,
): Promise<Access | undefined> {
  if (!secure) {
    if (users.length) throw new StartError('users need the secure door: set the option "secure"');
    return undefined;
  }
  const { openAccess } = await import('./access/access.ts');
  return openAccess({
    secure: secure === true ? {} : secure,
    users,
    dataDir: store === 'memory' ? undefined : dataDir,
    unsafeNoFsync,
    serviceIP,
    registry,
    limits,
    onError,
    onWarning,
  });
}

function userKubeconfig(access: Access | undefined, name: string): string {
  if (!access) throw new Error('this cluster has no secure door: start it with the option "secure"');
  return access.kubeconfigFor(name);
}

/** A stock API server puts finalizers on whether anything takes them off or not; here it depends on who runs. */
function finalizingOf({ like }: StartOptions, chosen: readonly Controller[]): Finalizing {
  const runs = (wanted: string): boolean => like !== undefined || chosen.some(({ name }) => name === wanted);
  return {
    protection: runs('protection'),
    collection: runs('garbagecollector'),
    prompt: like === undefined,
    kept: like === undefined,
  };
}

/** A unique name of this server for leader election. */
const identity = (): string => `${hostname()}_${randomUUID()}`;

/** Options of the node; its pods are kept next to the objects. */
function nodeOptions({ node = false, dataDir }: StartOptions): NodeOptions | undefined {
  if (node === false) return undefined;
  const folder = dataDir === undefined ? undefined : path.join(path.resolve(dataDir), 'node');
  const volumes = dataDir === undefined ? undefined : path.join(path.resolve(dataDir), 'volumes');
  return { folder, volumes, ...(node === true ? {} : node) };
}

/** Whether claims that name no class get volumes on the disks of nodes. */
function wantsLocalPathClass(
  { defaultStorageClass, node = false, simulatedNodes = 0 }: StartOptions,
  chosen: readonly Controller[],
): boolean {
  const isWanted = defaultStorageClass ?? (node !== false || simulatedNodes > 0);
  return isWanted && chosen.includes(localPathProvisioner);
}

function controllersOf(options: StartOptions): readonly Controller[] {
  const { controllers = true } = options;
  if (controllers === false) return [];
  try {
    const chosen = chosenControllers(controllers === true ? ['*'] : controllers);
    // Leases of etcd end events, whoever is there.
    return isShared(options) ? chosen.filter((controller) => controller !== eventExpiryController) : chosen;
  } catch (error) {
    throw new StartError((error as Error).message);
  }
}

function serviceRanges(options: StartOptions): ServiceRanges {
  const addressText = options.serviceClusterIPRange ?? defaultOf(servingOptions.serviceClusterIPRange);
  const addresses = parseIPRanges(addressText);
  if (!addresses)
    throw new StartError(
      `the service cluster IP range must be an IPv4 range from /8 to /30 such as 10.0.0.0/24, an IPv6 range from /64 to /126, or one of each, not ${JSON.stringify(addressText)}`,
    );
  const portText = options.serviceNodePortRange ?? defaultOf(servingOptions.serviceNodePortRange);
  const nodePorts = parsePortRange(portText);
  if (!nodePorts)
    throw new StartError(
      `the service node port range must be two ports such as 30000-32767, not ${JSON.stringify(portText)}`,
    );
  return { addresses, nodePorts };
}

function limitKeeper({ limits = {} }: StartOptions): LimitKeeper {
  const problem = limitsProblem(limits);
  if (problem) throw new StartError(problem);
  return new LimitKeeper(limits);
}

function asStartError(error: unknown, options: StartOptions): unknown {
  // Node's error names the port that could not be opened: the server's or the ingress'.
  const {
    code,
    address: host = options.host ?? '127.0.0.1',
    port = options.port,
  } = error as NodeJS.ErrnoException & { address?: string; port?: number };
  if (code === 'EADDRINUSE')
    return new StartError(`port ${port} on ${host} is taken by another process`, { cause: error });
  if (code === 'EACCES')
    return new StartError(`port ${port} on ${host} may not be used by this user`, { cause: error });
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return new StartError(`${host} is not an address of this machine`, { cause: error });
  return error;
}
