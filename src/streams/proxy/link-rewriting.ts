/**
 * Rewrites links in a proxied server's answers: in Location headers and in HTML. The server knows only its
 * own paths, so links that lead back to it get the public prefix; all others are left alone.
 */
import { resolveDots } from './url-path.ts';

export interface LinkRule {
  /** The public path of the server's root, without a slash at its end. */
  readonly prefix: string;
  /** The host:port pairs that mean the server itself; the last is the Host of the client's request. */
  readonly hosts: readonly string[];
}

/** A text that is not a URL, with Go's error message. */
export class LinkError extends Error {
  constructor(text: string, why: string) {
    super(`parse ${JSON.stringify(text)}: ${why}`);
    this.name = 'LinkError';
  }
}

interface Link {
  readonly scheme: string;
  /** undefined: no `//` in it. */
  readonly host: string | undefined;
  readonly path: string;
  /** Query and fragment, with their marks. */
  readonly rest: string;
}

const defaultPorts: Record<string, string> = { '': ':80', http: ':80', https: ':443' };

export function rewriteLink(text: string, { prefix, hosts }: LinkRule): string {
  const link = parseLink(text);
  const { host, rest } = link;
  if (host === undefined ? !link.path.startsWith('/') : !hosts.some((known) => sameHost(link, host, known)))
    return text;
  const path = link.path || '/';
  if (path === prefix || path.startsWith(`${prefix}/`)) {
    // The client's own Host is reachable for the client; the target's address may only be reachable for this server.
    const reachable = host === undefined || sameHost(link, host, hosts.at(-1)!);
    return reachable ? text : `${path}${rest}`;
  }
  return `${prefix}${resolveDots(path)}${rest}`;
}

function sameHost({ scheme }: Link, host: string, known: string): boolean {
  const port = defaultPorts[scheme] ?? '';
  const bare = (name: string): string => {
    const lower = name.toLowerCase();
    return port && lower.endsWith(port) ? lower.slice(0, -port.length) : lower;
  };
  return known !== '' && bare(host) === bare(known);
}

/** Parses a URL reference as Go does, and refuses what Go refuses. */
function parseLink(text: string): Link {
  const refuse = (why: string): LinkError => new LinkError(text, why);
  if (/[\u0000-\u001f\u007f]/.test(text)) throw refuse('net/url: invalid control character in URL');
  if (text.startsWith(':')) throw refuse('missing protocol scheme');
  const restAt = text.search(/[?#]/);
  const rest = restAt < 0 ? '' : text.slice(restAt);
  const whole = restAt < 0 ? text : text.slice(0, restAt);
  const scheme = (/^([A-Za-z][A-Za-z0-9+.-]*):/.exec(whole)?.[1] ?? '').toLowerCase();
  let path = scheme ? whole.slice(scheme.length + 1) : whole;
  let host: string | undefined;
  if (!scheme && !path.startsWith('/') && path.split('/', 1)[0]!.includes(':'))
    throw refuse('first path segment in URL cannot contain colon');
  if (path.startsWith('//') && (scheme || !path.startsWith('///'))) {
    const end = path.indexOf('/', 2);
    const authority = end < 0 ? path.slice(2) : path.slice(2, end);
    path = end < 0 ? '' : path.slice(end);
    host = authority.slice(authority.lastIndexOf('@') + 1);
    const why = hostProblem(host);
    if (why) throw refuse(why);
  }
  const bad = /%(?![0-9A-Fa-f]{2}).{0,2}/.exec(path);
  // A link with a scheme and no slash, such as mailto:, has no path to check.
  if (bad && (!scheme || path.startsWith('/'))) throw refuse(`invalid URL escape ${JSON.stringify(bad[0])}`);
  return { scheme, host, path, rest };
}

function hostProblem(host: string): string | undefined {
  const bracket = host.startsWith('[') ? host.lastIndexOf(']') : undefined;
  if (bracket === -1) return "missing ']' in host";
  const colon = bracket === undefined ? host.indexOf(':') : bracket + 1;
  const port = colon < 0 ? '' : host.slice(colon);
  if (!/^(?::\d*)?$/.test(port)) return `invalid port ${JSON.stringify(port)} after host`;
  const bad = /[\s"<>\\^`{|}]/.exec(host);
  return bad ? `invalid character ${JSON.stringify(bad[0])} in host name` : undefined;
}
