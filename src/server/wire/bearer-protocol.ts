/**
 * Bearer tokens of browsers: a page cannot set headers on a WebSocket, so it sends its token as a subprotocol, next
 * to the real one. The token is removed before the list is used or passed on.
 */
import type { IncomingMessage } from 'node:http';
import { unauthorized } from '../../api/errors/errors.ts';
import { bearerProtocolPrefix, withoutBearer } from '../../streams/proxy/forwarded-headers.ts';

const header = 'sec-websocket-protocol';

/** The token, if there is one. It is removed from all forms of the request's headers. */
export function takeBearerProtocol(request: IncomingMessage): string | undefined {
  const { headers, rawHeaders } = request;
  const offered = headers[header];
  if (!offered?.includes(bearerProtocolPrefix)) return undefined;
  const entries = offered.split(',').map((entry) => entry.trim());
  const tokens = entries.filter((entry) => entry.startsWith(bearerProtocolPrefix));
  const [first, second] = tokens;
  if (first === undefined) return undefined;
  const left = withoutBearer(offered);
  if (second !== undefined || left === undefined) throw unauthorized();
  const token = decode(first.slice(bearerProtocolPrefix.length));
  headers[header] = left;
  for (let i = rawHeaders.length - 2; i >= 0; i -= 2) {
    if (rawHeaders[i]!.toLowerCase() !== header) continue;
    const kept = withoutBearer(rawHeaders[i + 1]!);
    if (kept === undefined) rawHeaders.splice(i, 2);
    else rawHeaders[i + 1] = kept;
  }
  return token;
}

/** Unpadded base64url of UTF-8. Other text is refused: Node's decoder would skip invalid characters. */
function decode(text: string): string {
  const bytes = Buffer.from(text, 'base64url');
  if (text === '' || bytes.toString('base64url') !== text) throw unauthorized();
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw unauthorized();
  }
}
