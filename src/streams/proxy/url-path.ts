/** Paths of URLs as they are sent: still percent-encoded. */

/** Characters that must be encoded in a path; a percent sign is taken for an existing encoding. */
const unsafe = /[^\w\-.~!$&'()*+,;=:@/%]/g;
const encodedSlash = /%2f/gi;
/** A dot segment, with its dots encoded or not: the next reader of the path may decode them. */
const dotSegment = /^(?:\.|%2e){1,2}$/i;

/**
 * Percent-encodes characters that are not allowed in a path. Each character is one byte, as in
 * `IncomingMessage.url`.
 */
export const encodeUnsafe = (path: string): string =>
  path.replace(unsafe, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);

/** Percent-encodes plain text. */
export const encodePath = (text: string): string =>
  encodeUnsafe(Buffer.from(text, 'utf8').toString('latin1').replaceAll('%', '%25'));

/** Resolves `.` and `..`, never above the root. */
export function resolveDots(path: string): string {
  const segments = path.split('/');
  if (!segments.some((segment) => dotSegment.test(segment))) return path;
  const out: string[] = [];
  for (const [i, segment] of segments.entries()) {
    if (!dotSegment.test(segment)) {
      out.push(segment);
      continue;
    }
    const up = /^(?:\.|%2e){2}$/i.test(segment);
    if (up && out.length > 1) out.pop();
    // A path that ends in a dot segment ends in a slash.
    if (i === segments.length - 1) out.push('');
  }
  return out.join('/');
}

/**
 * The path to forward: unchanged, unless it has dot segments. Then they are resolved; encoded slashes stay
 * encoded, except where one could hide a dot segment from all but the last reader.
 */
export function safePath(tail: string): string {
  const path = encodeUnsafe(`/${tail}`);
  const slashed = path.replace(encodedSlash, '/');
  const resolved = resolveDots(slashed);
  return resolved === slashed ? path : resolved;
}
