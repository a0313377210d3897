/**
 * From options to settings: all values that a cluster runs with, defaults included, checked before anything is opened.
 */
import { randomInt, randomUUID } from 'node:crypto';
import path from 'node:path';
import { readTokenSettings } from '../access/authentication/token-settings.ts';
import type { TokenSettings } from '../access/tokens/tokens.ts';
import type { Kind } from '../api/kind/kind.ts';
import { builtinKinds, KindTable } from '../api/kinds/kinds.ts';
import { Enablement, runtimeConfigProblem } from '../api/kinds/runtime-config.ts';
import type { Minor } from '../api/minors/minor.ts';
import { wallClock } from '../clock.ts';
import { chosenControllers } from '../controllers/controllers.ts';
import { eventExpiryController } from '../controllers/event-expiry.ts';
import {
  type Controller,
  type ControllerSettings,
  defaultSettings,
} from '../controllers/shared/controller.ts';
import { localPathProvisioner } from '../controllers/volumes/local-path.ts';
import { machineAddress } from '../node/machine/machine-address.ts';
import { parseIPRanges } from '../registry/allocation/ip-allocator.ts';
import { parsePortRange } from '../registry/allocation/port-allocator.ts';
import type { ServiceRanges } from '../registry/allocation/service-allocation.ts';
import type { Finalizing } from '../registry/finalizing.ts';
import type { Sources } from '../registry/registry.ts';
import { defaultHistory, type HistoryBounds } from '../registry/view/history.ts';
import { LimitKeeper, limitsProblem } from '../server/http/limits.ts';
import { computedVersions } from '../server/route-table.ts';
import type { StartOptions } from './cluster.ts';
import { checkNodeOptions } from './node/node.ts';
import type { Lifecycle } from './options/lifecycles.ts';
import { checkNodeGroups, isMachine, type NodeGroup } from './options/node-groups.ts';
import type { NodeOptions } from './options/nodes.ts';
import { defaultOf } from './options/option.ts';
import { checkStartOptions } from './options/option-check.ts';
import { type ReadSettings, readServerSettings, type ServerSettings } from './options/server-settings.ts';
import { servingOptions } from './options/serving.ts';
import type { Copy } from './shared/copy.ts';
import { kindsOfProgram } from './shared/custom-kind.ts';
import { ErrorReport } from './shared/error-report.ts';
import type { Instruments } from './shared/instruments.ts';
import type { ListenPort } from './shared/ports.ts';
import { StartError } from './shared/start-error.ts';
import { isShared } from './store/store-choice.ts';

/** The settings, frozen: a start changes nothing that was asked for. */
export interface ClusterSettings {
  /** The options as given, for parts that read their own. */
  readonly options: StartOptions;
  readonly instruments: Instruments | undefined;
  /** Undefined: an ordinary cluster. */
  readonly copy: Copy | undefined;
  readonly sources: Sources;
  readonly report: (error: Error) => void;
  /** Reports that the store is lost. */
  readonly reportLoss: (error: Error) => void;
  readonly warn: (message: string) => void;
  readonly kinds: KindTable;
  readonly keeper: LimitKeeper;
  /** Ranges for the addresses and ports of services; a range of addresses in the store takes precedence. */
  readonly ranges: ServiceRanges;
  readonly addressRange: string;
  readonly controllers: readonly Controller[];
  readonly controllerSettings: ControllerSettings;
  readonly finalizing: Finalizing;
  /** Token settings; undefined: the defaults. */
  readonly tokens: TokenSettings | undefined;
  readonly history: HistoryBounds;
  /** Whether other servers may use the same store. */
  readonly isShared: boolean;
  /** Options of the node; undefined: no pods run on this machine. */
  readonly node: NodeOptions | undefined;
  readonly simulated: readonly NodeGroup[];
  /** What happens to simulated pods and nodes as time passes. */
  readonly lifecycles: readonly Lifecycle[];
  readonly makesLocalPathClass: boolean;
  readonly makesDefaultRoles: boolean;
  readonly apiServer: ServerSettings;
  /** The contents of the files that `apiServer` names. */
  readonly files: ReadSettings;
}

const systemSources: Sources = {
  nowMs: wallClock,
  uid: () => randomUUID(),
  randomBelow: (bound) => randomInt(bound),
};

/** Rejects with a `StartError` when the options cannot be met. */
export async function readSettings(
  given: StartOptions,
  instruments: Instruments | undefined,
  copy?: Copy,
): Promise<ClusterSettings> {
  checkStartOptions(given);
  // A cluster of a minor of Kubernetes answers as Kubernetes does.
  const minor = await chosenMinor(given);
  const options = minor ? optionsIn(minor, given) : given;
  const addressRange = options.serviceClusterIPRange ?? defaultOf(servingOptions.serviceClusterIPRange);
  const ranges = serviceRanges(options, addressRange);
  const controllers = controllersOf(options);
  const keeper = limitKeeper(options);
  if (options.nodes) checkNodeGroups(options.nodes);
  const node = nodeOptions(options);
  const simulated = simulatedGroups(options);
  if (node) await checkNodeOptions(node);
  const { apiServer = {} } = options;
  const { tell: report, tellLoss: reportLoss } = new ErrorReport(options.onError, options.onFatal);
  return Object.freeze({
    options,
    instruments,
    copy,
    sources: { ...(instruments?.sources ?? systemSources), ...options.chance },
    report,
    reportLoss,
    warn: options.onWarning ?? (() => undefined),
    files: await readServerSettings(apiServer),
    kinds: kindTable(options, minor, copy?.kinds),
    keeper,
    ranges,
    addressRange,
    controllers,
    controllerSettings: { ...defaultSettings, ...options.controllerSettings },
    finalizing: finalizingOf(options, controllers),
    tokens: await tokenSettingsOf(options),
    history: { ...defaultHistory, ...options.history },
    isShared: isShared(options),
    node,
    simulated,
    lifecycles: await lifecyclesOf(options),
    makesLocalPathClass: wantsLocalPathClass(
      options,
      controllers,
      node !== undefined || simulated.length > 0,
    ),
    makesDefaultRoles: Boolean(options.secure) || options.defaultRoles === true,
    apiServer,
  });
}

/** The built-in kinds, and those of the program. */
function kindTable(
  { kinds = [], runtimeConfig = {} }: StartOptions,
  minor: Minor | undefined,
  copied: readonly Kind[] = [],
): KindTable {
  const own = [...kindsOfProgram(kinds), ...copied];
  const names = own.map(({ apiVersion, resource }) => `${apiVersion} ${resource}`);
  if (new Set(names).size < names.length) throw new StartError('two of the kinds have the same name');
  const enablement = new Enablement(runtimeConfig, minor);
  const table = new KindTable([...builtinKinds, ...(minor?.kinds() ?? []), ...own], enablement.serves, minor);
  const problem =
    runtimeConfigProblem(runtimeConfig) ??
    enablement.problem((apiVersion) => computedVersions.has(apiVersion) || table.hasVersion(apiVersion));
  if (problem) throw new StartError(problem);
  return table;
}

/** The minor of Kubernetes to be, whose tables are loaded only then. */
async function chosenMinor({ kubernetes, featureGates = {} }: StartOptions): Promise<Minor | undefined> {
  if (kubernetes === undefined) {
    if (Object.keys(featureGates).length) throw new StartError('feature gates need a minor of Kubernetes');
    return undefined;
  }
  const { Minor, minorProblem } = await import('../api/minors/minor.ts');
  const problem = minorProblem(kubernetes, featureGates);
  if (problem) throw new StartError(problem);
  return new Minor(kubernetes, featureGates);
}

/** What a minor does otherwise by default. Before 1.24, accounts had a secret with their token. */
const optionsIn = (minor: Minor, options: StartOptions): StartOptions => ({
  like: 'kubernetes',
  ...options,
  apiServer: { watchLists: minor.isOn('WatchList'), ...options.apiServer },
  controllerSettings: { serviceAccountTokenSecrets: !minor.isAtLeast(24), ...options.controllerSettings },
});

/** undefined: the defaults. */
async function tokenSettingsOf({ secure = false }: StartOptions): Promise<TokenSettings | undefined> {
  if (!secure) return undefined;
  try {
    return await readTokenSettings(secure === true ? {} : secure);
  } catch (error) {
    throw new StartError((error as Error).message, { cause: error });
  }
}

/**
 * Which finalizers are put on objects. A stock API server does so whether or not a controller removes them; here it
 * depends on the running controllers.
 */
function finalizingOf({ like, controllerSettings }: StartOptions, chosen: readonly Controller[]): Finalizing {
  const runs = (wanted: string): boolean => like !== undefined || chosen.some(({ name }) => name === wanted);
  return {
    protection: runs('protection'),
    collection: runs('garbagecollector'),
    prompt: like === undefined,
    kept: like === undefined,
    // In clusters whose namespaces stay for a moment, clients may see and finalize them.
    late: (controllerSettings?.namespaceGraceMs ?? 0) > 0,
  };
}

/** Options of the node; its pods are kept next to the objects. */
function nodeOptions({ node = false, nodes = [], dataDir }: StartOptions): NodeOptions | undefined {
  const machine = nodes.find(isMachine);
  if (node === false && !machine) return undefined;
  const folder = dataDir === undefined ? undefined : path.join(path.resolve(dataDir), 'node');
  const volumes = dataDir === undefined ? undefined : path.join(path.resolve(dataDir), 'volumes');
  return { folder, volumes, ...(typeof node === 'object' ? node : {}), ...machine };
}

/** Those of a file are read here, once. */
async function lifecyclesOf({ lifecycles = [] }: StartOptions): Promise<readonly Lifecycle[]> {
  if (lifecycles.length === 0) return [];
  const { checkLifecycles, readLifecycles } = await import('./config/lifecycle-file.ts');
  return typeof lifecycles === 'string' ? readLifecycles(lifecycles) : checkLifecycles(lifecycles);
}

function simulatedGroups({ simulatedNodes = 0, nodes = [] }: StartOptions): readonly NodeGroup[] {
  const groups = [{ simulated: simulatedNodes }, ...nodes.filter((group) => !isMachine(group))];
  return groups.filter(({ simulated = 0 }) => simulated > 0);
}

/** Whether claims without a class get volumes on the disks of nodes. */
function wantsLocalPathClass(
  { defaultStorageClass }: StartOptions,
  chosen: readonly Controller[],
  hasNodes: boolean,
): boolean {
  return (defaultStorageClass ?? hasNodes) && chosen.includes(localPathProvisioner);
}

function controllersOf(options: StartOptions): readonly Controller[] {
  const { controllers = true } = options;
  if (controllers === false) return [];
  try {
    const chosen = chosenControllers(controllers === true ? ['*'] : controllers);
    // In etcd, events expire by leases, without a controller.
    return isShared(options) ? chosen.filter((controller) => controller !== eventExpiryController) : chosen;
  } catch (error) {
    throw new StartError((error as Error).message);
  }
}

function serviceRanges(options: StartOptions, addressText: string): ServiceRanges {
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

/** Ports that were requested explicitly, so no others will do. */
export function fixedPorts({ host, port, secure, ingress, node }: StartOptions): ListenPort[] {
  const loopback = '127.0.0.1';
  const door = typeof secure === 'object' && !secure.orAnyPort ? secure : undefined;
  const own = typeof node === 'object' ? node : undefined;
  return [
    { host: host ?? loopback, port: port === 'off' ? undefined : port },
    { host: door?.host ?? loopback, port: door?.port },
    { host: ingress?.host ?? loopback, port: ingress?.port },
    { host: ingress?.host ?? loopback, port: ingress?.tlsPort },
    { host: own?.address ?? machineAddress(), port: own?.kubeletPort },
  ];
}
