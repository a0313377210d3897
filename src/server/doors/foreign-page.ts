/**
 * Pages of other sites. A browser shows a client certificate by itself, whichever page makes it send a request: a page of
 * another site could create objects by a form, or run programs in pods by a WebSocket. Tokens are sent by the page that
 * knows them, so only certificates need this.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { isLoopback } from './local-door.ts';

/** Whether a browser sends the request for a page that is not this server's. Other clients say nothing of pages. */
export function isForeignPage({ 'sec-fetch-site': site, origin, host = '' }: IncomingHttpHeaders): boolean {
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  if (origin === undefined) return false;
  try {
    const page = new URL(origin);
    // Local pages come by a proxy of the user, such as kubectl's, which names this server as the host.
    return page.host !== new URL(`${page.protocol}//${host}`).host && !isLoopback(page.hostname);
  } catch {
    return true;
  }
}
