/** The metrics API (metrics.k8s.io): what nodes and pods use right now. Nothing of it is stored. */
import { badRequest, methodNotAllowed, notFound, resourceNotFound } from '../../api/errors/errors.ts';
import { parseFieldSelector } from '../../api/kind/field-selector.ts';
import { parseLabelSelector, SelectorError } from '../../api/kind/label-selector.ts';
import type { Registry } from '../../registry/registry.ts';
import type { DiscoveryResource } from '../discovery/discovery.ts';
import { answerValue } from '../http/answer.ts';
import type { RequestContext } from '../http/context.ts';
import type { ResourceInfo } from '../http/request-info.ts';
import type { NodeReport, PodReport, Usage, UsageReports } from './usage-reports.ts';

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
  const labels = selectorOf(context, 'labelSelector', parseLabelSelector);
  const fields = selectorOf(context, 'fieldSelector', parseFieldSelector);
  const items = info.resource === 'nodes' ? nodeItems(registry, all) : podItems(registry, all);
  const chosen = items.filter(
    ({ metadata }) =>
      (info.namespace === undefined || metadata.namespace === info.namespace) &&
      (info.name === undefined || metadata.name === info.name) &&
      (labels?.matches(metadata.labels) ?? true) &&
      (fields?.matches((path) => fieldOf(metadata, path)) ?? true),
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

function selectorOf<T>(context: RequestContext, name: string, parse: (text: string) => T): T | undefined {
  const text = context.query.get(name);
  try {
    return text ? parse(text) : undefined;
  } catch (error) {
    throw error instanceof SelectorError ? badRequest(error.message) : error;
  }
}

/**
 * The value of a field for field selectors. They must be honoured: a user with access to one name only is let in
 * because of such a selector.
 */
function fieldOf({ name, namespace = '' }: Item['metadata'], path: string): string {
  if (path === 'metadata.name') return name;
  if (path === 'metadata.namespace') return namespace;
  throw badRequest(`field label not supported: ${path}`);
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
