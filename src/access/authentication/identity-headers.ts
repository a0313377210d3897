/** Headers that say who a user is: those of front proxies and of impersonation. */
import type { IncomingHttpHeaders } from 'node:http';

export interface SentHeaders {
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn; empty where no header came twice. */
  readonly rawHeaders: readonly string[];
}

/**
 * What some headers say, read in one pass however many there are.
 * @param isWanted of a name in small letters
 * @returns all values of each wanted header, in the order they were sent, by its name in small letters
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
  // Node puts values that came on several lines together, so that they cannot be told apart.
  if (rawHeaders.length > 0)
    for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
      const name = rawHeaders[i]!.toLowerCase();
      // What was taken out of the headers is not looked for among those that were sent.
      if (isWanted(name) && headers[name] !== undefined) add(name, rawHeaders[i + 1]!);
    }
  else
    for (const name of Object.keys(headers))
      if (isWanted(name)) for (const value of [headers[name]!].flat()) add(name, value);
  return found;
}

/** What headers with a prefix say, by the rest of their name; undefined without such headers. */
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
