/**
 * Headers through a reverse proxy, as flat lists of names and values: repeated lines stay repeated, and names keep
 * their case. Removed is what belongs to one connection, and what the other side must not see.
 */
import type { IncomingMessage } from 'node:http';
import { badRequest, internal, StatusError } from '../api/errors.ts';
import { isCredential, withoutBearer } from './forwardedheaders.ts';
import { LinkError, type LinkRule, rewriteLink } from './linkrewriting.ts';

/** Node drops headers silently from here on, and with them maybe the one that says where the body ends. */
export const headerEntriesMax = 2_000;

/** About one connection only. An expectation has been answered by then. */
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

/** With these a target would decide who may read answers of the server that it is proxied by. */
const cors = new Set([
  'access-control-allow-credentials',
  'access-control-allow-headers',
  'access-control-allow-methods',
  'access-control-allow-origin',
]);

/** What a message has behind its head. */
export type Framing = 'none' | 'length' | 'chunked';

/**
 * Where the body of a request ends. A request that says so in two ways is refused, since the next reader may believe
 * the other one and take what follows for a request of its own.
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
  /** The public path of what is asked for. */
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
  // A mapped address is an IPv4 client on a socket that takes both.
  const client = request.socket.remoteAddress?.replace(/^::ffff:(?=\d+\.)/i, '');
  if (client) came.push(client);
  if (came.length) out.push('X-Forwarded-For', came.join(', '));
  out.push('X-Forwarded-Uri', rule.forwardedUri);
  if (framing === 'chunked') out.push('Transfer-Encoding', 'chunked');
  else if (framing === 'length') out.push('Content-Length', request.headers['content-length']!);
  else if (!bodiless.has(request.method!)) out.push('Content-Length', '0');
  return out;
}

/** Methods whose requests need not say that they have no body. */
const bodiless = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS']);

export interface AnswerRule {
  readonly dropCors: boolean;
  /** How links are rewritten; undefined: not at all. */
  readonly links: LinkRule | undefined;
  /** The body comes out with another length. */
  readonly newLength: boolean;
  /** The answer is shown under this server's own origin, where nothing may be taken for what it does not claim to be. */
  readonly nosniff: boolean;
}

export function answerHeaders(answer: IncomingMessage, rule: AnswerRule): string[] {
  const out: string[] = [];
  const named = connectionNames(answer);
  for (const [name, value, lower] of pairs(answer)) {
    if (hops.has(lower) || named.has(lower)) continue;
    if (rule.dropCors && cors.has(lower)) continue;
    if (rule.newLength && lower === 'content-length') continue;
    if (rule.nosniff && lower === 'x-content-type-options') continue;
    out.push(name, lower === 'location' && rule.links ? location(value, rule.links) : value);
  }
  if (rule.nosniff) out.push('X-Content-Type-Options', 'nosniff');
  return out;
}

function location(value: string, links: LinkRule): string {
  try {
    return rewriteLink(value, links);
  } catch (error) {
    if (error instanceof LinkError) throw internal(`failed to parse Location header: ${error.message}`);
    throw error;
  }
}

/** Headers that the sender declares to be about the connection. */
const connectionNames = ({ headers }: IncomingMessage): ReadonlySet<string> =>
  new Set((headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase()));

function* pairs({ rawHeaders }: IncomingMessage): Generator<[name: string, value: string, lower: string]> {
  for (let i = 0; i + 1 < rawHeaders.length; i += 2)
    yield [rawHeaders[i]!, rawHeaders[i + 1]!, rawHeaders[i]!.toLowerCase()];
}
