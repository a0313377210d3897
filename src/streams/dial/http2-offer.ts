/**
 * Offers of HTTP/2 without TLS: some clients, such as Java's and `curl --http2`, offer it with requests of HTTP/1.1, and are
 * content with an answer of HTTP/1.1. To Node each is an upgrade, and no request.
 */
import type { IncomingMessage } from 'node:http';
import { headerList } from './upgrade-request.ts';

/** Whether nothing but HTTP/2 is offered. */
export const isOfferOnly = (request: IncomingMessage): boolean =>
  headerList(request, 'upgrade').every((protocol) => protocol.toLowerCase() === 'h2c');

/**
 * The bytes of the request without the offer, for the parser again.
 * @param head what has arrived behind its headers
 */
export function withoutOffer(
  { method, url, httpVersion, rawHeaders }: IncomingMessage,
  head: Buffer,
): Buffer {
  let text = `${method} ${url} HTTP/${httpVersion}\r\n`;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2)
    if (!/^(?:connection|upgrade|http2-settings)$/i.test(rawHeaders[i]!))
      text += `${rawHeaders[i]}: ${rawHeaders[i + 1]}\r\n`;
  return Buffer.concat([Buffer.from(`${text}\r\n`, 'latin1'), head]);
}
