/**
 * Requests at the ingress: parses what a client asks for, and sets the headers for the backend. Clients can
 * send any forwarding headers, so those are replaced by what the ingress knows.
 */
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { badRequest } from '../api/errors/errors.ts';

export interface Asked {
  /** In lower case, without a port; '' when none is named. */
  readonly host: string;
  readonly path: string;
  /** Path and query. */
  readonly target: string;
  readonly secure: boolean;
}

/** A name or an address; IPv6 addresses in brackets. */
const hostPattern = /^(\[[0-9a-f:.]{2,45}\]|[a-z0-9_.-]{1,254})(?::\d{0,5})?$/i;
const absolutePattern = /^https?:\/\/([^/?#]*)([\s\S]*)$/i;

export function readRequest(request: IncomingMessage): Asked {
  const [named = '', ...others] = request.headersDistinct.host ?? [];
  // Refuse several: the backend might use another one than the ingress.
  if (others.length) throw badRequest('more than one Host header');
  const host = named === '' ? '' : hostPattern.exec(named)?.[1];
  if (host === undefined) throw badRequest('malformed Host header');
  const target = originForm(request.url!, named);
  return {
    host: host.toLowerCase().replace(/\.$/, ''),
    path: /^[^?#]*/.exec(target)![0],
    target,
    secure: (request.socket as Partial<TLSSocket>).encrypted === true,
  };
}

/** The path and query of a request whose target is a whole URL, which HTTP/1.1 servers must accept. */
function originForm(url: string, host: string): string {
  if (url.startsWith('/')) return url;
  const [, authority, rest] = absolutePattern.exec(url) ?? [];
  if (authority === undefined) throw badRequest('malformed request target');
  if (authority.toLowerCase() !== host.toLowerCase()) throw badRequest('URL and Host header differ');
  return rest!.startsWith('/') ? rest! : `/${rest}`;
}

/** With underscores, too: some backends treat them as dashes. */
const origins = /^(?:forwarded|x[-_]forwarded[-_].*|x[-_]real[-_]ip)$/i;

/** Sets the forwarding headers. X-Forwarded-For is added by the proxy code. */
export function markOrigin(request: IncomingMessage, { secure }: Asked): void {
  const { rawHeaders, headers, socket } = request;
  const kept: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2)
    if (!origins.test(rawHeaders[i]!)) kept.push(rawHeaders[i]!, rawHeaders[i + 1]!);
  if (headers.host) kept.push('X-Forwarded-Host', headers.host);
  kept.push('X-Forwarded-Port', String(socket.localPort), 'X-Forwarded-Proto', secure ? 'https' : 'http');
  const address = socket.remoteAddress?.replace(/^::ffff:(?=\d+\.)/i, '');
  if (address) kept.push('X-Real-Ip', address);
  rawHeaders.splice(0, rawHeaders.length, ...kept);
  // Remove the forwarding headers from Connection, or they would be dropped as hop-by-hop headers.
  if (headers.connection)
    headers.connection = headers.connection
      .split(',')
      .filter((name) => !origins.test(name.trim()))
      .join(',');
}
