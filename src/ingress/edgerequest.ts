/**
 * Requests at the edge: what a client asks for, and what its request looks like to a backend. Clients can say
 * anything about where they come from, so what they say of that is replaced by what is known.
 */
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { badRequest } from '../api/errors.ts';

export interface Asked {
  /** In lower case, without a port; '' when none is named. */
  readonly host: string;
  readonly path: string;
  /** Path and query. */
  readonly target: string;
  readonly secure: boolean;
}

/** A name, or an address; those of IPv6 in brackets. */
const hostPattern = /^(\[[0-9a-f:.]{2,45}\]|[a-z0-9_.-]{1,254})(?::\d{0,5})?$/i;
const absolutePattern = /^https?:\/\/([^/?#]*)([\s\S]*)$/i;

export function readRequest(request: IncomingMessage): Asked {
  const [named = '', ...others] = request.headersDistinct.host ?? [];
  // The next reader might believe the other one.
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

/** Proxies are asked with whole URLs, and servers must understand these too. */
function originForm(url: string, host: string): string {
  if (url.startsWith('/')) return url;
  const [, authority, rest] = absolutePattern.exec(url) ?? [];
  if (authority === undefined) throw badRequest('malformed request target');
  if (authority.toLowerCase() !== host.toLowerCase()) throw badRequest('URL and Host header differ');
  return rest!.startsWith('/') ? rest! : `/${rest}`;
}

/** Some backends take an underscore for a dash. */
const origins = /^(?:forwarded|x[-_]forwarded[-_].*|x[-_]real[-_]ip)$/i;

/** Makes the headers say where the request has come from. X-Forwarded-For is added by the proxy code. */
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
  // What is named there is about the connection and dropped, which must not happen to these.
  if (headers.connection)
    headers.connection = headers.connection
      .split(',')
      .filter((name) => !origins.test(name.trim()))
      .join(',');
}
