/**
 * The head of a request, from the headers of its stream (RFC 9113, section 8): four pseudo-headers first, and each once;
 * then those of HTTP/1.1, in lower case. What is found out about a header is kept with it, because clients send the same
 * ones again and again.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { isFieldName, isFieldValue, isForbidden } from '../../http2/field-rules.ts';
import type { Field } from '../../http2/field-table.ts';

/** What a header is. */
const Rule = {
  usual: 1,
  method: 2,
  scheme: 3,
  authority: 4,
  path: 5,
  bad: 6,
  /** When there are several, the first counts. */
  single: 7,
  host: 8,
  length: 9,
  cookie: 10,
} as const;

const pseudo = new Map<string, number>([
  [':method', Rule.method],
  [':scheme', Rule.scheme],
  [':authority', Rule.authority],
  [':path', Rule.path],
]);
const special = new Map<string, number>([
  ['host', Rule.host],
  ['content-length', Rule.length],
  ['cookie', Rule.cookie],
  ...`access-control-request-method age authorization content-encoding content-language content-location content-md5
    content-range content-type date dnt etag expires from if-match if-modified-since if-none-match if-range
    if-unmodified-since last-modified location max-forwards proxy-authorization range referer retry-after tk
    upgrade-insecure-requests user-agent x-content-type-options`
    .split(/\s+/)
    .map((name): [string, number] => [name, Rule.single]),
]);

/** Characters of a path: any but blanks and control characters. */
const path = /^\/[\x21-\x7e\x80-\xff]*$/;
const authority = /^[\x21-\x3f\x41-\x7e\x80-\xff]*$/;
const length = /^\d{1,15}$/;

function ruleOf({ name, value }: Field): number {
  const isPseudo = name.startsWith(':');
  const rule = isPseudo ? (pseudo.get(name) ?? Rule.bad) : (special.get(name) ?? Rule.usual);
  if (!isFieldValue(value)) return Rule.bad;
  if (!isPseudo) {
    if (!isFieldName(name) || isForbidden(name, value)) return Rule.bad;
    return rule === Rule.length && !length.test(value) ? Rule.bad : rule;
  }
  if (rule === Rule.path) return path.test(value) || value === '*' ? rule : Rule.bad;
  if (rule === Rule.authority) return authority.test(value) ? rule : Rule.bad;
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(value) ? rule : Rule.bad;
}

/** Headers by name. Without a prototype, because clients choose the names; and faster than a literal without one. */
const Headers = function Headers() {} as unknown as new () => IncomingHttpHeaders;
Headers.prototype = Object.create(null);

export class RequestHead {
  method = '';
  path: string | undefined;
  authority: string | undefined;
  scheme: string | undefined;
  readonly headers: IncomingHttpHeaders = new Headers();
  /** The length of the body, if the head says it. */
  length: number | undefined;

  /** @param fields with the pseudo-headers */
  constructor(readonly fields: readonly Field[]) {}
}

/** Reads a head; undefined when it is malformed. */
export function requestHead(fields: readonly Field[]): RequestHead | undefined {
  const head = new RequestHead(fields);
  let i = 0;
  for (; i < fields.length; i++) {
    const field = fields[i]!;
    field.rule ||= ruleOf(field);
    if (field.rule < Rule.method || field.rule > Rule.path) break;
    if (!takePseudo(head, field)) return undefined;
  }
  for (; i < fields.length; i++) {
    const field = fields[i]!;
    field.rule ||= ruleOf(field);
    if (!takeField(head, field)) return undefined;
  }
  return isWhole(head) ? head : undefined;
}

function takePseudo(head: RequestHead, { rule, value }: Field): boolean {
  if (rule === Rule.method) {
    if (head.method !== '') return false;
    head.method = value;
  } else if (rule === Rule.path) {
    if (head.path !== undefined) return false;
    head.path = value;
  } else if (rule === Rule.authority) {
    if (head.authority !== undefined) return false;
    head.authority = value;
  } else {
    if (head.scheme !== undefined) return false;
    head.scheme = value;
  }
  return true;
}

function takeField(head: RequestHead, { rule, name, value }: Field): boolean {
  const { headers } = head;
  const before = headers[name];
  if (rule === Rule.bad || (rule >= Rule.method && rule <= Rule.path)) return false;
  if (before === undefined) {
    headers[name] = name === 'set-cookie' ? ([value] as never) : value;
    if (rule === Rule.length) head.length = Number(value);
    return true;
  }
  // Two lengths, or two hosts, could be read in two ways.
  if (rule === Rule.length || rule === Rule.host) return false;
  if (rule === Rule.single) return true;
  if (Array.isArray(before)) before.push(value);
  else headers[name] = `${before}${rule === Rule.cookie ? '; ' : ', '}${value}`;
  return true;
}

/** Whether the pseudo-headers are there that a method needs. */
function isWhole({ method, path, scheme, authority, headers: { host } }: RequestHead): boolean {
  // They name the server, and must not name two.
  if (authority !== undefined && host !== undefined && host.toLowerCase() !== authority.toLowerCase())
    return false;
  if (method === 'CONNECT') return path === undefined && scheme === undefined && authority !== undefined;
  if (method === '' || path === undefined || scheme === undefined) return false;
  return path !== '*' || method === 'OPTIONS';
}

/** Whether the headers behind a body are allowed: they have no pseudo-headers. */
export function areTrailers(fields: readonly Field[]): boolean {
  return fields.every((field) => {
    field.rule ||= ruleOf(field);
    return field.rule === Rule.usual || field.rule >= Rule.single;
  });
}
