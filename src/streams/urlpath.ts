/** Paths of URLs as they are sent: still percent-encoded. */

/** What may stand in a path as it is; a percent sign is taken for the beginning of an encoding. */
const unsafe = /[^\w\-.~!$&'()*+,;=:@/%]/g;
const encodedSlash = /%2f/gi;
/** A dot segment, with its dots encoded or not: the next reader of the path may decode them. */
const dotSegment = /^(?:\.|%2e){1,2}$/i;

/** Encodes what does not belong into a path. Each character stands for one byte, as in `IncomingMessage.url`. */
export const encodeUnsafe = (path: string): string =>
  path.replace(unsafe, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);

/** Encodes text that is not encoded at all. */
export const encodePath = (text: string): string =>
  encodeUnsafe(Buffer.from(text, 'utf8').toString('latin1').replaceAll('%', '%25'));

/** Goes along with `.` and `..`, never above the root. */
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
    // What ends in a dot segment is a folder.
    if (i === segments.length - 1) out.push('');
  }
  return out.join('/');
}

/**
 * The path to send on for the tail of another: as it came, unless it holds dot segments. An encoded slash stays one
 * then too, but not when it could hide a dot segment from everybody but the last reader.
 */
export function safePath(tail: string): string {
  const path = encodeUnsafe(`/${tail}`);
  const slashed = path.replace(encodedSlash, '/');
  const resolved = resolveDots(slashed);
  return resolved === slashed ? path : resolved;
}
