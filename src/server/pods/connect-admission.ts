/** Admission of connections into pods and through proxies: webhooks may refuse them. */
import type { Kind } from '../../api/kind/kind.ts';
import type { ApiObject } from '../../api/text/object.ts';
import { Request } from '../../registry/request.ts';
import type { Part } from '../../registry/target.ts';
import type { Writing } from '../../registry/writing.ts';
import type { RequestContext } from '../http/context.ts';

export interface Connection {
  readonly kind: Kind;
  readonly namespace: string;
  readonly name: string;
  readonly part: Extract<Part, 'exec' | 'attach' | 'portforward' | 'proxy'>;
}

/** The kind of the options object that admission webhooks get for a connection, by resource and subresource. */
const optionKinds: Readonly<Record<string, string>> = {
  'pods exec': 'PodExecOptions',
  'pods attach': 'PodAttachOptions',
  'pods portforward': 'PodPortForwardOptions',
  'pods proxy': 'PodProxyOptions',
  'services proxy': 'ServiceProxyOptions',
  'nodes proxy': 'NodeProxyOptions',
};

/** Runs admission; throws a Status when the connection is refused. */
export function admitConnection(
  writing: Writing,
  context: RequestContext,
  connection: Connection,
  asked: object,
): Promise<void> {
  const request = new Request({
    user: context.user,
    verb: context.info.method === 'GET' ? 'get' : 'create',
    userAgent: context.request.headers['user-agent'] ?? '',
    warnings: context.warnings,
    annotated: context,
  });
  const kind = optionKinds[`${connection.kind.resource} ${connection.part}`];
  const options = { kind, apiVersion: 'v1', ...asked } as unknown as ApiObject;
  return writing.admission.connect(writing.registry, request, connection, options, 'connect');
}
