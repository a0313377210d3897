/** Headers that say who a user is: those of front proxies and of impersonation. */
import type { IncomingHttpHeaders } from 'node:http';

export interface SentHeaders {
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn; empty where no header came twice. */
  readonly rawHeaders: readonly string[];
}

/** All values of a header, in the order they were sent. @param name in small letters */
export function headerValues({ headers, rawHeaders }: SentHeaders, name: string): string[] {
  const joined = headers[name];
  if (joined === undefined) return [];
  const values: string[] = [];
  // Node puts values that came on several lines together, so that they cannot be told apart.
  for (let i = 0; i + 1 < rawHeaders.length; i += 2)
    if (rawHeaders[i]!.toLowerCase() === name) values.push(textOf(rawHeaders[i + 1]!));
  return values.length ? values : [joined].flat().map(textOf);
}

/** What headers with a prefix say, by the rest of their name; undefined when there are none. */
export function extraOf(
  sent: SentHeaders,
  prefixes: readonly string[],
): Record<string, string[]> | undefined {
  let extra: Map<string, string[]> | undefined;
  for (const name of Object.keys(sent.headers)) {
    const prefix = prefixes.find((one) => name.startsWith(one));
    if (prefix === undefined) continue;
    extra ??= new Map();
    const key = decoded(name.slice(prefix.length));
    extra.set(key, [...(extra.get(key) ?? []), ...headerValues(sent, name)]);
  }
  // A key may be `__proto__`: entries make it a property like any other.
  return extra && Object.fromEntries(extra);
}

/** Percent-decoded; a key that is not well encoded is taken as it is. */
function decoded(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}

/** Node reads headers as one character per byte; they are UTF-8. */
const textOf = (value: string): string =>
  /[\u0080-\u00ff]/.test(value) ? Buffer.from(value, 'latin1').toString('utf8') : value;
