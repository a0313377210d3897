/**
 * Proxying: forwards requests to pods, services and nodes. Two forms of path lead there, `…/{name}/proxy/…` and the
 * older `/api/v1/proxy/…/{name}/…`.
 */
import { methodNotAllowed } from '../../api/errors/errors.ts';
import type { Upgrade } from '../../streams/dial/tunnel.ts';
import { forward, forwardUpgrade, type ProxyTarget } from '../../streams/proxy/reverse-proxy.ts';
import { encodePath, encodeUnsafe, safePath } from '../../streams/proxy/url-path.ts';
import type { RequestContext } from '../http/context.ts';
import type { ProxiedInfo, ProxyInfo } from '../http/request-info.ts';
import { admitConnection } from './connect-admission.ts';
import type { Connecting } from './connecting.ts';
import { PodPorts } from './pod-ports.ts';
import { ProxyTargets } from './proxy-target.ts';

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

export class Proxying {
  readonly #targets: ProxyTargets;

  constructor(private readonly connecting: Connecting) {
    this.#targets = new ProxyTargets(connecting, new PodPorts(connecting));
  }

  /** Serves a proxied request, or an upgraded connection, to its end. */
  serve(context: RequestContext, info: ProxiedInfo): Promise<void> {
    return context.upgrade ? this.#upgrade(context, info, context.upgrade) : this.#request(context, info);
  }

  async #request(context: RequestContext, info: ProxiedInfo): Promise<void> {
    const { request, response } = context.http;
    const { method, queryText } = context.info;
    if (!methods.has(method)) throw methodNotAllowed();
    const reached = await this.#targets.choose(info);
    await this.#admit(context, info);
    const path = targetPath(info.proxy, queryText);
    // Redirect to the path with a slash: relative links of a page only work below it.
    if (path === undefined && (method === 'GET' || method === 'HEAD')) return redirect(context, info.proxy);
    const target = { ...reached, ...publicSide(info.proxy), path: path ?? withQuery('/', queryText) };
    const release = this.connecting.open.add(() => response.destroy());
    try {
      await forward(request, response, target);
    } finally {
      release();
    }
  }

  /** Runs admission, which may refuse the connection. */
  #admit(
    context: RequestContext,
    { resource, namespace = '', name: id = '', proxy }: ProxiedInfo,
  ): Promise<void> {
    const { registry, writing } = this.connecting;
    const kind = registry.kinds.resource('v1', resource)!;
    const [, name = id] = /^(?:[^:]*:)?([^:]+):[^:]*$/.exec(id) ?? [];
    const path = proxy.tail === undefined ? {} : { path: `/${proxy.tail}` };
    return admitConnection(writing, context, { kind, namespace, name, part: 'proxy' }, path);
  }

  async #upgrade(context: RequestContext, info: ProxiedInfo, upgrade: Upgrade): Promise<void> {
    const { method, queryText } = context.info;
    const { socket, head } = upgrade;
    if (!methods.has(method)) throw methodNotAllowed();
    const reached = await this.#targets.choose(info);
    await this.#admit(context, info);
    const path = targetPath(info.proxy, queryText) ?? withQuery('/', queryText);
    const release = this.connecting.open.add(() => socket.destroy());
    try {
      await forwardUpgrade(context.http.request, socket, head, {
        ...reached,
        ...publicSide(info.proxy),
        path,
      });
    } finally {
      release();
    }
  }
}

const publicSide = ({ form, prefix }: ProxyInfo): Omit<ProxyTarget, 'connect' | 'host' | 'path'> => ({
  prefix: encodeUnsafe(prefix),
  rewrite: true,
  dropCors: form === 'connect',
  ownOrigin: true,
  keepHost: true,
});

/** The path to request from the target; undefined when the client has to be redirected first. */
function targetPath({ form, tail }: ProxyInfo, queryText: string): string | undefined {
  if (tail !== undefined) return withQuery(safePath(tail), queryText);
  // The tail wins over the `path` parameter, which is then passed to the target.
  if (form !== 'connect' || !queryText) return undefined;
  const parts = queryText.split('&');
  const named = (part: string): boolean => /^(?:%70|p)(?:%61|a)(?:%74|t)(?:%68|h)(?:=|$)/.test(part);
  const value = new URLSearchParams(parts.find(named)).get('path');
  if (!value) return undefined;
  return withQuery(
    safePath(encodePath(value.replace(/^\//, ''))),
    parts.filter((part) => !named(part)).join('&'),
  );
}

const withQuery = (path: string, queryText: string): string => (queryText ? `${path}?${queryText}` : path);

function redirect({ response, info }: RequestContext, { prefix }: ProxyInfo): void {
  response.writeHead(301, {
    'Cache-Control': 'no-cache, private',
    'Content-Length': '0',
    Location: withQuery(`${encodeUnsafe(prefix)}/`, info.queryText),
  });
  response.end();
}
