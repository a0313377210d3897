/** Where a webhook is, as its owner writes it down: a URL, or a service of the cluster. */
import { child, invalid, required } from '../../errors/field-error.ts';
import type { ServiceReference, WebhookClientConfig } from '../../generated/types.ts';
import { isPortNumber, isSubdomain1123 } from '../../values/names.ts';
import type { Findings } from '../shared/findings.ts';

export const servicePortDefault = 443;

/** The rules of a client configuration, for webhooks of admission and of conversion alike. */
export function* clientConfigErrors({ url, service }: WebhookClientConfig, path: string): Findings {
  if ((url === undefined) === (service === undefined))
    yield required(path, 'exactly one of url or service is required');
  else if (url !== undefined) yield* urlErrors(url, child(path, 'url'));
  else if (service) yield* serviceErrors(service, child(path, 'service'));
}

export function defaultClientConfig({ service }: WebhookClientConfig): void {
  if (service) service.port ??= servicePortDefault;
}

const format = '; desired format: https://host[/path]';

function* urlErrors(url: string, path: string): Findings {
  const parts = urlParts(url);
  if (typeof parts === 'string') return yield required(path, `url must be a valid URL: ${parts}${format}`);
  const { scheme, host, user, query, fragment } = parts;
  if (scheme !== 'https') yield invalid(path, scheme, `'https' is the only allowed URL scheme${format}`);
  if (!host) yield invalid(path, host, `host must be specified${format}`);
  if (user !== undefined) yield invalid(path, user, 'user information is not permitted in the URL');
  if (fragment) yield invalid(path, fragment, 'fragments are not permitted in the URL');
  if (query) yield invalid(path, query, 'query parameters are not permitted in the URL');
}

interface UrlParts {
  readonly scheme: string;
  readonly host: string;
  readonly user: string | undefined;
  readonly query: string;
  readonly fragment: string;
}

/**
 * The parts of a URL, or a text that says why it is not valid. `URL` of JavaScript does not do: it moves the first segment
 * of a path to the place of a missing host, and refuses what must be told apart here.
 */
function urlParts(url: string): UrlParts | string {
  const problem = urlProblem(url);
  if (problem) return `parse ${JSON.stringify(url)}: ${problem}`;
  const [beforeFragment, fragment = ''] = split(url, '#');
  const [rest, query = ''] = split(beforeFragment, '?');
  const scheme = /^([a-zA-Z][-+.a-zA-Z0-9]*):/.exec(rest)?.[1] ?? '';
  const afterScheme = scheme ? rest.slice(scheme.length + 1) : rest;
  const authority = afterScheme.startsWith('//') ? split(afterScheme.slice(2), '/')[0] : '';
  const at = authority.lastIndexOf('@');
  return {
    scheme: scheme.toLowerCase(),
    host: authority.slice(at + 1),
    user: at < 0 ? undefined : authority.slice(0, at),
    query,
    fragment,
  };
}

function urlProblem(url: string): string | undefined {
  for (const char of url)
    if (char < ' ' || char === '\x7f') return 'net/url: invalid control character in URL';
  if (url.startsWith(':')) return 'missing protocol scheme';
  const badEscape = /%(?![0-9a-fA-F]{2}).{0,2}/.exec(url);
  if (badEscape) return `invalid URL escape ${JSON.stringify(badEscape[0])}`;
  const authority = /^[^/?#]*\/\/([^/?#]*)/.exec(url)?.[1] ?? '';
  const port = /^(?:\[[^\]]*\]|[^:]*)(:.*)$/.exec(authority.slice(authority.lastIndexOf('@') + 1))?.[1];
  if (port && /[^0-9]/.test(port.slice(1))) return `invalid port ${JSON.stringify(port)} after host`;
  return undefined;
}

function split(text: string, separator: string): [before: string, after?: string] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

/** Kubernetes reports a missing name at the namespace, and a missing namespace at the name. */
function* serviceErrors(service: ServiceReference, path: string): Findings {
  const { name, namespace, port = servicePortDefault } = service;
  if (!namespace) yield required(child(path, 'name'));
  if (!name) yield required(child(path, 'namespace'));
  yield* servicePortErrors(port, path);
  yield* servicePathErrors(service.path ?? '', child(path, 'path'));
}

export function* servicePortErrors(port: number, path: string): Findings {
  for (const problem of isPortNumber(port))
    yield invalid(child(path, 'port'), port, `port is not valid: ${problem}`);
}

function* servicePathErrors(urlPath: string, path: string): Findings {
  if (urlPath === '' || urlPath === '/') return;
  if (urlPath === '//') return yield invalid(path, urlPath, 'segment[0] may not be empty');
  if (!urlPath.startsWith('/')) yield invalid(path, urlPath, "must start with a '/'");
  const segments = urlPath.slice(1).replace(/\/$/, '').split('/');
  for (const [i, segment] of segments.entries()) {
    if (segment === '') yield invalid(path, urlPath, `segment[${i}] may not be empty`);
    else
      for (const problem of isSubdomain1123(segment))
        yield invalid(path, urlPath, `segment[${i}]: ${problem}`);
  }
}
