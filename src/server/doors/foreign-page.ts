/**
 * Pages that are not this server's: of other sites, and of other ports of this machine, such as those of pods behind a
 * port-forward or the ingress. At the local door every client may do everything, and at the secure one a browser shows a
 * client certificate by itself: such a page could create objects by a form, or run programs in pods by a WebSocket, which
 * no browser keeps from other origins. Tokens are sent by the page that knows them, so they do not need this.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';

/** Whether a browser sends the request for a page that is not this server's. Other clients say nothing of pages. */
export function isForeignPage(headers: IncomingHttpHeaders): boolean {
  const { 'sec-fetch-site': site, origin, host = '' } = headers;
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  if (origin === undefined) return false;
  try {
    const page = new URL(origin);
    if (page.host === new URL(`${page.protocol}//${host}`).host) return false;
    // Local pages may come by a proxy of the user, such as kubectl's, which names this server as the host. No page can set
    // the header by which such a proxy is known.
    return headers['x-forwarded-for'] === undefined || !isLoopback(page.hostname);
  } catch {
    return true;
  }
}

/** Whether a host, without a port, is this machine. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[(.*)\]$/, '$1').toLowerCase();
  if (name === 'localhost' || name.endsWith('.localhost') || name === '::1' || name === '0:0:0:0:0:0:0:1')
    return true;
  return isIP(name) === 4 && name.startsWith('127.');
}
