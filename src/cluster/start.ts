/**
 * Starts a cluster: store, view, registry and server. This is the embedding API: no globals, no signal
 * handlers, no output; dozens of clusters fit into one process.
 */
import { randomInt, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import path from 'node:path';
import { makeAuthenticator } from '../access/authentication/makeauthenticator.ts';
import { readTokenSettings } from '../access/authentication/tokensettings.ts';
import { KindTable } from '../api/kinds.ts';
import { wallClock } from '../clock.ts';
import { chosenControllers, startControllers } from '../controllers/controllers.ts';
import {
  type Controller,
  type ControllerContext,
  type ControllerSettings,
  defaultSettings,
  type RunningController,
} from '../controllers/shared/controller.ts';
import { LeaderElection } from '../controllers/shared/leaderelection.ts';
import type { AdmissionChain } from '../registry/admission/admission.ts';
import { type AdmissionOptions, admissionChain } from '../registry/admission/plugins.ts';
import { parseIPRange } from '../registry/allocation/ipallocator.ts';
import { parsePortRange } from '../registry/allocation/portallocator.ts';
import { ServiceAllocator, type ServiceRanges } from '../registry/allocation/serviceallocation.ts';
import type { Finalizing } from '../registry/finalizing.ts';
import { formerKeys } from '../registry/formerkeys.ts';
import { defaultHistory, History, type HistoryBounds } from '../registry/history.ts';
import { KubernetesService } from '../registry/kubernetesservice.ts';
import type { ManagedFieldsMode } from '../registry/ownership.ts';
import { type Chance, Registry } from '../registry/registry.ts';
import { SystemNamespaces } from '../registry/systemnamespaces.ts';
import { ensureSystemPriorityClasses } from '../registry/systempriorityclasses.ts';
import type { TokenSettings } from '../registry/tokens.ts';
import { View } from '../registry/view.ts';
import type { WatchDefault } from '../registry/watch.ts';
import { UsageReports } from '../server/computed/usagereports.ts';
import { LimitKeeper, type Limits, limitsProblem } from '../server/http/limits.ts';
import { ApiServer } from '../server/http/server.ts';
import { type AuditLog, type AuditOptions, openAuditLog } from '../server/observe/auditlog.ts';
import type { AuditPolicy } from '../server/observe/auditpolicy.ts';
import { Capacity } from '../server/observe/capacity.ts';
import { StoreMetrics } from '../server/observe/storemetrics.ts';
import { upgradedSentence } from '../store/format.ts';
import { openMemoryStore } from '../store/memory.ts';
import type { Store } from '../store/store.ts';
import type { Access } from './access.ts';
import { observeActivity, requestObserver } from './activity.ts';
import { Closers } from './closers.ts';
import { Doors } from './doors.ts';
import { controllersCheck, nodesCheck, Startup, storeCheck, viewCheck } from './healthchecks.ts';
import { kubeconfigFor } from './kubeconfig.ts';
import type { IngressOptions, RunningIngress } from './localingress.ts';
import { LocalNodes } from './localnodes.ts';
import { type LogOptions, logConfiguration } from './log.ts';
import { checkNodeOptions, defaultServiceRange, type NodeOptions } from './node.ts';
import { NodeCredentials } from './nodecredentials.ts';
import { Ways } from './nodeway.ts';
import { checkStartOptions } from './optioncheck.ts';
import type { ClusterUser, SecureOptions } from './secureoptions.ts';
import type { SimulatedPower } from './simulatednodes.ts';
import { StartError } from './starterror.ts';

export interface StartOptions {
  /** Where objects are kept: in memory, or in `dataDir` on disk. Default: `lmdb` when there is a `dataDir`. */
  readonly store?: 'memory' | 'lmdb';
  /** Folder for objects, pods and logs; made when it does not exist. One server at a time can use it. */
  readonly dataDir?: string;
  /** Address of the local door, which serves plain HTTP; loopback only. Default `127.0.0.1`. */
  readonly host?: string;
  /** Port of the local door. Default 0: any free one. `off` closes it, when there is a secure one. */
  readonly port?: number | 'off';
  /** Open a door over TLS beside the local one, for users who are known and may do what their roles allow. */
  readonly secure?: boolean | SecureOptions;
  /** Which admission plugins run, by Kubernetes' names. Default: all that there are. */
  readonly admission?: AdmissionOptions;
  /** Users of the secure door that get a kubeconfig (`Cluster.kubeconfigFor`), with keys that are in memory only. */
  readonly users?: readonly ClusterUser[];
  /** How long and how many changes are kept for watches. Default: 10 minutes, 50,000 changes. */
  readonly history?: Partial<HistoryBounds>;
  /**
   * `kubernetes`: the defaults of `createStatus` and `watchStart`, and the few answers in which Kubernetes 1.1 and a
   * current API server differ, are those of a stock API server of today.
   */
  readonly like?: 'kubernetes';
  /** HTTP code of a create: 200, or 201 as a stock API server answers. Default 200; with `like`, 201. */
  readonly createStatus?: 200 | 201;
  /** Whose writes `metadata.managedFields` names: `all`, those since an object was `applied`, or `off`. Default applied. */
  readonly managedFields?: ManagedFieldsMode;
  /** What a watch without a `resourceVersion` begins with. Default `history`; with `like`, `state`. */
  readonly watchStart?: WatchDefault;
  /** IPv4 range that services get their addresses from. Default `10.0.0.0/24`. */
  readonly serviceClusterIPRange?: string;
  /** Ports that services get on every node. Default `30000-32767`. */
  readonly serviceNodePortRange?: string;
  /**
   * Which controllers run beside the API server: all, none, or those of a list such as `['-job', '-scheduler']`
   * (all but these), `['namespace']` (these alone) or `['housekeeping']` (those without which objects that are deleted
   * stay, as `wherry serve` runs them). Default true.
   */
  readonly controllers?: boolean | readonly string[];
  /** Elect one of the servers on the same store to run the controllers, by a Lease. Default false: a store has one. */
  readonly leaderElection?: boolean;
  /** Periods and bounds of single controllers. */
  readonly controllerSettings?: Partial<ControllerSettings>;
  /** Run this machine as a node: pods are processes. Default false. */
  readonly node?: boolean | NodeOptions;
  /** How many simulated nodes there are, which do not run pods but report them as running. Default 0. */
  readonly simulatedNodes?: number;
  /** Run an ingress controller on these ports. Default: none runs. */
  readonly ingress?: IngressOptions;
  /** Limits of requests, watches and connections, and sizes from which on a warning is given. */
  readonly limits?: Partial<Limits>;
  /** File with settings of admission plugins: an AdmissionConfiguration, as kube-apiserver reads it. */
  readonly admissionConfigFile?: string;
  /** File of the audit log. Default: none is written. */
  readonly auditLog?: string | AuditOptions;
  /** Called with failures of the server itself, not with refused requests. Default: they are dropped. */
  readonly onError?: (error: Error) => void;
  /**
   * Called once, when the cluster cannot go on because it has lost its store. From then on it answers requests with 503,
   * and is best closed. Default: `onError` is called.
   */
  readonly onFatal?: (error: Error) => void;
  /** Called when there are more objects or bytes than the limits `objectsWarned` and `bytesWarned`. Default: nothing. */
  readonly onWarning?: (message: string) => void;
  /** Told what happens in the cluster: configuration, nodes, pods, slow requests. Default: nothing is told. */
  readonly log?: LogOptions;
  /** Clock, uids and random name suffixes, for tests that need the same ones each time. */
  readonly chance?: Partial<Chance>;
}

export interface Cluster {
  /** Where the API answers, such as `http://127.0.0.1:43121`. */
  readonly url: string;
  /** Where the secure door answers, such as `https://127.0.0.1:43122`; undefined when there is none. */
  readonly secureUrl: string | undefined;
  /** File that holds the administrator's kubeconfig for the secure door; undefined when none was written. */
  readonly kubeconfigFile: string | undefined;
  /** A kubeconfig for the local door or, when that is closed, for the administrator at the secure one; YAML text. */
  readonly kubeconfig: string;
  /** A kubeconfig for a user of the secure door: one of the option `users`, or the administrator, `wherry-admin`. */
  readonly kubeconfigFor: (user: string) => string;
  /** Resolves when the nodes of this process are registered, with a few lines about them for people. */
  readonly nodesReady: Promise<string | undefined>;
  /** Stops and starts single simulated nodes. */
  readonly simulated: SimulatedPower;
  /** Stops serving, and resolves when everything is closed. Safe to call twice. */
  close(): Promise<void>;
}

const defaultNodePortRange = '30000-32767';

const systemChance: Chance = {
  nowMs: wallClock,
  uid: () => randomUUID(),
  randomBelow: (bound) => randomInt(bound),
};

/** Starts a cluster in this process. Resolves when the API answers; nodes register after that. */
export async function start(options: StartOptions = {}): Promise<Cluster> {
  checkStartOptions(options);
  const chance: Chance = { ...systemChance, ...options.chance };
  const report = options.onError ?? (() => undefined);
  const { log } = options;
  const ranges = serviceRanges(options);
  const chosen = controllersOf(options);
  const keeper = limitKeeper(options);
  const node = nodeOptions(options);
  if (node) await checkNodeOptions(node);
  const kinds = new KindTable();
  const storeMetrics = new StoreMetrics();
  const closers = new Closers();
  const store = await openStore(options, chance, storeMetrics);
  closers.add(() => store.close());
  const nodesStartup = new Startup();
  try {
    // Opened before the server, so closed after it, when every request has been logged.
    const audit =
      options.auditLog === undefined ? undefined : await auditLog(options.auditLog, chance, report);
    closers.add(() => audit?.close());
    const view = await View.open(store, kinds, { onError: report, onLost: options.onFatal ?? report });
    closers.add(() => view.close());
    const services = new ServiceAllocator(view, ranges);
    const finalizing = finalizingOf(options, chosen);
    const tokenSettings = await tokenSettingsOf(options);
    const registry = new Registry(store, view, kinds, chance, [services], finalizing, tokenSettings);
    registry.admission = chosenPlugins(options);
    registry.managedFields = options.managedFields ?? 'applied';
    if (options.admissionConfigFile !== undefined)
      await configureAdmission(registry, options.admissionConfigFile);
    const namespaces = new SystemNamespaces(registry, report);
    closers.add(() => namespaces.close());
    await Promise.all([namespaces.start(), ensureSystemPriorityClasses(registry)]);
    const history = new History(store, view, { ...defaultHistory, ...options.history }, chance.nowMs, report);
    closers.add(() => history.close());
    const credentials = new NodeCredentials(registry);
    const ways = new Ways(() => credentials.load());
    const usage = new UsageReports(registry, ways);
    let controllers: RunningController | undefined;
    const idle = (): string | undefined => (controllers ? undefined : 'the controllers do not run');
    const access = await secureAccess(options, registry, services.firstIP, report);
    closers.add(() => access?.close());
    const onWarning = options.onWarning ?? (() => undefined);
    const authentication =
      access?.authentication ?? (await makeAuthenticator({}, { registry, onError: report, onWarning }));
    const doors = new Doors({ ...options, serviceIP: services.firstIP }, access);
    const server = new ApiServer(registry, {
      doors: doors.all,
      createStatus: options.createStatus ?? (options.like ? 201 : 200),
      manner: options.like ?? 'contract',
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
        storeCheck(registry),
        viewCheck(registry),
        ...(chosen.length ? [controllersCheck(idle)] : []),
        nodesCheck(registry, () => ways.localNames, nodesStartup),
        ...(access?.authorization.checks ?? []),
      ],
      nodes: ways,
      usage,
      observer: log && requestObserver(log),
      report,
    });
    closers.add(() => server.close());
    await server.listen();
    await access?.announce();
    if (log) logConfiguration(log, inForce(options, server.url, chosen, keeper));
    const capacity = new Capacity({
      registry,
      keeper,
      warn: options.onWarning ?? (() => undefined),
      report,
    });
    closers.add(() => capacity.close());
    await capacity.start();
    const kubernetes = new KubernetesService(registry, doors.advertised(services.firstIP), report);
    closers.add(() => kubernetes.close());
    await kubernetes.start();
    const settings = { ...defaultSettings, ...options.controllerSettings };
    // Closed before the server, so that nodes can report that they are going.
    const nodes = new LocalNodes({
      api: doors.inside,
      ways,
      node,
      simulated: options.simulatedNodes ?? 0,
      graceMs: settings.nodeGraceMs,
      now: chance.nowMs,
      onError: report,
    });
    closers.add(() => nodes.close());
    const context: ControllerContext = {
      registry,
      settings,
      podUsage: (namespace) => usage.podUsage(namespace),
      trust: access?.trust,
      onError: report,
    };
    const activity = log ? observeActivity(context, log) : [];
    closers.add(() => {
      for (const observation of activity) observation.close();
    });
    const lead = (): RunningController => startControllers(context, chosen);
    controllers = options.leaderElection ? new LeaderElection(context, identity(), lead) : lead();
    // Closed before the nodes: otherwise controllers would react to every pod of the closing nodes.
    closers.add(async () => {
      await controllers?.close();
      controllers = undefined;
    });
    let ingress: RunningIngress | undefined;
    if (options.ingress) {
      const { startIngress } = await import('./localingress.ts');
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
    return {
      nodesReady,
      simulated: nodes.simulated,
      url: doors.url,
      secureUrl: doors.secureUrl,
      kubeconfigFile: access?.kubeconfigFile,
      kubeconfig: options.port === 'off' ? access!.adminKubeconfig : kubeconfigFor(doors.url),
      kubeconfigFor: (name) => userKubeconfig(access, name),
      close: () => closers.close(),
    };
  } catch (error) {
    await closers.close().catch(report);
    throw asStartError(error, options);
  }
}

/** Loaded when there is a file: most clusters have none. */
async function configureAdmission(registry: Registry, file: string): Promise<void> {
  const { readAdmissionFile } = await import('./admissionfile.ts');
  const { podSecurity } = await readAdmissionFile(file);
  if (podSecurity) registry.podSecurity = podSecurity;
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

function chosenPlugins({ admission }: StartOptions): AdmissionChain {
  try {
    return admissionChain(admission);
  } catch (error) {
    throw new StartError((error as Error).message);
  }
}

/** Loaded by those who open the secure door: TLS takes Node some milliseconds. */
async function secureAccess(
  { secure = false, users = [], store, dataDir, onWarning = () => undefined }: StartOptions,
  registry: Registry,
  serviceIP: string,
  onError: (error: Error) => void,
): Promise<Access | undefined> {
  if (!secure) {
    if (users.length) throw new StartError('users need the secure door: set the option "secure"');
    return undefined;
  }
  const { openAccess } = await import('./access.ts');
  return openAccess({
    secure: secure === true ? {} : secure,
    users,
    dataDir: store === 'memory' ? undefined : dataDir,
    serviceIP,
    registry,
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
  };
}

/** What the cluster is run with, defaults included, as its log tells it. */
function inForce(
  options: StartOptions,
  url: string,
  controllers: readonly Controller[],
  { limits }: LimitKeeper,
): Readonly<Record<string, unknown>> {
  const { dataDir, store, history, leaderElection = false, simulatedNodes = 0, ingress, auditLog } = options;
  return {
    url,
    store: store ?? (dataDir === undefined ? 'memory' : 'lmdb'),
    dataDir: dataDir === undefined ? undefined : path.resolve(dataDir),
    history: { ...defaultHistory, ...history },
    serviceClusterIPRange: options.serviceClusterIPRange ?? defaultServiceRange,
    serviceNodePortRange: options.serviceNodePortRange ?? defaultNodePortRange,
    controllers: controllers.map(({ name }) => name).join(','),
    leaderElection,
    node: Boolean(options.node),
    simulatedNodes,
    ingress,
    auditLog,
    limits,
  };
}

/** A unique name of this server for leader election. */
const identity = (): string => `${hostname()}_${randomUUID()}`;

/** Options of the node; its pods are kept next to the objects. */
function nodeOptions({
  node = false,
  dataDir,
  serviceClusterIPRange = defaultServiceRange,
}: StartOptions): NodeOptions | undefined {
  if (node === false) return undefined;
  const folder = dataDir === undefined ? undefined : path.join(path.resolve(dataDir), 'node');
  return { folder, serviceRange: serviceClusterIPRange, ...(node === true ? {} : node) };
}

function controllersOf({ controllers = true }: StartOptions): readonly Controller[] {
  if (controllers === false) return [];
  try {
    return chosenControllers(controllers === true ? ['*'] : controllers);
  } catch (error) {
    throw new StartError((error as Error).message);
  }
}

function serviceRanges(options: StartOptions): ServiceRanges {
  const addressText = options.serviceClusterIPRange ?? defaultServiceRange;
  const addresses = parseIPRange(addressText);
  if (!addresses)
    throw new StartError(
      `the service cluster IP range must be an IPv4 range from /8 to /30 such as 10.0.0.0/24, not ${JSON.stringify(addressText)}`,
    );
  const portText = options.serviceNodePortRange ?? defaultNodePortRange;
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

async function auditLog(
  asked: string | AuditOptions,
  { nowMs }: Chance,
  report: (error: Error) => void,
): Promise<AuditLog> {
  const options = typeof asked === 'string' ? { file: asked } : asked;
  try {
    return await openAuditLog(options, nowMs, report, await auditPolicy(options));
  } catch (error) {
    if (error instanceof StartError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    throw new StartError(`the audit log ${options.file} cannot be written (${code ?? message})`, {
      cause: error,
    });
  }
}

/** Loaded when there is a policy: most clusters have none. */
async function auditPolicy({ policyFile }: AuditOptions): Promise<AuditPolicy | undefined> {
  if (policyFile === undefined) return undefined;
  const { readAuditPolicy } = await import('../server/observe/auditpolicy.ts');
  const { readConfigurationFile } = await import('./configurationfile.ts');
  return readConfigurationFile(policyFile, 'the audit policy', readAuditPolicy);
}

async function openStore(options: StartOptions, chance: Chance, metrics: StoreMetrics): Promise<Store> {
  const kind = options.store ?? (options.dataDir === undefined ? 'memory' : 'lmdb');
  const observed = {
    now: chance.nowMs,
    observe: (...write: Parameters<StoreMetrics['observe']>) => metrics.observe(...write),
  };
  if (kind === 'memory') return openMemoryStore(observed);
  if (kind !== 'lmdb')
    throw new StartError(`there is no store ${JSON.stringify(kind)}; there are memory and lmdb`);
  if (options.dataDir === undefined) throw new StartError('the lmdb store needs a data folder');
  const { openLmdbStore } = await import('../store/lmdb.ts');
  return openLmdbStore({
    dataDir: options.dataDir,
    upgrade: formerKeys,
    onUpgraded: (upgraded) => options.onWarning?.(upgradedSentence(options.dataDir!, upgraded)),
    ...observed,
  });
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
