/** Component statuses: computed when asked for, from what this server knows of itself. */
import { badRequest, StatusError } from '../api/errors.ts';
import { parseFieldSelector } from '../api/fieldselector.ts';
import { parseLabelSelector } from '../api/labelselector.ts';
import type { RequestContext } from './context.ts';

export interface Component {
  readonly name: string;
  /** undefined: healthy. */
  failure(): string | undefined;
}

const statusOf = (component: Component) => {
  const failure = component.failure();
  return {
    metadata: { name: component.name },
    conditions: [
      failure === undefined
        ? { type: 'Healthy', status: 'True', message: 'ok' }
        : { type: 'Healthy', status: 'False', message: failure },
    ],
  };
};

export function componentStatusList(context: RequestContext, components: readonly Component[]) {
  const { query } = context;
  const items = components
    .map(statusOf)
    .filter((item) => selects(query.get('labelSelector'), query.get('fieldSelector'), item));
  return { kind: 'ComponentStatusList', apiVersion: 'v1', metadata: { selfLink: context.info.path }, items };
}

function selects(
  labels: string | undefined,
  fields: string | undefined,
  item: { metadata: { name: string } },
): boolean {
  try {
    if (labels && !parseLabelSelector(labels).matches({})) return false;
    return !fields || parseFieldSelector(fields).matches((path) => fieldOf(path, item));
  } catch (error) {
    throw error instanceof StatusError ? error : badRequest((error as Error).message);
  }
}

function fieldOf(path: string, item: { metadata: { name: string } }): string {
  if (path === 'metadata.name') return item.metadata.name;
  throw badRequest(`"${path}" is not a known field selector: only "metadata.name", "metadata.namespace"`);
}

export function componentStatus(components: readonly Component[], name: string) {
  const component = components.find((one) => one.name === name);
  if (!component)
    throw new StatusError(404, 'NotFound', `componentstatus "${name}" not found`, {
      name,
      kind: 'componentstatus',
    });
  return { kind: 'ComponentStatus', apiVersion: 'v1', ...statusOf(component) };
}
