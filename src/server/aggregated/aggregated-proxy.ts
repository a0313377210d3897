/**
 * Forwards all requests of a version that another server serves: any method, watches and upgrades. The other server gets
 * the user in headers, and believes them because of this server's certificate.
 */
import { StatusError, unavailable } from '../../api/errors/errors.ts';
import type { User } from '../../api/values/user.ts';
import type { Aggregation } from '../../extensions/aggregation/aggregation.ts';
import type { RemoteVersion } from '../../extensions/aggregation/api-services.ts';
import { forward, forwardUpgrade, type ProxyTarget } from '../../streams/proxy/reverse-proxy.ts';
import { answerText } from '../http/answer.ts';
import type { RequestContext } from '../http/context.ts';
import type { OpenConnections } from '../pods/connecting.ts';

export async function forwardAggregated(
  context: RequestContext,
  remote: RemoteVersion,
  aggregation: Aggregation,
  open: OpenConnections,
): Promise<void> {
  const { request, response } = context.http;
  const { upgrade } = context;
  // An APIService may have taken the version over after the express lane accepted the request: such a request cannot be
  // forwarded.
  if (!remote.available || !request.rawHeaders) {
    if (upgrade) throw unavailable('service unavailable');
    return answerText(context, 503, 'service unavailable\n');
  }
  const { name, namespace, port } = remote.service;
  const target: ProxyTarget = {
    connect: () => aggregation.connect(remote),
    host: `${name}.${namespace}.svc:${port}`,
    path: request.url!,
    prefix: '',
    rewrite: false,
    dropCors: false,
    ownOrigin: true,
    keepHost: false,
    // Redirects would look like this server's own, and the client would follow them with its credentials.
    refuseRedirects: true,
    headers: identityHeaders(context.user),
  };
  const release = open.add(() => (upgrade ? upgrade.socket : response).destroy());
  try {
    if (upgrade) await forwardUpgrade(request, upgrade.socket, upgrade.head, target);
    else await forward(request, response, target);
  } catch (error) {
    // Kubernetes answers this in plain text, not as a Status.
    if (upgrade || response.headersSent || !(error instanceof StatusError)) throw error;
    answerText(context, 503, `${error.message}\n`);
  } finally {
    release();
  }
}

/**
 * The headers that carry the user, as a flat list of names and values. Keys of extra values are part of header names, so
 * they are percent-encoded.
 */
function identityHeaders({ name, uid, groups, extra = {} }: User): string[] {
  const list = ['X-Remote-User', headerText(name)];
  if (uid) list.push('X-Remote-Uid', headerText(uid));
  for (const group of groups) list.push('X-Remote-Group', headerText(group));
  for (const [key, values] of Object.entries(extra))
    for (const value of values) list.push(`X-Remote-Extra-${encodeURIComponent(key)}`, headerText(value));
  return list;
}

/**
 * Encodes text as UTF-8 in the Latin-1 form in which Node writes headers. Control characters, which could end the
 * header, are left out.
 */
const headerText = (text: string): string =>
  Buffer.from(text, 'utf8')
    .toString('latin1')
    .replaceAll(/[\0-\x08\x0a-\x1f\x7f]/g, '');
