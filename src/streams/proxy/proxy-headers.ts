/**
 * Headers through a reverse proxy, as flat lists of names and values: repeated lines stay repeated, and names
 * keep their case. Hop-by-hop headers are removed, as is what the other side must not see.
 */
import type { IncomingMessage } from 'node:http';
import { badRequest, forbiddenRequest, internal, StatusError } from '../../api/errors/errors.ts';
import { isCredential, withoutBearer } from './forwarded-headers.ts';
import { LinkError, type LinkRule, rewriteLink } from './link-rewriting.ts';

/** Node silently drops headers beyond this number, possibly the one that frames the body. */
export const headerEntriesMax = 2_000;

/** Hop-by-hop headers. `Expect` has already been answered. */
const hops = new Set([
  'connection',
  'expect',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** CORS headers: with these a target could decide which origins may read answers of this server. */
const cors = new Set([
  'access-control-allow-credentials',
  'access-control-allow-headers',
  'access-control-allow-methods',
  'access-control-allow-origin',
]);

/**
 * Headers by which one answer changes what a browser does with the whole origin: with service workers, stored data, the
 * way it connects, and whom it reports to.
 */
const ofOrigin = new Set([
  'alt-svc',
  'clear-site-data',
  'expect-ct',
  'nel',
  'public-key-pins',
  'public-key-pins-report-only',
  'report-to',
  'reporting-endpoints',
  'service-worker-allowed',
  'strict-transport-security',
]);

/**
 * The policy for pages of a proxied server: gives them an origin of their own, so that their scripts run but can
 * neither read answers of this server, nor use what the dashboard stores, nor install service workers. A policy of the
 * target stays beside it; browsers follow both.
 */
const sandbox = 'sandbox allow-downloads allow-forms allow-modals allow-popups allow-scripts';

/** How a message frames its body. */
export type Framing = 'none' | 'length' | 'chunked';

/**
 * How the body of a request is framed. A request with two framings is refused: the next reader could choose
 * the other one, and take the rest for another request (request smuggling).
 */
export function requestFraming({ headers, rawHeaders }: IncomingMessage): Framing {
  if (rawHeaders.length >= headerEntriesMax)
    throw new StatusError(431, undefined, `a request may have at most ${headerEntriesMax / 2 - 1} headers`);
  const { 'transfer-encoding': encoding, 'content-length': length } = headers;
  if (encoding !== undefined && length !== undefined)
    throw badRequest('a request may not have both Content-Length and Transfer-Encoding');
  if (encoding !== undefined) {
    if (encoding.trim().toLowerCase() !== 'chunked')
      throw new StatusError(501, undefined, `unsupported transfer encoding ${JSON.stringify(encoding)}`);
    return 'chunked';
  }
  if (length !== undefined && !/^\d{1,15}$/.test(length)) throw badRequest('bad Content-Length');
  return Number(length ?? 0) > 0 ? 'length' : 'none';
}

export interface RequestRule {
  readonly host: string;
  /** The path that the client requested. */
  readonly forwardedUri: string;
  readonly keepCredentials?: boolean;
}

export function requestHeaders(request: IncomingMessage, framing: Framing, rule: RequestRule): string[] {
  const out = ['Host', rule.host];
  const came: string[] = [];
  const named = connectionNames(request);
  for (const [name, value, lower] of pairs(request)) {
    if (lower === 'host' || lower === 'content-length' || lower === 'x-forwarded-uri') continue;
    if (hops.has(lower) || named.has(lower)) continue;
    if (!rule.keepCredentials && isCredential(lower)) continue;
    if (lower === 'te') {
      if (value.trim().toLowerCase() === 'trailers') out.push(name, value);
    } else if (lower === 'sec-websocket-protocol' && !rule.keepCredentials) {
      const kept = withoutBearer(value);
      if (kept !== undefined) out.push(name, kept);
    } else if (lower === 'x-forwarded-for') came.push(value);
    else out.push(name, value);
  }
  // Write an IPv4-mapped IPv6 address as IPv4.
  const client = request.socket.remoteAddress?.replace(/^::ffff:(?=\d+\.)/i, '');
  if (client) came.push(client);
  if (came.length) out.push('X-Forwarded-For', came.join(', '));
  out.push('X-Forwarded-Uri', rule.forwardedUri);
  if (framing === 'chunked') out.push('Transfer-Encoding', 'chunked');
  else if (framing === 'length') out.push('Content-Length', request.headers['content-length']!);
  else if (!bodiless.has(request.method!)) out.push('Content-Length', '0');
  return out;
}

/** Methods whose requests need no `Content-Length: 0`. */
const bodiless = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS']);

export interface AnswerRule {
  readonly dropCors: boolean;
  /** How links are rewritten; undefined: they are not. */
  readonly links: LinkRule | undefined;
  /** Whether the body changes its length. */
  readonly newLength: boolean;
  /** Whether browsers take the answer for one of this server, because it has the same origin. */
  readonly ownOrigin: boolean;
}

export function answerHeaders(answer: IncomingMessage, rule: AnswerRule): string[] {
  const out: string[] = [];
  const named = connectionNames(answer);
  for (const [name, value, lower] of pairs(answer)) {
    if (hops.has(lower) || named.has(lower)) continue;
    if (rule.dropCors && cors.has(lower)) continue;
    if (rule.newLength && lower === 'content-length') continue;
    out.push(name, lower === 'location' && rule.links ? location(value, rule.links) : value);
  }
  return rule.ownOrigin ? sandboxed(out) : out;
}

/** The headers of an answer that browsers take for one of this server: the page is sandboxed, and its type not guessed. */
export function sandboxed(headers: readonly string[]): string[] {
  const out: string[] = [];
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const lower = headers[i]!.toLowerCase();
    if (!ofOrigin.has(lower) && lower !== 'x-content-type-options') out.push(headers[i]!, headers[i + 1]!);
  }
  out.push('X-Content-Type-Options', 'nosniff', 'Content-Security-Policy', sandbox);
  return out;
}

/**
 * Refuses a script that a browser requests as a service worker: installed, it would see all requests to this server.
 */
export function refuseServiceWorker({ headers }: IncomingMessage): void {
  if (headers['service-worker'] !== undefined)
    throw forbiddenRequest('service workers cannot be installed through a proxy');
}

function location(value: string, links: LinkRule): string {
  try {
    return rewriteLink(value, links);
  } catch (error) {
    if (error instanceof LinkError) throw internal(`failed to parse Location header: ${error.message}`);
    throw error;
  }
}

/** Headers listed in Connection, so hop-by-hop. */
const connectionNames = ({ headers }: IncomingMessage): ReadonlySet<string> =>
  new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()));

function* pairs({ rawHeaders }: IncomingMessage): Generator<[name: string, value: string, lower: string]> {
  for (let i = 0; i + 1 < rawHeaders.length; i += 2)
    yield [rawHeaders[i]!, rawHeaders[i + 1]!, rawHeaders[i]!.toLowerCase()];
}
