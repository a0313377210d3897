/** Headers that carry identity: those of front proxies and of impersonation. */
import type { IncomingHttpHeaders } from 'node:http';

export interface SentHeaders {
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn; empty when no header is repeated. */
  readonly rawHeaders: readonly string[];
}

/**
 * Reads the values of some headers in one pass.
 * @param isWanted gets lower-case names
 * @returns all values of each wanted header, in the order they were sent, by lower-case name
 */
export function headerValues(
  { headers, rawHeaders }: SentHeaders,
  isWanted: (name: string) => boolean,
): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  const add = (name: string, value: string): void => {
    const values = found.get(name);
    if (values) values.push(textOf(value));
    else found.set(name, [textOf(value)]);
  };
  // Node joins the values of repeated headers, so they are read from the raw headers.
  if (rawHeaders.length > 0)
    for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
      const name = rawHeaders[i]!.toLowerCase();
      // Skip headers that were removed from the request but are still among the raw ones.
      if (isWanted(name) && headers[name] !== undefined) add(name, rawHeaders[i + 1]!);
    }
  else
    for (const name of Object.keys(headers))
      if (isWanted(name)) for (const value of [headers[name]!].flat()) add(name, value);
  return found;
}

/** The values of headers with a prefix, by the rest of their name; undefined without such headers. */
export function extraOf(
  found: ReadonlyMap<string, readonly string[]>,
  prefixes: readonly string[],
): Record<string, string[]> | undefined {
  let extra: Map<string, string[]> | undefined;
  for (const [name, values] of found) {
    const prefix = prefixes.find((one) => name.startsWith(one));
    if (prefix === undefined) continue;
    extra ??= new Map();
    const key = decoded(name.slice(prefix.length));
    const known = extra.get(key);
    if (known) for (const value of values) known.push(value);
    else extra.set(key, [...values]);
  }
  // A key may be `__proto__`: `fromEntries` makes it an ordinary property.
  return extra && Object.fromEntries(extra);
}

/** Percent-decodes a key; an invalid one is used as it is. */
function decoded(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

/** Decodes UTF-8: Node reads headers as one character per byte. */
const textOf = (value: string): string =>
  /[\u0080-\u00ff]/.test(value) ? Buffer.from(value, 'latin1').toString('utf8') : value;
