/** Normalises paths as Kubernetes' own HTTP client does, whatever a configuration says. */
import { posix } from 'node:path';

/** Normalises a path: `//a/./b/../c/` becomes `/a/c`. Escapes are decoded first, so `%2e%2e` is a step up, too. */
export function clientPath(decoded: string): string {
  const cleaned = posix.join('/', decoded).replace(/(?<=.)\/$/, '');
  return encodeURI(Buffer.from(cleaned).toString()).replace(
    /[?#!*'()]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** A URL with a normalised path, without query and fragment; unchanged when it cannot be parsed. */
export function clientUrl(url: string): string {
  // Not Node's URL: it resolves dots before decoding escapes.
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
