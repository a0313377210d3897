/** Removes all headers about identity from a request before it is forwarded to a pod, a service or a node. */
import type { IncomingMessage } from 'node:http';
import { isCredential } from '../../streams/proxy/forwarded-headers.ts';

/** @param isIdentity whether a lower-case header name carries identity on this server, beside the usual ones */
export function removeIdentity(request: IncomingMessage, isIdentity: (name: string) => boolean): void {
  const { headers, rawHeaders } = request;
  const isRemoved = (name: string): boolean => isCredential(name) || isIdentity(name);
  for (const name of Object.keys(headers)) if (isRemoved(name)) delete headers[name];
  // Compacted in place, in one pass: removing headers one by one would take quadratic time.
  let kept = 0;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (isRemoved(rawHeaders[i]!.toLowerCase())) continue;
    rawHeaders[kept++] = rawHeaders[i]!;
    rawHeaders[kept++] = rawHeaders[i + 1]!;
  }
  rawHeaders.length = kept;
}
