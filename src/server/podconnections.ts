/**
 * Pod connections: log, exec, attach, portforward and proxy, as far as the API server can answer by itself. It
 * checks what is asked, and finds the container and the node; reaching the node is not part of this server yet.
 */
import {
  badRequest,
  invalid as invalidObject,
  methodNotAllowed,
  notFound,
  unavailable,
} from '../api/errors.ts';
import { type FieldError, forbidden, invalid } from '../api/fielderror.ts';
import type { Pod, PodSpec } from '../api/generated/types.ts';
import type { Kind } from '../api/kind.ts';
import { parseTime } from '../api/time.ts';
import { read } from '../registry/list.ts';
import { answerText } from './answer.ts';
import type { RequestContext } from './context.ts';
import type { Serving } from './objects.ts';
import type { ResourceInfo } from './requestinfo.ts';

type Connection = 'log' | 'exec' | 'attach' | 'portforward' | 'proxy';

const methods: Record<Connection, readonly string[] | undefined> = {
  log: ['GET'],
  exec: ['GET', 'POST'],
  attach: ['GET', 'POST'],
  portforward: ['GET', 'POST'],
  // Whatever the pod behind it takes.
  proxy: undefined,
};

export const isConnection = (info: ResourceInfo): boolean =>
  info.apiVersion === 'v1' &&
  info.resource === 'pods' &&
  info.namespace !== undefined &&
  info.subresource !== undefined &&
  Object.hasOwn(methods, info.subresource) &&
  (info.tail.length === 0 || info.subresource === 'proxy');

export async function connect(
  serving: Serving,
  context: RequestContext,
  pods: Kind,
  info: ResourceInfo,
): Promise<void> {
  const connection = info.subresource as Connection;
  if (!(methods[connection]?.includes(context.info.method) ?? true)) throw methodNotAllowed();
  if (context.query.has('dryRun')) throw badRequest('dryRun is not supported');
  const name = connection === 'proxy' ? podName(info.name!) : info.name!;
  if (connection === 'log') checkLogOptions(context, name);
  const { registry } = serving;
  const pod = (await read(registry, pods, info.namespace!, name, undefined)).object() as Pod;
  if (connection === 'proxy') {
    if (!pod.status?.podIP) throw badRequest('address not allowed');
  } else {
    if (connection !== 'portforward') checkContainer(pod, context.query.get('container'));
    const node = pod.spec?.nodeName;
    if (!node && connection === 'log') return answerText(context, 204, '');
    if (!node) throw badRequest(`pod ${name} does not have a host assigned`);
    const nodes = registry.kinds.resource('v1', 'nodes')!;
    if (!registry.view.collection('nodes').get('', node)) throw notFound(nodes, node);
    if (connection !== 'log' && !/upgrade/i.test(context.request.headers.connection ?? ''))
      throw badRequest('Upgrade request required');
  }
  throw unavailable('this server cannot reach nodes yet');
}

/** `[scheme:]name[:port]`. */
const podName = (text: string): string => {
  const parts = text.split(':');
  return parts.length === 3 ? parts[1]! : parts[0]!;
};

/** Without a name the only container is meant; init and ephemeral containers must be named. */
function checkContainer({ metadata, spec = {} }: Pod, container: string | undefined): void {
  const names = containerNames(spec);
  if (container) {
    if (!names.includes(container))
      throw badRequest(`container ${container} is not valid for pod ${metadata.name}`);
  } else if ((spec.containers?.length ?? 0) !== 1)
    throw badRequest(
      `a container name must be specified for pod ${metadata.name}, choose one of: [${names.join(' ')}]`,
    );
}

const containerNames = (spec: PodSpec): (string | undefined)[] =>
  [...(spec.initContainers ?? []), ...(spec.containers ?? []), ...(spec.ephemeralContainers ?? [])].map(
    (container) => container.name,
  );

function checkLogOptions({ query }: RequestContext, name: string): void {
  const errors: FieldError[] = [];
  const tailLines = query.integer('tailLines');
  if (tailLines !== undefined && tailLines < 0)
    errors.push(invalid('tailLines', tailLines, 'must be greater than or equal to 0'));
  for (const option of ['limitBytes', 'sinceSeconds']) {
    const value = query.integer(option);
    if (value !== undefined && value < 1) errors.push(invalid(option, value, 'must be greater than 0'));
  }
  const sinceTime = query.get('sinceTime');
  if (sinceTime) checkTime(sinceTime);
  if (sinceTime && query.has('sinceSeconds'))
    errors.push(forbidden('[]', 'at most one of `sinceTime` or `sinceSeconds` may be specified'));
  if (errors.length) throw invalidObject({ kind: 'PodLogOptions', group: '' }, name, errors);
}

function checkTime(text: string): void {
  try {
    parseTime(text);
  } catch (error) {
    throw badRequest((error as Error).message);
  }
}
