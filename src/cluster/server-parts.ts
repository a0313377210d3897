/** Builds the API server of a cluster from its parts. */

import type { RequestObserver } from '../server/chain/step.ts';
import { Dashboard } from '../server/dashboard/dashboard.ts';
import { RequestTraces } from '../server/observe/request-traces.ts';
import type { StoreMetrics } from '../server/observe/store-metrics.ts';
import { ApiServer, type ServerOptions } from '../server/server.ts';
import { defaultOf } from './options/option.ts';
import { servingOptions } from './options/serving.ts';
import type { Parts } from './parts.ts';
import type { ClusterSettings } from './settings.ts';
import { requestObserver } from './shared/activity.ts';
import { copyInstruments } from './shared/copy.ts';
import {
  controllersCheck,
  nodesCheck,
  shutdownCheck,
  storeCheck,
  viewCheck,
} from './shared/health-checks.ts';

/** The parts that the server needs. */
interface ServerParts extends Omit<Parts, 'server'> {
  readonly audit: ServerOptions['audit'];
  readonly metrics: StoreMetrics;
  readonly authentication: ServerOptions['authentication'];
}

export function makeServer(settings: ClusterSettings, parts: ServerParts): ApiServer {
  const { options, apiServer, keeper, instruments, copy, report } = settings;
  const { writing, tokens, doors, aggregation, connections, usage, audit, metrics, authentication } = parts;
  const hasDashboard = options.ui ?? defaultOf(servingOptions.ui);
  return new ApiServer(writing, {
    aggregation,
    doors: doors.all,
    createStatus: options.createStatus ?? (options.like ? 201 : 200),
    compatibility: options.like ?? 'contract',
    watchDefault: options.watchStart ?? (options.like ? 'state' : 'history'),
    keeper,
    storeMetrics: metrics,
    tokens,
    authentication,
    audit,
    components: componentsOf(settings, parts),
    health: checksOf(settings, parts),
    dashboard: hasDashboard ? new Dashboard() : undefined,
    // A copy has no nodes to ask, and its requests are those of the reader.
    samplesAgeMs: hasDashboard && !copy ? settings.history.ageMaxMs : undefined,
    nodes: connections,
    nodeAddressTypes: apiServer.kubelet?.addressTypes,
    settings: apiServer,
    usage,
    observer: joined(instruments?.observer, options.log && requestObserver(options.log)),
    traces: options.traceRequests ? new RequestTraces() : undefined,
    snapshots: copy ? undefined : snapshotsOf(settings, parts),
    imports: copy ? undefined : importsOf(settings, parts),
    instruments: instruments ?? (copy && copyInstruments(copy)),
    keptLogs: copy?.logs,
    report,
  });
}

/** Loaded with the first request for one. */
function snapshotsOf({ options }: ClusterSettings, { registry }: ServerParts): ServerOptions['snapshots'] {
  let pages: Promise<NonNullable<ServerOptions['snapshots']>> | undefined;
  return async (context) => {
    pages ??= import('./store/snapshot-pages.ts').then(({ snapshotPages }) =>
      snapshotPages(registry, options),
    );
    return (await pages)(context);
  };
}

/** Loaded with the first import. */
function importsOf({ keeper }: ClusterSettings, parts: ServerParts): ServerOptions['imports'] {
  return async (context) => {
    const { answerImport } = await import('./store/import-pages.ts');
    const { registry, controllers } = parts;
    return answerImport(context, { registry, keeper, hasControllers: controllers.current !== undefined });
  };
}

const idle = ({ controllers }: ServerParts): string | undefined =>
  controllers.current ? undefined : 'the controllers do not run';

function componentsOf({ controllers }: ClusterSettings, parts: ServerParts): ServerOptions['components'] {
  const { registry } = parts;
  const failure = (): string | undefined => idle(parts);
  return [
    { name: 'etcd-0', failure: () => (registry.writeFailure ?? registry.view.failure)?.message },
    ...(controllers.length ? [{ name: 'controller-manager', failure }] : []),
    ...(controllers.some(({ name }) => name === 'scheduler') ? [{ name: 'scheduler', failure }] : []),
  ];
}

function checksOf(
  { isShared, controllers, makesDefaultRoles }: ClusterSettings,
  parts: ServerParts,
): ServerOptions['health'] {
  const { registry, connections, nodesStartup, delay, policy } = parts;
  return [
    { ...storeCheck(registry), readyOnly: isShared },
    { ...viewCheck(registry), readyOnly: isShared },
    ...(controllers.length ? [controllersCheck(() => idle(parts))] : []),
    nodesCheck(registry, () => connections.localNames, nodesStartup),
    ...(delay.delayMs ? [shutdownCheck(() => delay.hasBegun)] : []),
    ...(makesDefaultRoles ? [policy.check] : []),
  ];
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
