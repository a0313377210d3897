/** From parts to a running cluster: the server listens, the controllers run, the nodes register. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { startControllers } from '../controllers/controllers.ts';
import type { ControllerContext, RunningController } from '../controllers/shared/controller.ts';
import { LeaderElection } from '../controllers/shared/leader-election.ts';
import { KubernetesService } from '../registry/system/kubernetes-service.ts';
import { Capacity } from '../server/observe/capacity.ts';
import { NodeVolumes } from '../server/pods/node-volumes.ts';
import type { Access } from './access/access.ts';
import { kubeconfigFor } from './access/kubeconfig.ts';
import type { Cluster } from './cluster.ts';
import { effectiveOptions } from './effective-options.ts';
import type { RunningIngress } from './node/local-ingress.ts';
import { LocalNodes } from './node/local-nodes.ts';
import type { Parts } from './parts.ts';
import { tellRefusedRange } from './service-range.ts';
import type { ClusterSettings } from './settings.ts';
import { observeActivity } from './shared/activity.ts';
import type { Closers } from './shared/closers.ts';
import { logConfiguration } from './shared/log.ts';

export interface Running {
  readonly cluster: Cluster;
  readonly nodes: LocalNodes;
}

/** Runs the parts. Closing goes in the opposite order: ingress, controllers, nodes, and the server last. */
export async function run(settings: ClusterSettings, parts: Parts, closers: Closers): Promise<Running> {
  const { report } = settings;
  const { doors, access, delay } = parts;
  await listen(settings, parts, closers);
  if (settings.makesDefaultRoles) parts.policy.plantSoon(report);
  const nodes = localNodes(settings, parts);
  closers.add(() => nodes.close(), 'the node and its pods');
  runControllers(settings, parts, closers);
  const ingress = await openIngress(settings, parts);
  closers.add(() => ingress?.close(), 'the ingress');
  const applied = applyManifests(settings, parts, closers);
  const described = ([, manifests]: readonly unknown[]): string | undefined =>
    [nodes.description, ingress?.description, manifests].filter(Boolean).join('\n') || undefined;
  const nodesReady = Promise.all([nodes.start(), applied]).then(described);
  parts.nodesStartup.follow(nodesReady);
  nodesReady.catch(report);
  const cluster: Cluster = {
    nodesReady,
    simulated: nodes.simulated,
    get podsRunning() {
      return nodes.podsRunning;
    },
    url: doors.url,
    secureUrl: doors.secureUrl,
    kubeconfigFile: access?.kubeconfigFile,
    get kubeconfig() {
      return settings.options.port === 'off' ? access!.adminKubeconfig : kubeconfigFor(doors.url);
    },
    kubeconfigFor: (name) => userKubeconfig(access, name),
    get closingPart() {
      return closers.current;
    },
    close: async () => {
      await delay.pass();
      await closers.close();
    },
  };
  return { cluster, nodes };
}

/** Opens the doors, and writes the objects that clients look for first. */
async function listen(settings: ClusterSettings, parts: Parts, closers: Closers): Promise<void> {
  const { options, apiServer, keeper, copy, report, warn } = settings;
  const { registry, writing, server, aggregation, doors, services, range, access } = parts;
  await server.listen();
  closers.add(() => aggregation.close(), 'other API servers');
  if (!copy) aggregation.start().catch(report);
  if (options.log)
    logConfiguration(options.log, effectiveOptions(options, server.url, settings.controllers, keeper));
  const capacity = new Capacity({ registry, keeper, warn, report });
  closers.add(() => capacity.close(), 'the count of objects');
  if (copy) return capacity.start();
  const advertised = { ...doors.advertised(services.firstIP), serviceRange: range.text };
  const { kubernetesNodePort: nodePort, kubernetesEndpoints: endpoints } = apiServer;
  const kubernetes = new KubernetesService(writing, { ...advertised, nodePort, endpoints }, report);
  closers.add(() => kubernetes.close(), 'the service kubernetes');
  // Together, so that their writes share a commit.
  await Promise.all([access?.announce(), capacity.start(), kubernetes.start()]);
  await tellRefusedRange(parts.writing, range, warn, report);
}

/** Starts the nodes. They are closed before the server, so that they can report that they are going. */
const localNodes = (settings: ClusterSettings, { registry, doors, connections, range }: Parts): LocalNodes =>
  new LocalNodes({
    api: doors.inside,
    connections,
    node: settings.node && { serviceRange: range.text, ...settings.node },
    apiDoor: doors.apiDoor,
    simulated: settings.simulated,
    lifecycles: settings.lifecycles,
    randomBelow: settings.sources.randomBelow,
    graceMs: settings.controllerSettings.nodeGraceMs,
    now: settings.sources.nowMs,
    timers: registry.timers,
    onError: settings.report,
  });

/**
 * Starts the controllers. They are closed before the nodes: otherwise they would react to every pod of the closing
 * nodes.
 */
function runControllers(settings: ClusterSettings, parts: Parts, closers: Closers): void {
  const { options, controllers: chosen, controllerSettings, isShared, report } = settings;
  const { registry, writing, quotas, tokens, connections, usage, access, nodeCredentials, controllers } =
    parts;
  const context: ControllerContext = {
    registry,
    writing,
    quotas,
    tokens,
    settings: controllerSettings,
    nodeVolumes: new NodeVolumes(connections),
    podUsage: (namespace) => usage.podUsage(namespace),
    trust: access?.trust(() => nodeCredentials.authority()),
    onError: report,
  };
  const activity = options.log ? observeActivity(context, options.log) : [];
  closers.add(() => {
    for (const observation of activity) observation.close();
  });
  const lead = (): RunningController => startControllers(context, chosen);
  const elects = options.leaderElection ?? isShared;
  controllers.set(elects ? new LeaderElection(context, identity(), lead) : lead());
  closers.add(async () => {
    await controllers.current?.close();
    controllers.set(undefined);
  }, 'the controllers');
}

/** A unique name of this server for leader election. */
const identity = (): string => `${hostname()}_${randomUUID()}`;

/** Opens the ingress; its code is loaded only when there is one. */
async function openIngress(
  { options, sources, report }: ClusterSettings,
  { doors }: Parts,
): Promise<RunningIngress | undefined> {
  if (!options.ingress) return undefined;
  const { startIngress } = await import('./node/local-ingress.ts');
  const watched = { now: sources.nowMs, onError: report };
  return startIngress(doors.inside, options.ingress, watched);
}

/** Loaded by those who have some. They begin when the API answers, and nodes may come later. */
async function applyManifests(
  { options, warn }: ClusterSettings,
  { writing }: Parts,
  closers: Closers,
): Promise<string | undefined> {
  const { manifests = [], kustomizations = [], watchManifests: watched = false, log } = options;
  if (manifests.length + kustomizations.length === 0) return undefined;
  const { Manifests } = await import('./manifests/manifests.ts');
  const tell = (message: string): void => log?.write({ level: 'info', message, fields: {} });
  const applying = new Manifests({ manifests, kustomizations, watched, writing, tell, warn });
  closers.add(() => applying.close(), 'the manifests');
  return applying.start();
}

function userKubeconfig(access: Access | undefined, name: string): string {
  if (!access) throw new Error('this cluster has no secure door: start it with the option "secure"');
  return access.kubeconfigFor(name);
}
