/** The paths that Kubernetes' own HTTP client asks for: cleaned, whatever a configuration says. */
import { posix } from 'node:path';

/** `//a/./b/../c/` is asked for as `/a/c`; escapes are read first, so `%2e%2e` is a step up, too. */
export function clientPath(decoded: string): string {
  const cleaned = posix.join('/', decoded).replace(/(?<=.)\/$/, '');
  return encodeURI(Buffer.from(cleaned).toString()).replace(
    /[?#!*'()]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** A URL whose path is cleaned, without query and fragment; as it is when it cannot be read. */
export function clientUrl(url: string): string {
  // Not Node's URL for the path: that one takes steps before escapes are read.
  const [, origin, path = ''] = /^([a-z]+:\/\/[^/?#]*)([^?#]*)/i.exec(url) ?? [];
  if (origin === undefined) return url;
  return origin + clientPath(unescaped(path));
}

function unescaped(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
