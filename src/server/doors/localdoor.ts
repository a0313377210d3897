/**
 * The local door: plain HTTP without authentication, for this machine only. A browser can be talked into sending
 * requests to localhost on behalf of any page (DNS rebinding, cross-site requests), so every request must name a
 * local host (or the API by its name in the cluster), and an origin, if it has one, must be local too.
 */
import { isIP } from 'node:net';
import { StatusError } from '../../api/errors.ts';
import type { ApiRequest } from '../http/context.ts';

export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  if (name === 'localhost' || name.endsWith('.localhost') || name === '::1' || name === '0:0:0:0:0:0:0:1')
    return true;
  return isIP(name) === 4 && name.startsWith('127.');
}

/** Host without the port; `[::1]:8080` → `[::1]`. */
const withoutPort = (host: string): string => host.replace(/:\d*$/, '');

/**
 * What pods call the API: the names of the service `kubernetes`, as the cluster's DNS knows them from the namespace
 * `default` and from everywhere.
 */
const clusterNames: ReadonlySet<string> = new Set([
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
]);
const httpPort = 80;

/**
 * A foreign name server could let such a name stand for this machine, and so give a page of its own access. A browser
 * then names the port that the server really listens on. Pods name that of the service, so any other is let in.
 */
function isClusterName(host: string, { socket }: ApiRequest): boolean {
  const [, name = '', port = httpPort] = /^([^:]+)(?::(\d{1,5}))?$/.exec(host.toLowerCase()) ?? [];
  return clusterNames.has(name) && Number(port) !== socket.localPort;
}

/** The host last let in. Nearly all requests name the same one. */
let known: string | undefined;

/** `clusterIP` is where pods of this machine find the API. */
export function checkLocal(request: ApiRequest, clusterIP?: string): void {
  const host = request.headers.host;
  if (host !== undefined && host !== known && isLoopback(withoutPort(host))) known = host;
  if (
    host === undefined ||
    (host !== known && withoutPort(host) !== clusterIP && !isClusterName(host, request))
  )
    throw new StatusError(
      403,
      'Forbidden',
      `forbidden: this address serves local clients only, not host ${JSON.stringify(host ?? '')}`,
      {},
    );
  const origin = request.headers.origin;
  if (origin !== undefined && !isLocalOrigin(origin))
    throw new StatusError(
      403,
      'Forbidden',
      `forbidden: this address serves local pages only, not origin ${JSON.stringify(origin)}`,
      {},
    );
}

function isLocalOrigin(origin: string): boolean {
  try {
    return isLoopback(new URL(origin).hostname);
  } catch {
    return false;
  }
}
