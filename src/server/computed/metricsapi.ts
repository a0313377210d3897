/** The metrics API (metrics.k8s.io): current resource usage of nodes and pods, computed on request. */
import { methodNotAllowed, notFound, resourceNotFound } from '../../api/errors.ts';
import { type LabelSelector, parseLabelSelector } from '../../api/labelselector.ts';
import type { Registry } from '../../registry/registry.ts';
import type { DiscoveryResource } from '../discovery/discovery.ts';
import { answerValue } from '../http/answer.ts';
import type { RequestContext } from '../http/context.ts';
import type { ResourceInfo } from '../http/requestinfo.ts';
import type { NodeReport, PodReport, Usage, UsageReports } from './usagereports.ts';

export const metricsVersion = 'metrics.k8s.io/v1beta1';

export const metricsResources: readonly DiscoveryResource[] = [
  { name: 'nodes', singularName: 'node', namespaced: false, kind: 'NodeMetrics', verbs: ['get', 'list'] },
  { name: 'pods', singularName: 'pod', namespaced: true, kind: 'PodMetrics', verbs: ['get', 'list'] },
];

/** The `window` of the figures: the time over which usage is averaged. */
const window = '10s';

export async function answerMetrics(
  registry: Registry,
  reports: UsageReports,
  context: RequestContext,
  info: ResourceInfo,
): Promise<void> {
  if (context.info.method !== 'GET') throw methodNotAllowed();
  if (info.subresource !== undefined || (info.resource === 'nodes' && info.namespace !== undefined))
    throw resourceNotFound();
  const kind = metricsResources.find(({ name }) => name === info.resource)?.kind;
  if (!kind) throw resourceNotFound();
  const all = await reports.all();
  const labels = selectorOf(context);
  const items = info.resource === 'nodes' ? nodeItems(registry, all) : podItems(registry, all);
  const chosen = items.filter(
    ({ metadata }) =>
      (info.namespace === undefined || metadata.namespace === info.namespace) &&
      (info.name === undefined || metadata.name === info.name) &&
      (labels?.matches(metadata.labels) ?? true),
  );
  const answer = (value: object): Promise<void> =>
    answerValue(context, 200, value, { ...context.negotiate(), transform: undefined });
  if (info.name === undefined)
    return answer({ kind: `${kind}List`, apiVersion: metricsVersion, metadata: {}, items: chosen });
  if (!chosen[0])
    throw notFound(
      { kind, resource: info.resource, group: 'metrics.k8s.io' },
      `${info.namespace ? `${info.namespace}/` : ''}${info.name}`,
    );
  return answer({ kind, apiVersion: metricsVersion, ...chosen[0] });
}

function selectorOf(context: RequestContext): LabelSelector | undefined {
  const text = context.query.get('labelSelector');
  return text ? parseLabelSelector(text) : undefined;
}

interface Item {
  readonly metadata: {
    name: string;
    namespace?: string;
    labels: Record<string, string>;
    creationTimestamp: string;
  };
}

function nodeItems(registry: Registry, reports: readonly NodeReport[]): Item[] {
  return reports.map((report) => ({
    metadata: {
      name: report.name,
      labels: registry.view.collection('core/nodes').get('', report.name)?.labels ?? {},
      creationTimestamp: registry.now(),
    },
    timestamp: report.time,
    window,
    usage: amounts(report),
  }));
}

function podItems(registry: Registry, reports: readonly NodeReport[]): Item[] {
  return reports.flatMap(({ pods }) => pods).map((pod) => podItem(registry, pod));
}

function podItem(registry: Registry, { namespace, name, containers }: PodReport) {
  return {
    metadata: {
      name,
      namespace,
      labels: registry.view.collection('core/pods').get(namespace, name)?.labels ?? {},
      creationTimestamp: registry.now(),
    },
    timestamp: containers[0]?.time ?? registry.now(),
    window,
    containers: containers.map((one) => ({ name: one.name, usage: amounts(one) })),
  };
}

const amounts = ({ nanoCores, memoryBytes }: Usage) => ({
  cpu: `${Math.round(nanoCores)}n`,
  memory: `${Math.ceil(memoryBytes / 1024)}Ki`,
});
