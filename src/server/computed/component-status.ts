/** Component statuses: computed on request, from the health of this server. */
import { badRequest, methodNotAllowed, resourceNotFound, StatusError } from '../../api/errors/errors.ts';
import type { ComponentStatus } from '../../api/generated/types.ts';
import { parseFieldSelector } from '../../api/kind/field-selector.ts';
import { parseLabelSelector } from '../../api/kind/label-selector.ts';
import { componentStatus as kind } from '../../api/kinds/core/component-status.ts';
import type { Registry } from '../../registry/registry.ts';
import type { RequestContext } from '../http/context.ts';
import type { ResourceInfo } from '../http/request-info.ts';
import { answerObject, answerObjects } from '../objects/presentation.ts';

export interface Component {
  readonly name: string;
  /** Why the component is unhealthy; undefined when it is healthy. */
  failure(): string | undefined;
}

/**
 * Answers requests for component statuses, also below a namespace, as Kubernetes 1.0 did. Watches are not supported:
 * `watch` is ignored.
 */
export async function answerComponentStatus(
  context: RequestContext,
  info: ResourceInfo,
  components: readonly Component[],
  { selfLinks, sources }: Pick<Registry, 'selfLinks' | 'sources'>,
): Promise<void> {
  const nowMs = sources.nowMs();
  if (context.info.method !== 'GET') throw methodNotAllowed();
  if (info.subresource !== undefined) throw resourceNotFound();
  context.warnings.push(kind.deprecation!);
  if (info.name === undefined) {
    const items = [...components]
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map(statusOf)
      .filter((item) => isSelected(context, item));
    return answerObjects(context, kind, selfLinks ? { selfLink: context.info.path } : {}, items, nowMs);
  }
  const component = components.find((one) => one.name === info.name);
  if (!component)
    throw new StatusError(404, 'NotFound', `componentstatus "${info.name}" not found`, {
      name: info.name,
      kind: 'componentstatus',
    });
  return answerObject(
    context,
    200,
    kind,
    { kind: kind.kind, apiVersion: 'v1', ...statusOf(component) },
    nowMs,
  );
}

function statusOf(component: Component): ComponentStatus {
  const failure = component.failure();
  return {
    metadata: { name: component.name },
    conditions: [
      failure === undefined
        ? { type: 'Healthy', status: 'True', message: 'ok' }
        : { type: 'Healthy', status: 'False', message: failure },
    ],
  };
}

function isSelected({ query }: RequestContext, { metadata }: ComponentStatus): boolean {
  const labels = query.get('labelSelector');
  const fields = query.get('fieldSelector');
  try {
    if (labels && !parseLabelSelector(labels).matches({})) return false;
    return !fields || parseFieldSelector(fields).matches((path) => fieldOf(path, metadata.name!));
  } catch (error) {
    throw error instanceof StatusError ? error : badRequest((error as Error).message);
  }
}

function fieldOf(path: string, name: string): string {
  if (path === 'metadata.name') return name;
  throw badRequest(`"${path}" is not a known field selector: only "metadata.name", "metadata.namespace"`);
}
