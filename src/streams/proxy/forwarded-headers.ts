/**
 * Forwarded headers: which headers of a client's request a node or a pod sees. Names, order and repeated
 * lines are kept (old kubelets do not split lists); credentials and hop-by-hop headers are removed.
 */
import type { IncomingMessage } from 'node:http';

/** Prefix of the subprotocol in which browsers send a bearer token, as they cannot set headers. */
export const bearerProtocolPrefix = 'base64url.bearer.authorization.k8s.io.';

/** Headers that authenticate or impersonate a user. */
const credentials =
  /^(authorization|proxy-authorization|impersonate-(user|group|uid|extra-.*)|x-remote-(user|group|uid|extra-.*))$/;

/** Hop-by-hop headers, and headers of a body that is not forwarded. */
const hops = new Set([
  'connection',
  'content-length',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

export const isCredential = (name: string): boolean => credentials.test(name.toLowerCase());

/** The list of subprotocols without bearer tokens; undefined when nothing else is left. */
export function withoutBearer(protocols: string): string | undefined {
  const kept = protocols.split(',').filter((entry) => !entry.trim().startsWith(bearerProtocolPrefix));
  return kept.length ? kept.join(',').trim() : undefined;
}

/**
 * The headers of an upgrade request to be tunnelled, as a flat list. The body is not forwarded, so its
 * headers are dropped.
 * @param remoteAddress of the client, for X-Forwarded-For
 * @param keepCredentials whether the credentials are meant for the target
 */
export function tunnelHeaders(
  request: IncomingMessage,
  remoteAddress: string | undefined,
  keepCredentials = false,
): string[] {
  const list: string[] = [];
  const came: string[] = [];
  const upgrades: string[] = [];
  const { rawHeaders } = request;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    const value = rawHeaders[i + 1]!;
    const lower = name.toLowerCase();
    if (lower === 'upgrade') upgrades.push(value);
    else if (lower === 'x-forwarded-for') came.push(value);
    else if (lower === 'sec-websocket-protocol' && !keepCredentials) {
      const kept = withoutBearer(value);
      if (kept !== undefined) list.push(name, kept);
    } else if (!hops.has(lower) && (keepCredentials || !isCredential(lower))) list.push(name, value);
  }
  // Write an IPv4-mapped IPv6 address as IPv4.
  if (remoteAddress) came.push(remoteAddress.replace(/^::ffff:(?=\d+\.)/i, ''));
  if (came.length) list.push('X-Forwarded-For', came.join(', '));
  list.push('Connection', 'Upgrade');
  for (const upgrade of upgrades) list.push('Upgrade', upgrade);
  if (request.method !== 'GET' && request.method !== 'HEAD') list.push('Content-Length', '0');
  return list;
}
