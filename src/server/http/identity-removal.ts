/** Removes all headers about identity from a request before it is forwarded to a pod, a service or a node. */
import type { IncomingMessage } from 'node:http';
import { isCredential } from '../../streams/proxy/forwarded-headers.ts';

/** @param isIdentity tells headers, in small letters, that are identity on this server beside the usual ones */
export function removeIdentity(request: IncomingMessage, isIdentity: (name: string) => boolean): void {
  const { headers, rawHeaders } = request;
  const isRemoved = (name: string): boolean => isCredential(name) || isIdentity(name);
  for (const name of Object.keys(headers)) if (isRemoved(name)) delete headers[name];
  for (let i = rawHeaders.length - 2; i >= 0; i -= 2)
    if (isRemoved(rawHeaders[i]!.toLowerCase())) rawHeaders.splice(i, 2);
}
